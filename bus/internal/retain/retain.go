// SPDX-License-Identifier: Apache-2.0

// Package retain keeps the memory of messages beyond the call that delivers them, and
// counts it.
//
// The bytes of a message belong to an Origin: a page that is being delivered, or a block
// of a queue. An Origin has one piece of memory after the other, each for a turn, and a
// message is valid in the turn in which it was taken. Retain gives the message an Origin
// of its own, whose turn ends with Release. Several messages in the same memory keep it
// together, so it counts once, and what counts is all of it.
//
// A message that is a request has an Origin of its own, too, which knows its id: so other
// messages pay nothing for it.
package retain

import (
	"bytes"
	"errors"
	"sync"

	"tagbus/netio"
)

// MessageBytes is what a message counts beyond its memory, so that empty ones are
// limited too.
const MessageBytes = 64

// The reasons why a message is not retained.
var (
	ErrLimit = errors.New("bus: subscriber retains as much memory as it may: release messages, or raise RetainBytes")
	ErrOver  = errors.New("bus: message is over: retain it inside its handler, or before the next step of the iteration")
)

// Retainer counts what the user of a subscriber retains.
//
// Threads: any.
type Retainer struct {
	limit int // bytes

	mu       sync.Mutex
	bytes    int
	messages int
	refused  uint64
	holds    map[netio.Retained]*hold
	free     *Origin
}

// hold is memory with retained messages.
type hold struct {
	memory   netio.Retained // nil: a copy, for the garbage collector
	bytes    int
	messages int
}

// New returns a Retainer that keeps at most limit bytes.
func New(limit int) *Retainer {
	return &Retainer{limit: limit, holds: make(map[netio.Retained]*hold)}
}

// Retain keeps a message of a turn, which is at data. It returns the Origin and the turn
// that the message has from now on, and where the data is then. A message that is
// retained already stays as it is. One that no subscriber has received is copied, whatever
// the turn is, and nothing limits that.
//
// Errors: ErrLimit; ErrOver.
func (o *Origin) Retain(turn uint32, data []byte) (kept *Origin, keptTurn uint32, _ []byte, err error) {
	var id ID
	switch {
	case o == nil:
		return &Origin{kind: copied}, 0, bytes.Clone(data), nil
	case o.kind == made:
		return &Origin{kind: copied, id: o.id}, 0, bytes.Clone(data), nil
	case o.of != nil:
		o, id = o.of, o.id
	}
	if o.turn.Load() != turn {
		return nil, 0, nil, ErrOver
	}
	if o.keep == nil {
		return o, turn, data, nil
	}
	kept, own, err := o.retainer.retain(o, turn, len(data), id)
	if err != nil {
		return nil, 0, nil, err
	}
	if own {
		data = append(make([]byte, 0, len(data)), data...)
	}
	return kept, kept.turn.Load(), data, nil
}

// RetainAll keeps the messages of a turn together, with all that lies in its memory, as Retain
// keeps one: they count as one message.
//
//   - size: of their data.
//   - own: the memory is not kept, and its user makes a copy of the data.
//   - Errors: ErrLimit; ErrOver.
func (o *Origin) RetainAll(turn uint32, size int) (kept *Origin, keptTurn uint32, own bool, err error) {
	switch {
	case o == nil || o.kind == made:
		return &Origin{kind: copied}, 0, true, nil
	case o.of != nil:
		o = o.of
	}
	if o.turn.Load() != turn {
		return nil, 0, false, ErrOver
	}
	if o.keep == nil { // it is retained already
		return &Origin{kind: copied}, 0, true, nil
	}
	kept, own, err = o.retainer.retain(o, turn, size, ID{})
	if err != nil {
		return nil, 0, false, err
	}
	return kept, kept.turn.Load(), own, nil
}

// Release ends Retain, and reports whether the message was ever retained: its data is
// not to be used then. A second call changes nothing.
func (o *Origin) Release(turn uint32) bool {
	switch {
	case o == nil || o.keep != nil || o.of != nil || o.kind == made:
		return false
	case o.kind == copied:
		o.turn.CompareAndSwap(turn, turn+1)
		return true
	}
	if memory := o.retainer.release(o, turn); memory != nil {
		memory.Release()
	}
	return true
}

// retain keeps messages of size bytes whose memory belongs to o. own: they are to be copied.
func (r *Retainer) retain(o *Origin, turn uint32, size int, id ID) (kept *Origin, own bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := o.hold
	if h == nil || h.messages == 0 || o.heldIn != turn {
		if h, err = r.newHold(o, size); err != nil {
			return nil, false, err
		}
		if own = h.memory == nil; !own {
			o.hold, o.heldIn = h, turn
		}
	} else if !r.fits(MessageBytes) {
		return nil, false, ErrLimit
	}
	h.messages++
	r.messages++
	r.bytes += MessageBytes
	if kept = r.free; kept == nil {
		kept = &Origin{retainer: r}
	} else {
		r.free, kept.next = kept.next, nil
	}
	kept.hold, kept.id = h, id
	return kept, own, nil
}

// newHold keeps the memory of o, or makes room for a copy of n bytes.
func (r *Retainer) newHold(o *Origin, n int) (*hold, error) {
	memory, err := o.keep()
	switch {
	case err == nil:
		if h := r.holds[memory]; h != nil { // of an earlier turn
			memory.Release()
			if !r.fits(MessageBytes) {
				return nil, ErrLimit
			}
			return h, nil
		}
		n = memory.Bytes()
	case !errors.Is(err, netio.ErrNotSupported) && !errors.Is(err, netio.ErrNoResources):
		return nil, ErrOver
	}
	if !r.fits(n + MessageBytes) {
		if memory != nil {
			memory.Release()
		}
		return nil, ErrLimit
	}
	h := &hold{memory: memory, bytes: n}
	r.bytes += n
	if memory != nil {
		r.holds[memory] = h
	}
	return h, nil
}

// fits reports whether n more bytes may be retained, and counts a refusal.
func (r *Retainer) fits(n int) bool {
	if r.bytes+n > r.limit {
		r.refused++
		return false
	}
	return true
}

// release undoes retain, and returns memory that is no longer retained.
func (r *Retainer) release(kept *Origin, turn uint32) netio.Retained {
	r.mu.Lock()
	defer r.mu.Unlock()
	if kept.turn.Load() != turn {
		return nil // it was released before
	}
	kept.turn.Add(1)
	h := kept.hold
	kept.hold, kept.next, r.free = nil, r.free, kept
	r.messages--
	r.bytes -= MessageBytes
	if h.messages--; h.messages > 0 {
		return nil
	}
	r.bytes -= h.bytes
	if h.memory != nil {
		delete(r.holds, h.memory)
	}
	return h.memory
}

// Stats returns what is retained now, and how often Retain was refused for the limit.
func (r *Retainer) Stats() (messages, bytes int, refused uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.messages, r.bytes, r.refused
}

// Heap returns memory that Release leaves to the garbage collector.
func Heap(bytes int) netio.Retained { return &heap{bytes} }

type heap struct{ bytes int }

// Bytes implements netio.Retained.
func (h *heap) Bytes() int { return h.bytes }

// Release implements netio.Retained.
func (*heap) Release() {}
