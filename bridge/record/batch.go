// SPDX-License-Identifier: Apache-2.0

package record

import (
	"encoding/binary"
	"hash/crc32"
	"math"
	"time"

	"tagbus/bus"
)

// Places in the fixed part of a record.
const (
	versionAt  = 4
	kindAt     = 5
	checksumAt = 8
	messagesAt = 12
	tagAt      = 16
	firstAt    = 24
	timeAt     = 32
	fixedBytes = 40
)

const (
	magic   = "\x8aTBL"
	version = 1
)

// Flags of a message.
const (
	hasTime = 1 << iota
	hasStatus
	hasRequest
	noFlag
)

// MaxMessageBytes is how much a message takes in a record at most, besides its data.
const MaxMessageBytes = 1 + binary.MaxVarintLen64 + 1 + 16 + binary.MaxVarintLen64

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Batch gathers successive messages of one publisher and tag in a record. The zero value is ready for Begin.
//
// Threads: one at a time.
type Batch struct {
	b     []byte
	first uint64
	count uint32
	last  int64
}

// Begin begins a record. What the batch had is gone.
//
//   - memory: of which the record takes as much as there is; nil: none.
//   - m: the first message, which Add is to be called with.
//   - at: when m was received, in the years 1678 to 2261.
func (b *Batch) Begin(memory []byte, at time.Time, m *bus.Message) {
	b.b = appendHead(memory[:0], Messages, m.Publisher, uint64(m.Tag), m.Counter, at)
	b.first, b.count, b.last = m.Counter, 0, at.UnixNano()
}

// Add appends a message. It keeps no reference to it.
//
//   - m: of the publisher and tag that the record has begun with, with the counter Next.
//   - at: when it was received, in the years 1678 to 2261.
func (b *Batch) Add(at time.Time, m *bus.Message) {
	flagsAt := len(b.b)
	b.b = append(b.b, 0)
	var flags byte
	if ns := at.UnixNano(); ns != b.last {
		flags |= hasTime
		b.b = binary.AppendVarint(b.b, ns-b.last)
		b.last = ns
	}
	if m.Status != 0 {
		flags |= hasStatus
		b.b = append(b.b, byte(m.Status))
	}
	if id := m.RequestID(); id != (bus.RequestID{}) {
		flags |= hasRequest
		bytes := id.Bytes()
		b.b = append(b.b, bytes[:]...)
	}
	b.b[flagsAt] = flags
	b.b = binary.AppendUvarint(b.b, uint64(len(m.Data)))
	b.b = append(b.b, m.Data...)
	b.count++
}

// Bytes returns the size of the record so far.
func (b *Batch) Bytes() int { return len(b.b) }

// Count returns the number of messages so far.
func (b *Batch) Count() int { return int(b.count) }

// Next returns the counter of the message that may follow.
func (b *Batch) Next() uint64 { return b.first + uint64(b.count) }

// Full reports whether a record can have no more messages.
func (b *Batch) Full() bool { return b.count == math.MaxUint32 }

// Seal ends the record, which has at least one message, and returns it. The memory is the caller's.
func (b *Batch) Seal() []byte {
	done := b.b
	b.b = nil
	binary.LittleEndian.PutUint32(done[messagesAt:], b.count)
	return seal(done)
}

// appendHead appends what all records begin with.
func appendHead(b []byte, kind Kind, p *bus.Peer, tag, first uint64, at time.Time) []byte {
	b = append(b, magic...)
	b = append(b, version, byte(kind), 0, 0)
	b = append(b, 0, 0, 0, 0, 0, 0, 0, 0) // the checksum and the messages come last
	b = binary.LittleEndian.AppendUint64(b, tag)
	b = binary.LittleEndian.AppendUint64(b, first)
	b = binary.LittleEndian.AppendUint64(b, uint64(at.UnixNano()))
	b = appendText(b, p.Instance)
	b = appendText(b, p.Name)
	b = appendText(b, p.Host)
	b = binary.AppendUvarint(b, uint64(p.PID))
	var memory [64]byte
	addr := memory[:0]
	if p.Addr.IsValid() {
		addr, _ = p.Addr.AppendBinary(addr) // it returns no error
	}
	return appendText(b, addr)
}

func appendText[T string | []byte](b []byte, s T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// seal sets the checksum.
func seal(b []byte) []byte {
	binary.LittleEndian.PutUint32(b[checksumAt:], checksum(b))
	return b
}

// checksum returns the checksum of a record: of all bytes without those that have it.
func checksum(b []byte) uint32 {
	return crc32.Update(crc32.Checksum(b[:checksumAt], castagnoli), castagnoli, b[messagesAt:])
}

// Overhead returns how many bytes a record of a publisher takes besides its messages, at most.
func Overhead(p *bus.Peer) int {
	const addrBytes = 64 // with a zone
	return fixedBytes + 5*binary.MaxVarintLen64 + len(p.Instance) + len(p.Name) + len(p.Host) + addrBytes + len(p.Addr.Addr().Zone())
}
