// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"encoding/binary"
	"math"
	"math/bits"
	"math/rand/v2"
	"time"

	"tagbus/bus"
	"tagbus/tags"
)

// Builder gathers messages and events in a block. It never waits, writes nothing and
// copies what it is given. A recorder appends on one goroutine, and seals the block when it
// is Full; another goroutine compresses and writes it with a BlockWriter. The recorder
// decides how many blocks there are, and waits for one that is written:
//
//	if builder.Full() {
//		toWrite <- builder.Seal(<-written) // blocks that are empty
//	}
//
// In the long run Append allocates nothing.
//
// Threads: one at a time.
type Builder struct {
	limit int // bytes of records, from which on a block is full
	room  int // the most that it may have
	block *Block

	time  int64     // of the last record
	timed bool      // there is one in this block
	peer  *bus.Peer // of the last message
	peers map[*bus.Peer]uint32
	index uint32 // of peer in block.peers
	known bool   // peer and index are valid in this block
	tag   tags.Tag
	last  uint32 // index of the series of tag and peer
	again bool   // tag and last are valid

	// slots finds a series by tag and publisher. It has generation<<32 | index; those of
	// an earlier block are free.
	slots      []uint64
	generation uint32
	shift      uint8
	factor     uint64
}

// NewBuilder returns a Builder with an empty block. Codec and OnBlock of cfg do not matter
// to it.
//
// Errors: those of Config.Validate.
func NewBuilder(cfg Config) (*Builder, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	b := &Builder{limit: cfg.withDefaults().BlockBytes, room: math.MaxInt32 - mostFraming, peers: make(map[*bus.Peer]uint32), factor: rand.Uint64() | 1}
	b.resize(1 << 8)
	b.begin(new(Block))
	return b, nil
}

// begin makes block the one that is filled.
func (b *Builder) begin(block *Block) {
	if c := cap(block.body); c == 0 || c > 4*b.limit+1<<20 { // one large message does not take memory for ever
		block.body = make([]byte, 0, b.limit+b.limit/8)
	}
	block.reset()
	b.block = block
	b.time, b.timed, b.known, b.again = 0, false, false, false
	b.peer = nil
	clear(b.peers)
	if b.generation++; b.generation == 0 {
		clear(b.slots)
		b.generation = 1
	}
}

// Append appends a message, which was received at a time. It keeps no reference to it.
//
//   - at: in the years 1678 to 2261.
//
// Errors: ErrBlockFull.
func (b *Builder) Append(at time.Time, m *bus.Message) error {
	return b.append(at.UnixNano(), m)
}

// AppendPage appends messages that were received together, such as those of a
// bus.BatchHandler. After an error the messages before the one that caused it are in the
// block.
//
// Errors: ErrBlockFull.
func (b *Builder) AppendPage(at time.Time, page []bus.Message) error {
	ns := at.UnixNano()
	for i := range page {
		if err := b.append(ns, &page[i]); err != nil {
			return err
		}
	}
	return nil
}

// The lowest bits of the first number of a record.
const (
	plainBits  = 1 // of a message that has nothing to say except its data
	recordBits = 2
	isMessage  = 1 // with flags
	isEvent    = 3
)

// Flags of a message.
const (
	hasTime = 1 << iota
	hasCounter
	hasStatus
	hasRequest
	allFlags = 1<<iota - 1
)

// mostFraming is the most that a message takes beyond its data.
const mostFraming = 64

func (b *Builder) append(ns int64, m *bus.Message) error {
	block := b.block
	if len(m.Data) > b.room-len(block.body) {
		return ErrBlockFull
	}
	if m.Publisher != b.peer || !b.known {
		b.aim(m.Publisher)
	}
	i := b.last
	if m.Tag != b.tag || !b.again {
		i = b.find(m.Tag)
		b.tag, b.last, b.again = m.Tag, i, true
	}
	s := &block.series[i]
	if s.messages == 0 {
		s.first, s.counter = m.Counter, m.Counter-1
	}
	id := m.RequestID()
	body := block.body
	if ns == b.time && b.timed && m.Counter == s.counter+1 && m.Status == 0 && id == (bus.RequestID{}) {
		body = appendNumber(body, uint64(i)<<plainBits)
	} else {
		body = b.appendFlags(body, uint64(i)<<recordBits|isMessage, ns, m, s.counter, id)
	}
	body = appendNumber(body, uint64(len(m.Data)))
	block.body = append(body, m.Data...)
	s.counter = m.Counter
	s.messages++
	s.bytes += uint64(len(m.Data))
	block.messages++
	return nil
}

// appendNumber is binary.AppendUvarint, with the short ones in line.
func appendNumber(b []byte, v uint64) []byte {
	if v < 0x80 {
		return append(b, byte(v))
	}
	if v < 0x4000 {
		return append(b, byte(v)|0x80, byte(v>>7))
	}
	return binary.AppendUvarint(b, v)
}

// appendFlags appends the beginning of a message that is not plain, up to its length.
func (b *Builder) appendFlags(body []byte, head uint64, ns int64, m *bus.Message, before uint64, id bus.RequestID) []byte {
	body = binary.AppendUvarint(body, head)
	at := len(body)
	body = append(body, 0)
	flags := byte(0)
	if ns != b.time || !b.timed {
		flags |= hasTime
		body = b.appendTime(body, ns)
	}
	if m.Counter != before+1 {
		flags |= hasCounter
		body = binary.AppendVarint(body, int64(m.Counter-before-1))
	}
	if m.Status != 0 {
		flags |= hasStatus
		body = append(body, byte(m.Status))
	}
	if id != (bus.RequestID{}) {
		flags |= hasRequest
		raw := id.Bytes()
		body = append(body, raw[:]...)
	}
	body[at] = flags
	return body
}

// appendTime appends the time of a record, and notes it.
func (b *Builder) appendTime(body []byte, ns int64) []byte {
	body = binary.AppendVarint(body, ns-b.time)
	b.time, b.timed = ns, true
	b.block.first, b.block.last = min(b.block.first, ns), max(b.block.last, ns)
	return body
}

// aim makes p the publisher of the messages that follow.
func (b *Builder) aim(p *bus.Peer) {
	i, ok := b.peers[p]
	if !ok {
		i = uint32(len(b.block.peers))
		b.block.peers = append(b.block.peers, p)
		b.peers[p] = i
	}
	b.peer, b.index, b.known, b.again = p, i, true, false
}

// find returns the index of the series of a tag of the publisher.
func (b *Builder) find(tag tags.Tag) uint32 {
	mask := uint32(len(b.slots) - 1)
	for at := uint32((uint64(tag)+uint64(b.index)<<40)*b.factor>>b.shift) & mask; ; at = (at + 1) & mask {
		slot := b.slots[at]
		if uint32(slot>>32) != b.generation {
			return b.add(tag, at)
		}
		if s := &b.block.series[uint32(slot)]; s.tag == tag && s.peer == b.index {
			return uint32(slot)
		}
	}
}

// add adds a series, in a free slot.
func (b *Builder) add(tag tags.Tag, at uint32) uint32 {
	i := uint32(len(b.block.series))
	b.block.series = append(b.block.series, series{tag: tag, peer: b.index})
	b.slots[at] = uint64(b.generation)<<32 | uint64(i)
	if len(b.block.series)*2 > len(b.slots) {
		b.resize(2 * len(b.slots))
	}
	return i
}

// resize makes n slots, a power of two, and enters the series again.
func (b *Builder) resize(n int) {
	b.slots, b.shift = make([]uint64, n), uint8(64-bits.TrailingZeros(uint(n)))
	if b.block == nil {
		return
	}
	for i := range b.block.series {
		s := &b.block.series[i]
		at := (uint64(s.tag) + uint64(s.peer)<<40) * b.factor >> b.shift
		for uint32(b.slots[at]>>32) == b.generation {
			at = (at + 1) & uint64(n-1)
		}
		b.slots[at] = uint64(b.generation)<<32 | uint64(i)
	}
}

// Full reports whether the block has as many bytes as a block should have: it is to be
// sealed. It may have a page more.
func (b *Builder) Full() bool { return len(b.block.body) >= b.limit }

// Empty reports whether nothing has been appended since the last Seal.
func (b *Builder) Empty() bool { return b.block.isEmpty() }

// Seal ends the block and returns it. The records that follow go to another one.
//
//   - next: an empty block, such as one that is written; nil: a new one.
//   - Result: the block that was filled, which may be empty.
func (b *Builder) Seal(next *Block) *Block {
	sealed := b.block
	if next == nil {
		next = new(Block)
	}
	b.begin(next)
	return sealed
}
