// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"tagbus/bus/internal/ring"
	"tagbus/bus/internal/wire"
	"tagbus/netio"
	"tagbus/tags"
)

// Outbox is what is on its way to one subscriber: the queues of its lanes, control
// messages, and what the transport has.
//
// Its methods are called in this order: Init, before anything is received; Kill, when
// the connection has ended, and then Bury; the job of Leave, before or after Kill; then CloseAccounts
// and Free.
//
// Pages come from any publishing goroutine, completions from the loop. Both hold mu
// only for a few operations on queues. The endpoint's methods are called under mu. That
// is safe because a backend never calls back from inside them.
type Outbox struct {
	fan     *Fanout
	ep      netio.Endpoint
	onFault func(error) // ends the connection; loop only
	direct  bool        // ep can send directly
	ownOnly bool        // counted in Fanout.ownOnly, until it is dead
	window  int         // bytes of pages in flight
	copies  bool        // control messages need buffers of ep: it does not send from where they are

	// Loop only.
	subs   map[uint64]*Lane // by the id of the subscription
	torn   bool             // a job was aborted: routes may lead here that no subscription wants
	rested bool             // calls of Tick may have been left out since the last one

	mu            sync.Mutex
	control       ring.Ring[item]   // control messages that need not stay among pages: they go first
	Lanes         []*Lane           // in turn, the oldest first; written on the loop, where reading needs no lock
	turn          int               // the lane that was last sent from
	last          ring.Ring[item]   // sent after everything else
	inFlight      ring.Ring[flight] // given to the endpoint, in order
	inFlightBytes int
	controlBytes  int  // of control messages in all queues
	closing       bool // it gets nothing more
	failing       bool // onFault is posted
	dead          bool
	sent, moved   bool                    // since the last tick: something was given to the endpoint; something completed
	receipts      map[tags.Tag][]*Receipt // of pages queued or sent, ascending by position
	header        [wire.HeaderBytes]byte  // of the page that is being posted

	sentPages, sentMessages, sentBytes uint64

	// quiet: the last Tick found nothing that waits or has moved, and nothing was queued
	// or given to the endpoint since. Written with mu held. Last, as link.tick wants.
	quiet atomic.Bool
}

// Init makes box the outbox of a connection without lanes. It is not copied afterwards.
//
//   - onFault: ends the connection; called on the loop. The fault is ErrOverflow,
//     ErrCompletion, wrapped, or an error of the endpoint.
func (box *Outbox) Init(fan *Fanout, ep netio.Endpoint, onFault func(error)) {
	box.fan, box.ep, box.onFault = fan, ep, onFault
	can := ep.Capabilities()
	box.window = maxInFlightPages * fan.cfg.PageBytes
	if can.InPlace {
		box.window = maxInPlacePages * fan.cfg.PageBytes
	}
	box.direct, box.copies = can.Direct, !can.AnyMemory
	box.subs = make(map[uint64]*Lane)
	if box.ownOnly = box.copies || can.CopyOther; box.ownOnly {
		fan.ownOnly.Add(1)
	}
}

// pump gives the endpoint as much as keeps it busy. Streams that have waited for that are
// scheduled. mu is held. A policy can still reorder or drop queued items, but not those in
// flight.
func (box *Outbox) pump() {
	box.fill()
	box.relieve()
}

// fill is pump without the streams.
func (box *Outbox) fill() {
	box.wake()
	for box.inFlight.Len() < MaxInFlight {
		queue, lane := box.next()
		if queue == nil {
			return
		}
		if queue.Front().lost() {
			box.expand(queue)
			continue
		}
		i := flight{item: *queue.Front(), lane: lane}
		if err := box.post(&i); err != nil {
			if !errors.Is(err, netio.ErrNoResources) && !errors.Is(err, netio.ErrClosed) {
				box.failSoon(err)
			}
			return // Ready or Kill goes on
		}
		queue.Pop()
		box.given(i)
	}
}

// given notes that the endpoint has an item. mu is held.
func (box *Outbox) given(i flight) {
	box.wake()
	box.sent = true
	box.inFlightBytes += i.bytes()
	if i.page != nil {
		i.lane.givenMessages += uint64(i.page.messages)
		i.page.receipt.given(i.lane)
	}
	box.inFlight.Push(i)
}

// next returns the queue to send from: control before data, and the lanes in turn. n is
// the lane if it is one of theirs. mu is held.
func (box *Outbox) next() (queue *ring.Ring[item], n *Lane) {
	if box.control.Len() > 0 {
		return &box.control, nil
	}
	if box.inFlightBytes >= box.window {
		return nil, nil
	}
	empty := true
	for range box.Lanes {
		box.turn = (box.turn + 1) % len(box.Lanes)
		n := box.Lanes[box.turn]
		if n.queue.Len() > 0 {
			return &n.queue, n
		}
		empty = empty && n.held.Len() == 0
	}
	if empty && box.last.Len() > 0 {
		return &box.last, nil
	}
	return nil, nil
}

// post gives an item to the endpoint. mu is held.
//
// Errors: those of the endpoint, which then does not have the item.
func (box *Outbox) post(i *flight) error {
	if i.page != nil {
		wire.PutHeader(&box.header, i.lane.Number, i.lane.alone(), i.page.receipt != nil, i.page.messages)
		i.key = i.page.key
		return box.ep.Send(i.key, box.header[:], i.page.vector()...)
	}
	i.lane, i.key = i.note.lane, noteKey
	if box.copies {
		return box.postCopy(i)
	}
	return box.ep.Send(i.key, nil, i.note.control)
}

// Completed removes the oldest item in flight, which the transport has sent. If key is
// not its key, that is a fault, since the memory of the item may still be in use. Loop
// only.
func (box *Outbox) Completed(key netio.Key) {
	box.mu.Lock()
	box.moved = true
	if box.inFlight.Len() == 0 || box.inFlight.Front().key != key {
		box.mu.Unlock()
		box.onFault(fmt.Errorf("%w: key %d", ErrCompletion, key))
		return
	}
	i := box.taken()
	box.pump()
	box.mu.Unlock()
	if i.page != nil {
		i.lane.drop(i.page)
	}
	if i.note != nil && i.note.last {
		_ = box.ep.Close()
	}
}

// taken removes the oldest item in flight, which the transport has sent, and counts it. mu
// is held.
func (box *Outbox) taken() flight {
	box.moved = true
	i := box.inFlight.Pop()
	box.inFlightBytes -= i.bytes()
	if i.page != nil {
		box.sentPages++
		box.sentMessages += uint64(i.page.messages)
		i.lane.sentMessages += uint64(i.page.messages)
		box.sentBytes += uint64(i.page.bytes)
	} else {
		box.controlBytes -= i.note.cost()
	}
	return i
}

// gone reports whether the connection has ended, or is about to.
func (box *Outbox) gone() bool {
	box.mu.Lock()
	defer box.mu.Unlock()
	return box.closing || box.dead
}

// Ready goes on sending after the endpoint had no resources.
func (box *Outbox) Ready() {
	box.mu.Lock()
	if !box.dead {
		box.pump()
	}
	box.mu.Unlock()
}

// Dead reports whether Kill was called.
func (box *Outbox) Dead() bool {
	box.mu.Lock()
	defer box.mu.Unlock()
	return box.dead
}

// Subscriptions returns how many subscriptions the connection has. Loop only.
func (box *Outbox) Subscriptions() int { return len(box.subs) }

// LaneOf returns the lane of the subscription with an id, or nil. Loop only.
func (box *Outbox) LaneOf(id uint64) *Lane { return box.subs[id] }

// Lane returns the lane with a number on the wire, or nil. Loop only.
func (box *Outbox) Lane(number uint16) *Lane {
	for _, n := range box.Lanes {
		if n.Number == number {
			return n
		}
	}
	return nil
}
