// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"tagbus/bus/internal/wire"
)

// A page may be sent by the goroutine that has filled it (pace.go), and a heartbeat by the
// loop in its tick, if nothing else is on its way to the subscriber.

// idle reports whether a page would be the next to be sent, and the endpoint lets its caller
// send. mu is held.
func (box *Outbox) idle() bool {
	if !box.direct || box.inFlight.Len() > 0 || box.control.Len() > 0 || box.last.Len() > 0 {
		return false
	}
	for _, n := range box.Lanes {
		if n.queue.Len() > 0 {
			return false
		}
	}
	return true
}

// sendDirect sends a page of a lane, or queues it if the endpoint does not take it. done:
// the system has it, so that the lane does not hold it any more. mu is held, and box is
// idle.
func (box *Outbox) sendDirect(n *Lane, p *page) (done bool) {
	wire.PutHeader(&box.header, n.Number, n.alone(), p.receipt != nil, p.messages)
	done, err := box.ep.SendDirect(p.key, box.header[:], p.vector()...)
	if err != nil { // pump asks the endpoint again, and knows what its errors mean
		n.queue.Push(item{page: p})
		box.pump()
		return false
	}
	box.given(flight{item: item{page: p}, lane: n, key: p.key})
	if done {
		box.taken()
	}
	return done
}

// beatDirect sends a heartbeat, whose cost is counted, if box is idle. It returns false if
// the endpoint does not have it. mu is held.
func (box *Outbox) beatDirect(x *note) bool {
	if box.copies || !box.idle() {
		return false
	}
	done, err := box.ep.SendDirect(noteKey, nil, box.fan.beatData...)
	if err != nil { // as for a page
		return false
	}
	box.given(flight{item: item{note: x}, key: noteKey})
	if done {
		box.taken()
	}
	return true
}
