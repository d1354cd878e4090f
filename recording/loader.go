// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"fmt"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"

	"tagbus/bus"
	"tagbus/tags"
)

// loader reads one block after the other into the same memory.
type loader struct {
	r     *Reader
	block int    // index in r.blocks
	peers *peers // of all files that are read together

	h          blockHeader
	table      []byte
	stored     []byte
	decoded    []byte
	zstd       *zstd.Decoder
	blockPeers []*bus.Peer
	series     []loadedSeries
	body       []byte // the records: stored or decoded

	readBytes int64 // of the blocks whose bodies were read
	work      int64 // that their records were
}

// afford reports whether the body of the block is worth its bytes: a file of some kilobytes
// can decompress to terabytes.
//
// Errors: ErrExpanded.
func (l *loader) afford() error {
	size, work := l.readBytes+l.h.size(), l.work+l.h.work()
	if most := l.r.cfg.MaxExpansion; work > l.r.free && (work-l.r.free)/int64(most) >= size {
		return fmt.Errorf("%d bytes become %d, in %d records: %w", l.h.size(), l.h.decoded, l.h.messages+l.h.events, ErrExpanded)
	}
	l.readBytes, l.work = size, work
	return nil
}

// loadedSeries is a series of the block.
type loadedSeries struct {
	tag      tags.Tag
	counter  uint64 // of the last message that was read
	bytes    uint64
	messages uint32
	peer     uint32 // index in blockPeers
	selected bool
}

// room returns a slice of n bytes, in the memory of b if it has so many.
func room(b []byte, n int) []byte {
	if cap(b) < n {
		return make([]byte, n)
	}
	return b[:n]
}

// loadTable reads header and table of the block.
//
// Errors: ErrChecksum; ErrMalformed; ErrTooLarge; ErrVersion; those of reading.
func (l *loader) loadTable() error {
	ref := &l.r.blocks[l.block]
	l.table = room(l.table, blockHeaderBytes)
	if err := l.r.readAt(l.table, ref.offset); err != nil {
		return err
	}
	h := &l.h
	if err := h.read(l.table, l.r.seed); err != nil {
		return err
	}
	switch most := uint32(l.r.cfg.MaxBlockBytes); {
	case h.size() > l.r.limitOf(l.block)-ref.offset:
		return malformed("a block of %d bytes in %d", h.size(), l.r.limitOf(l.block)-ref.offset)
	case h.messages != ref.messages || h.events != ref.events || h.first != ref.first || h.last != ref.last:
		return malformed("the index does not agree with the block")
	case h.decoded > most || h.stored > most || h.table > most:
		return fmt.Errorf("%d bytes with a table of %d, limit %d: %w", max(h.decoded, h.stored), h.table, most, ErrTooLarge)
	}
	l.table = room(l.table, int(h.table))
	if err := l.r.readAt(l.table, ref.offset+blockHeaderBytes); err != nil {
		return err
	}
	if checksum(0, l.table) != h.tableSum {
		return fmt.Errorf("table: %w", ErrChecksum)
	}
	return l.readTable()
}

// The least that a publisher and a series take in a table.
const (
	leastPeerBytes   = 5
	leastSeriesBytes = 5
)

// readTable reads the table. It allocates in proportion to its bytes.
//
// Errors: ErrMalformed.
func (l *loader) readTable() error {
	d := decoder{b: l.table}
	n := d.uvarint()
	if n > uint64(len(d.b))/leastPeerBytes {
		return malformed("%d publishers in %d bytes", n, len(d.b))
	}
	l.blockPeers = l.blockPeers[:0]
	for range n {
		p := d.peer()
		if d.bad {
			return malformed("the table ends early")
		}
		l.blockPeers = append(l.blockPeers, l.peers.of(p))
	}
	n = d.uvarint()
	if n > uint64(len(d.b))/leastSeriesBytes {
		return malformed("%d series in %d bytes", n, len(d.b))
	}
	l.series = l.series[:0]
	var tag tags.Tag
	messages := uint64(0)
	for range n {
		peer := d.uvarint()
		tag += tags.Tag(d.varint())
		s := loadedSeries{tag: tag, counter: d.uvarint() - 1}
		count := d.uvarint()
		s.bytes = d.uvarint()
		switch {
		case d.bad:
			return malformed("the table ends early")
		case peer >= uint64(len(l.blockPeers)):
			return malformed("a series of publisher %d of %d", peer, len(l.blockPeers))
		case count > uint64(l.h.messages):
			return malformed("a series of %d messages of %d", count, l.h.messages)
		}
		messages += count
		s.peer, s.messages = uint32(peer), uint32(count)
		l.series = append(l.series, s)
	}
	if messages != uint64(l.h.messages) {
		return malformed("series of %d messages together, want %d", messages, l.h.messages)
	}
	return nil
}

// loadBody reads the records of the block whose table is loaded.
//
// Errors: ErrChecksum; ErrExpanded; ErrMalformed; those of reading.
func (l *loader) loadBody() (err error) {
	h := &l.h
	if err := l.afford(); err != nil {
		return err
	}
	l.stored = room(l.stored, int(h.stored))
	if err := l.r.readAt(l.stored, l.r.blocks[l.block].offset+blockHeaderBytes+int64(h.table)); err != nil {
		return err
	}
	if checksum(0, l.stored) != h.bodySum {
		return fmt.Errorf("body: %w", ErrChecksum)
	}
	switch h.codec {
	case S2:
		if n, err := s2.DecodedLen(l.stored); err != nil || n != int(h.decoded) {
			return malformed("%d bytes, want %d (%v)", n, h.decoded, err)
		}
		l.decoded = room(l.decoded, int(h.decoded))
		l.body, err = s2.Decode(l.decoded, l.stored)
	case Zstd:
		if l.zstd == nil {
			if l.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true)); err != nil {
				return fmt.Errorf("zstd: %w", err)
			}
		}
		l.decoded = room(l.decoded, int(h.decoded))
		l.body, err = l.zstd.DecodeAll(l.stored, l.decoded[:0:h.decoded])
	default:
		l.body = l.stored
	}
	if err != nil {
		return malformed("%v: %v", h.codec, err)
	}
	if len(l.body) != int(h.decoded) {
		return malformed("%d bytes of records, want %d", len(l.body), h.decoded)
	}
	return nil
}
