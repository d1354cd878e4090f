// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"encoding/binary"
	"fmt"

	"tagbus/bus"
	"tagbus/tags"
)

// Fields of an event that follow its time.
const (
	hasPeer = 1 << iota
	hasTag
	hasCount
	hasCause
	isFailed
	hasText
	hasTags
)

// AppendEvent appends an event in its place among the messages. It may allocate.
//
// Errors: ErrBlockFull; ErrEvent, wrapped with the kind.
func (b *Builder) AppendEvent(e Event) error {
	if e.Kind < Joined || e.Kind > Stepped {
		return fmt.Errorf("%w: %v", ErrEvent, e.Kind)
	}
	block := b.block
	ns := e.Time.UnixNano()
	payload := binary.AppendVarint(nil, ns-b.time)
	payload = b.appendFields(payload, &e)
	if len(payload) > b.room-len(block.body) {
		return ErrBlockFull
	}
	b.time, b.timed = ns, true
	block.first, block.last = min(block.first, ns), max(block.last, ns)
	body := binary.AppendUvarint(block.body, uint64(e.Kind)<<recordBits|isEvent)
	body = binary.AppendUvarint(body, uint64(len(payload)))
	block.body = append(body, payload...)
	block.events++
	return nil
}

// appendFields appends what an event says beyond its time.
func (b *Builder) appendFields(p []byte, e *Event) []byte {
	at := len(p)
	p = append(p, 0)
	flags := byte(0)
	if e.Peer != nil {
		flags |= hasPeer
		b.aim(e.Peer)
		p = binary.AppendUvarint(p, uint64(b.index))
	}
	if e.Tag != 0 {
		flags |= hasTag
		p = binary.LittleEndian.AppendUint64(p, uint64(e.Tag))
	}
	if e.Count != 0 {
		flags |= hasCount
		p = binary.AppendUvarint(p, e.Count)
	}
	if e.Cause != 0 {
		flags |= hasCause
		p = append(p, byte(e.Cause))
	}
	if e.Failed {
		flags |= isFailed
	}
	if e.Text != "" {
		flags |= hasText
		p = appendText(p, e.Text)
	}
	if !e.Tags.IsEmpty() {
		flags |= hasTags
		set, _ := e.Tags.AppendBinary(nil) // it never fails
		p = append(binary.AppendUvarint(p, uint64(len(set))), set...)
	}
	p[at] = flags
	return p
}

// The most parts of the tags of an event, more than a subscriber has. A range takes eight
// times as much memory as in a file.
const (
	mostEventRanges = 1 << 20
	mostEventMasks  = 1 << 16
)

// read takes what an event says from its payload. Bytes behind it belong to a newer minor
// version.
//
//   - before: the time of the record before.
//   - peers: those of the block.
//
// Errors: ErrMalformed.
func (e *Event) read(payload []byte, before int64, peers []*bus.Peer) (ns int64, err error) {
	d := decoder{b: payload}
	ns = before + d.varint()
	flags := d.byte()
	if flags&hasPeer != 0 {
		i := d.uvarint()
		if i >= uint64(len(peers)) {
			return 0, malformed("an event of publisher %d of %d", i, len(peers))
		}
		e.Peer = peers[i]
	}
	if flags&hasTag != 0 {
		if raw := d.bytes(8); raw != nil {
			e.Tag = tags.Tag(binary.LittleEndian.Uint64(raw))
		}
	}
	if flags&hasCount != 0 {
		e.Count = d.uvarint()
	}
	if flags&hasCause != 0 {
		e.Cause = Cause(d.byte())
	}
	e.Failed = flags&isFailed != 0
	if flags&hasText != 0 {
		e.Text = d.text()
	}
	if flags&hasTags != 0 {
		set := d.bytes(d.uvarint())
		if d.bad {
			return 0, malformed("an event ends early")
		}
		if err := e.Tags.UnmarshalLimited(set, mostEventRanges, mostEventMasks); err != nil {
			return 0, malformed("the tags of an event: %v", err)
		}
	}
	if d.bad {
		return 0, malformed("an event ends early")
	}
	e.Time = timeOf(ns)
	return ns, nil
}
