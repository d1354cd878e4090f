// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"encoding/binary"
	"math"
	"net/netip"

	"tagbus/bus"
	"tagbus/tags"
)

// Block is a sealed block: records that a Builder has gathered and a BlockWriter writes.
// It holds no reference to the messages. One that is written is empty, and a Builder may
// fill its memory again. The zero value is an empty block.
//
// Threads: one at a time. It may be passed from goroutine to goroutine.
type Block struct {
	body   []byte // the records
	peers  []*bus.Peer
	series []series
	blockTotals
}

// blockTotals are the numbers of a block header that the records decide.
type blockTotals struct {
	messages, events uint32
	first, last      int64 // smallest and largest time, in ns since 1970
}

// series is what a block has of one tag of one publisher.
type series struct {
	tag      tags.Tag
	first    uint64 // counter of the first message
	counter  uint64 // of the last message
	bytes    uint64 // of payload
	messages uint32
	peer     uint32 // index of its publisher in the block
}

// Messages returns how many messages are in the block.
func (b *Block) Messages() int { return int(b.messages) }

// Bytes returns how many bytes the records take before compression.
func (b *Block) Bytes() int { return len(b.body) }

func (b *Block) isEmpty() bool { return b.messages == 0 && b.events == 0 }

// reset empties the block and keeps its memory.
func (b *Block) reset() {
	clear(b.peers)
	b.body, b.peers, b.series = b.body[:0], b.peers[:0], b.series[:0]
	b.blockTotals = blockTotals{first: math.MaxInt64, last: math.MinInt64}
}

// appendTable appends the table: the publishers, then the series.
func (b *Block) appendTable(t []byte) []byte {
	t = binary.AppendUvarint(t, uint64(len(b.peers)))
	for _, p := range b.peers {
		t = appendPeer(t, p)
	}
	t = binary.AppendUvarint(t, uint64(len(b.series)))
	var before tags.Tag
	for i := range b.series {
		s := &b.series[i]
		t = binary.AppendUvarint(t, uint64(s.peer))
		t = binary.AppendVarint(t, int64(s.tag-before))
		t = binary.AppendUvarint(t, s.first)
		t = binary.AppendUvarint(t, uint64(s.messages))
		t = binary.AppendUvarint(t, s.bytes)
		before = s.tag
	}
	return t
}

func appendPeer(t []byte, p *bus.Peer) []byte {
	if p == nil {
		p = new(bus.Peer)
	}
	t = appendText(t, p.Instance)
	t = appendText(t, p.Name)
	t = appendText(t, p.Host)
	t = binary.AppendVarint(t, int64(p.PID))
	var addr []byte
	if p.Addr != (netip.AddrPort{}) {
		addr, _ = p.Addr.MarshalBinary() // it never fails
	}
	return append(binary.AppendUvarint(t, uint64(len(addr))), addr...)
}

// peer takes a publisher.
func (d *decoder) peer() (p bus.Peer) {
	p.Instance, p.Name, p.Host = d.text(), d.text(), d.text()
	p.PID = int(d.varint())
	if addr := d.bytes(d.uvarint()); len(addr) > 0 {
		if err := p.Addr.UnmarshalBinary(addr); err != nil {
			d.fail()
		}
	}
	return p
}

const (
	blockMagic       = "TBRb"
	blockHeaderBytes = 64
)

// blockHeader is the beginning of a block, as the package comment has it.
type blockHeader struct {
	table, stored, decoded uint32 // bytes
	tableSum, bodySum      uint32
	number                 uint32
	codec                  Codec
	blockTotals
}

// size returns the bytes of the whole block.
func (h *blockHeader) size() int64 {
	return blockHeaderBytes + int64(h.table) + int64(h.stored)
}

// work returns what reading the records takes, in bytes that are decompressed.
func (h *blockHeader) work() int64 {
	return int64(h.decoded) + workPerRecord*(int64(h.messages)+int64(h.events))
}

// append appends the header. seed is that of the file header.
func (h *blockHeader) append(b []byte, seed uint32) []byte {
	begin := len(b)
	le := binary.LittleEndian
	b = append(b, blockMagic...)
	b = append(b, 0, 0, 0, 0)
	b = le.AppendUint32(b, h.tableSum)
	b = le.AppendUint32(b, h.bodySum)
	b = le.AppendUint32(b, h.table)
	b = le.AppendUint32(b, h.stored)
	b = le.AppendUint32(b, h.decoded)
	b = append(b, byte(h.codec), 0, 0, 0)
	b = le.AppendUint32(b, h.messages)
	b = le.AppendUint32(b, h.events)
	b = le.AppendUint32(b, h.number)
	b = append(b, 0, 0, 0, 0)
	b = le.AppendUint64(b, uint64(h.first))
	b = le.AppendUint64(b, uint64(h.last))
	le.PutUint32(b[begin+4:], checksum(seed, b[begin+8:]))
	return b
}

// read reads the header from the first blockHeaderBytes of b.
//
// Errors: ErrMalformed; ErrChecksum; ErrVersion.
func (h *blockHeader) read(b []byte, seed uint32) error {
	le := binary.LittleEndian
	b = b[:blockHeaderBytes]
	if string(b[:4]) != blockMagic {
		return malformed("no block begins here")
	}
	if le.Uint32(b[4:]) != checksum(seed, b[8:]) {
		return ErrChecksum
	}
	*h = blockHeader{
		tableSum: le.Uint32(b[8:]), bodySum: le.Uint32(b[12:]),
		table: le.Uint32(b[16:]), stored: le.Uint32(b[20:]), decoded: le.Uint32(b[24:]),
		codec: Codec(b[28]), number: le.Uint32(b[40:]),
		blockTotals: blockTotals{
			messages: le.Uint32(b[32:]), events: le.Uint32(b[36:]),
			first: int64(le.Uint64(b[48:])), last: int64(le.Uint64(b[56:])),
		},
	}
	switch {
	case h.codec >= codecs:
		return ErrVersion
	case h.codec == None && h.stored != h.decoded:
		return malformed("%d bytes without codec are %d bytes of records", h.stored, h.decoded)
	case uint64(h.messages)+uint64(h.events) > uint64(h.decoded)/2:
		return malformed("%d records in %d bytes", uint64(h.messages)+uint64(h.events), h.decoded)
	}
	return nil
}
