// SPDX-License-Identifier: Apache-2.0

package spread

import (
	"time"

	"tagbus/internal/invariants"
	"tagbus/netio"
)

// turnEvents is how many events are handed over before other callbacks of the loop have
// their turn: about 8 MiB in pages. After turnTime no further one is begun, because a
// handler may take long for a page of small messages.
const (
	turnEvents = 64
	turnTime   = 5 * time.Millisecond
)

// eventsRetained is how many events a queue keeps its memory for: 300 KB.
const eventsRetained = 1 << 12

// deliver hands the workers' events to the handler. Threads: the loop of the callbacks,
// or Close on its behalf.
func (b *Backend) deliver() {
	left, began := turnEvents, time.Now()
	if b.run(func() bool { left--; return left >= 0 && time.Since(began) < turnTime || left == turnEvents-1 }) {
		b.deliverMore()
	}
}

// run hands over events while may returns true. It reports whether there may be more.
func (b *Backend) run(may func() bool) (more bool) {
	b.turn.Lock()
	defer b.turn.Unlock()
	through := false
	defer func() {
		if !through {
			b.panicked()
		}
	}()
	more = true
	for more && may() {
		more = b.next()
	}
	through = true
	return more
}

// next hands over one event. It returns false if there is none; then the next event
// that is pushed posts deliver.
func (b *Backend) next() bool {
	if b.at == len(b.batch) {
		if cap(b.batch) > eventsRetained {
			b.batch = nil
		}
		b.batch, b.at = b.queue.swap(b.batch[:0]), 0
		if len(b.batch) == 0 {
			return false
		}
	}
	b.current = b.batch[b.at]
	b.batch[b.at] = event{} // not kept alive until the memory is used again
	b.at++
	b.tell(&b.current)
	b.current = event{}
	return true
}

// deliverMore schedules deliver for another turn.
func (b *Backend) deliverMore() { b.main.Post(b.deliverFunc) } // false if the loop has ended: Close delivers the rest

// panicked ends the endpoint whose callback was interrupted: a handler that has
// missed a message must not get the next.
func (b *Backend) panicked() {
	b.delivered()
	if e := b.current.endpoint; e != nil && !e.ended && !e.shut.Load() {
		e.fault = &netio.OpError{Op: "receive", Addr: e.Remote(), Err: b.panicCause}
		_ = e.Close()
	}
	if b.current.kind == finished {
		b.push(b.current) // there may be others to end
	}
	b.deliverMore()
}

// tell hands one event to the handler, or keeps it for later.
func (b *Backend) tell(e *event) {
	ep := e.endpoint
	switch e.kind {
	case established:
		b.establish(ep)
	case refused:
		b.undial(e.end.addr)
		if b.closing.Load() {
			b.untold.refused.Add(1)
		} else {
			b.handler.OnConnectionRefused(e.end.addr, e.end.err)
		}
	case received:
		b.receive(ep, e)
	case completed:
		if ep.silent() {
			ep.late = append(ep.late, e.key)
		} else {
			b.handler.OnSendCompleted(netio.Completion{Endpoint: ep, Key: e.key})
		}
	case ready:
		if !ep.silent() {
			b.handler.OnSendReady(ep)
		}
	case resumed:
		b.release(ep)
	case closed:
		if ep.inOrder(e.end.err) {
			ep.held = append(ep.held, *e)
		} else {
			b.end(ep, e.end)
		}
	case finished:
		b.finish()
	}
}

// establish hands a connection over.
func (b *Backend) establish(ep *endpoint) {
	switch {
	case !ep.silent():
		ep.reported = true
		b.endpoints[ep] = struct{}{}
		b.handler.OnConnectionEstablished(ep)
	case ep.dialed != nil:
		b.untold.opened.Add(1)
	}
}

// receive hands a message over, unless it has to wait.
func (b *Backend) receive(ep *endpoint, e *event) {
	if !ep.silent() && (len(ep.held) > 0 || ep.waits()) {
		ep.held = append(ep.held, e.slim())
		return
	}
	b.hand(ep, e)
}

// hand hands a message over, or drops it if the endpoint is closed.
func (b *Backend) hand(ep *endpoint, e *event) {
	b.delivering, b.kept, b.cost, b.retained = ep, e.kept, cost(e.data), false
	if !ep.silent() {
		b.messages.Add(1) // first: a handler that reads Stats finds its message counted
		b.bytes.Add(uint64(len(e.data)))
		b.handler.OnData(ep, e.data)
	}
	if invariants.Enabled && !b.retained {
		invariants.Poison(e.data)
	}
	b.delivered()
}

// delivered gives the memory of the message back, if there is one.
func (b *Backend) delivered() {
	ep, kept := b.delivering, b.kept
	if ep == nil {
		return
	}
	b.delivering, b.kept = nil, nil
	if kept != nil {
		kept.Release()
	}
	ep.catchUp(b.cost)
}

// release continues with the events that a pause has held back.
func (b *Backend) release(ep *endpoint) {
	for len(ep.held) > 0 && !ep.ended && (ep.silent() || !ep.waits()) {
		e := ep.held[0]
		ep.held[0] = event{}
		if ep.held = ep.held[1:]; len(ep.held) == 0 {
			ep.held = nil
		}
		if e.kind == closed {
			b.end(ep, e.end)
			return
		}
		b.hand(ep, &e)
	}
}

// finish makes the last callbacks of all.
func (b *Backend) finish() {
	for ep := range b.endpoints { // whose end was held back
		ep.shut.Store(true)
		b.release(ep)
	}
	b.ended = true
	close(b.done)
}

// end makes the last callback of an endpoint.
func (b *Backend) end(ep *endpoint, end *ending) {
	if ep.ended {
		return
	}
	ep.ended = true
	cause := ep.cause(end.err)
	ep.shut.Store(true)
	for i := range ep.held {
		if kept := ep.held[i].kept; kept != nil {
			kept.Release()
		}
	}
	ep.held = nil
	delete(b.endpoints, ep)
	ep.worker.load.Add(-1)
	ep.Forgotten()
	if ep.dialed != nil {
		b.undial(ep.dialed.addr)
		if !ep.reported {
			b.untold.closed.Add(1)
		}
	}
	if ep.reported {
		b.handler.OnConnectionClosed(ep, append(ep.late, end.keys...), cause)
	}
}
