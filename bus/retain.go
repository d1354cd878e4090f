package bus

import (
	"errors"
	"sync"
	"sync/atomic"

	"tagbus/netio"
)

// Retain keeps Data valid beyond the handler, or the step of the iteration, until
// Release: on any goroutine, and beyond the end of the subscriber. Nothing is copied if
// the transport can spare the memory; otherwise only this message is. Retain changes m,
// so keep m or a copy made afterwards; these are one retained message. A second Retain
// does nothing.
//
// The memory kept is that around the message, with other messages in it. It counts
// once, up to SubscriberConfig.RetainBytes. SubscriberStats has the amount. Memory that
// is not released costs no messages: the subscriber goes on in other memory.
//
//   - Errors: ErrRetainLimit; ErrMessageOver. m is as valid as before.
//   - Threads: that of the handler, or of the iteration. Blocks: never.
func (m *Message) Retain() error {
	o := m.origin
	if o == nil || o.turn.Load() != m.turn {
		return ErrMessageOver
	}
	if o.keep == nil {
		return nil
	}
	kept, data, err := o.retainer.retain(o, m.Data)
	if err != nil {
		return err
	}
	m.origin, m.turn, m.Data = kept, kept.turn.Load(), data
	return nil
}

// Release ends Retain. After it neither m.Data nor the Data of a copy of m may be used.
// For a message that is not retained, or is already released, it does nothing.
//
// Threads: any.
func (m *Message) Release() {
	if o := m.origin; o != nil && o.keep == nil {
		o.retainer.release(o, m.turn)
		m.Data = nil
	}
}

// origin owns the memory of messages: a page that is being delivered, a block of a
// queue, or a retained message. It has one after the other. A message belongs to one
// turn, and is not valid beyond it.
type origin struct {
	retainer *retainer
	keep     func() (netio.Retained, error) // nil: it is kept
	turn     atomic.Uint32

	// Guarded by retainer.mu:
	hold   *hold
	heldIn uint32  // the turn of hold, where keep is not nil
	next   *origin // of those that are free
}

// hold is memory with retained messages.
type hold struct {
	memory   netio.Retained // nil: a copy, for the garbage collector
	bytes    int
	messages int
}

// retainer counts what a subscriber's user retains.
type retainer struct {
	limit int // bytes

	mu       sync.Mutex
	bytes    int
	messages int
	refused  uint64
	holds    map[netio.Retained]*hold
	free     *origin
}

func newRetainer(limit int) *retainer {
	return &retainer{limit: limit, holds: make(map[netio.Retained]*hold)}
}

// retain keeps a message whose memory belongs to o. data is where it is then.
func (r *retainer) retain(o *origin, data []byte) (kept *origin, _ []byte, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := o.hold
	if turn := o.turn.Load(); h == nil || h.messages == 0 || o.heldIn != turn {
		if h, err = r.newHold(o, len(data)); err != nil {
			return nil, nil, err
		}
		if h.memory == nil {
			data = append(make([]byte, 0, len(data)), data...)
		} else {
			o.hold, o.heldIn = h, turn
		}
	} else if !r.fits(messageCost) {
		return nil, nil, ErrRetainLimit
	}
	h.messages++
	r.messages++
	r.bytes += messageCost
	if kept = r.free; kept == nil {
		kept = &origin{retainer: r}
	} else {
		r.free, kept.next = kept.next, nil
	}
	kept.hold = h
	return kept, data, nil
}

// newHold keeps the memory of o, or makes room for a copy of n bytes.
func (r *retainer) newHold(o *origin, n int) (*hold, error) {
	memory, err := o.keep()
	switch {
	case err == nil:
		if h := r.holds[memory]; h != nil { // of an earlier page
			memory.Release()
			if !r.fits(messageCost) {
				return nil, ErrRetainLimit
			}
			return h, nil
		}
		n = memory.Bytes()
	case !errors.Is(err, netio.ErrNotSupported) && !errors.Is(err, netio.ErrNoResources):
		return nil, ErrMessageOver
	}
	if !r.fits(n + messageCost) {
		if memory != nil {
			memory.Release()
		}
		return nil, ErrRetainLimit
	}
	h := &hold{memory: memory, bytes: n}
	r.bytes += n
	if memory != nil {
		r.holds[memory] = h
	}
	return h, nil
}

// fits reports whether n more bytes may be retained, and counts a refusal.
func (r *retainer) fits(n int) bool {
	if r.bytes+n > r.limit {
		r.refused++
		return false
	}
	return true
}

// release undoes retain.
func (r *retainer) release(kept *origin, turn uint32) {
	if memory := r.drop(kept, turn); memory != nil {
		memory.Release()
	}
}

// drop returns memory that is no longer retained.
func (r *retainer) drop(kept *origin, turn uint32) netio.Retained {
	r.mu.Lock()
	defer r.mu.Unlock()
	if kept.turn.Load() != turn {
		return nil // it was released before
	}
	kept.turn.Add(1)
	h := kept.hold
	kept.hold, kept.next, r.free = nil, r.free, kept
	r.messages--
	r.bytes -= messageCost
	if h.messages--; h.messages > 0 {
		return nil
	}
	r.bytes -= h.bytes
	if h.memory != nil {
		delete(r.holds, h.memory)
	}
	return h.memory
}

// stats returns what is retained now, and how often that was refused.
func (r *retainer) stats() (messages, bytes int, refused uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.messages, r.bytes, r.refused
}

// heapMemory implements netio.Retained for memory that is left to the garbage
// collector.
type heapMemory struct{ bytes int }

// Bytes implements netio.Retained.
func (m *heapMemory) Bytes() int { return m.bytes }

// Release implements netio.Retained.
func (*heapMemory) Release() {}

// messageCost is what a message counts beyond its payload, so that empty ones
// are limited too.
const messageCost = 64
