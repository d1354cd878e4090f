// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"slices"

	"tagbus/bus/internal/positions"
	"tagbus/bus/internal/ring"
	"tagbus/subscription"
)

// Send queues a control message. In a lane it stays in order with the pages before it,
// except those that cork holds back. If n is nil it goes before all pages. A message that
// cannot be encoded, or is one too many (ErrOverflow), ends the connection. Loop only.
func (box *Outbox) Send(n *Lane, m subscription.Message) {
	queue := &box.control
	if n != nil {
		queue = &n.queue
	}
	box.sendIn(queue, n, m)
}

// SendBytes queues an encoded control message before all pages.
func (box *Outbox) SendBytes(control []byte) { box.sendControl(&box.control, note{control: control}) }

// SendLast queues an encoded control message before all pages, and closes the connection
// once it is sent.
func (box *Outbox) SendLast(control []byte) {
	box.sendControl(&box.control, note{control: control, last: true})
}

// sendIn queues a control message in a certain queue.
//
//   - n: the lane that it is about; nil: none.
func (box *Outbox) sendIn(queue *ring.Ring[item], n *Lane, m subscription.Message) {
	b, err := subscription.Append(nil, m)
	if err != nil { // only possible for a message that was built too long
		box.onFault(err)
		return
	}
	box.sendControl(queue, note{control: b, lane: n})
}

// sendControl queues a control message in one of the queues of box.
func (box *Outbox) sendControl(queue *ring.Ring[item], x note) {
	box.mu.Lock()
	defer box.mu.Unlock()
	if box.dead {
		return
	}
	if box.controlBytes += x.cost(); box.controlBytes > box.fan.controlLimit() {
		box.failSoon(ErrOverflow)
		return
	}
	queue.Push(item{note: &x})
	box.pump()
}

// controlCost is added to the bytes of a control message, so that tiny ones are limited
// too.
const controlCost = 32

// cost returns the share of a control message in controlLimit.
func (x *note) cost() int { return len(x.control) + controlCost }

// Beat sends a heartbeat, which the next Tick does not count as sent. It is sent directly
// if the connection is idle, since thousands of them may be due in one tick. Loop only.
func (box *Outbox) Beat() {
	x := &box.fan.beat
	box.mu.Lock()
	defer box.mu.Unlock()
	if box.dead {
		return
	}
	box.controlBytes += x.cost()
	quiet := box.quiet.Load()
	if !box.beatDirect(x) {
		box.control.Push(item{note: x})
		box.pump()
	}
	box.sent = false
	if quiet && box.inFlight.Len() == 0 && box.control.Len() == 0 {
		box.moved = false
		box.quiet.Store(true)
	}
}

// failSoon posts a call of onFault, once. It may run on any goroutine. mu is held.
func (box *Outbox) failSoon(err error) {
	if !box.failing {
		box.failing = true
		box.fan.loop.Post(func() { box.onFault(err) })
	}
}

// controlLimit bounds the bytes of control messages queued for one connection. A single answer
// may have to name every tag.
func (fan *Fanout) controlLimit() int {
	return maxControlQueue + subscription.MaxPositionBytes*int(fan.knownTags.Load())
}

// expand replaces the losses at the front of a queue, or those of its first thousands
// of tags, by the control messages that report them. mu is held.
func (box *Outbox) expand(queue *ring.Ring[item]) {
	x := queue.Front().note
	part := x.losses.Take(maxTold)
	lane := x.lane
	if x.losses.Tags() == 0 {
		queue.Pop()
	}
	var all []*note
	part.Lists(func(cause subscription.Cause, counts []subscription.Position) {
		for list := range positions.Lists(counts) {
			b, err := subscription.Append(nil, &subscription.Lost{Lane: lane.Number, Cause: cause, List: list})
			if err != nil { // only possible for a message that this package built too long
				box.failSoon(err)
				return
			}
			told := &note{lane: lane, control: b}
			box.controlBytes += told.cost()
			all = append(all, told)
		}
	})
	for _, told := range slices.Backward(all) {
		queue.PushFront(item{note: told})
	}
}

// goodbye queues a goodbye behind everything else.
func (box *Outbox) goodbye() {
	b, err := subscription.Append(nil, &subscription.Goodbye{})
	if err != nil {
		box.onFault(err)
		return
	}
	box.sendControl(&box.last, note{control: b})
}
