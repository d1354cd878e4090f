//go:build libfabric && cgo

package rdma

import (
	"errors"
	"syscall"

	"tagbus/netio"
	"tagbus/netio/internal/handover"
	"tagbus/netio/rdma/internal/fi"
	"tagbus/netio/reactor"
)

// Work that an endpoint leaves to the end of the turn, bits of endpoint.todo.
const (
	toConnect uint32 = 1 << iota
	toRefuse
	toReport
	toRead
	toRepost
	toFlush
	toOffer // buffers
	toEnd
)

// Work implements handover.Worker.
func (e *endpoint) Work() {
	through := false
	defer e.tidy(&through)
	todo := e.todo.Swap(0)
	if todo&toEnd != 0 {
		e.end(e.fault)
	}
	if todo&toConnect != 0 {
		e.connect()
	}
	if todo&toRefuse != 0 {
		e.refuse(e.fault)
	}
	if todo&toReport != 0 {
		e.report()
	}
	if todo&toRepost != 0 {
		e.repost()
	}
	if todo&toRead != 0 {
		e.deliverHeld()
	}
	if todo&toFlush != 0 {
		e.flush()
	}
	if todo&toOffer != 0 {
		e.offer()
	}
	through = true
}

// OnEvent implements reactor.Source: the queue is to be read.
func (e *endpoint) OnEvent(reactor.Events) {
	e.backend.Turn.Lock()
	defer e.backend.Turn.Unlock()
	e.backend.look(e)
}

// tidy ends each step of an endpoint, also one that panicked: then the
// endpoint closes, as a handler that has missed a message must not get the
// next.
func (e *endpoint) tidy(through *bool) {
	if !*through {
		e.fail(ErrCallbackPanicked)
	}
}

// fail ends the endpoint after this step.
func (e *endpoint) fail(err error) {
	if e.hold.Or(closed)&closed == 0 {
		e.fault = e.opError("receive", err)
		e.queue.close()
	}
	e.leave(toEnd)
}

// report makes the first callback.
func (e *endpoint) report() {
	if e.state != established {
		return
	}
	e.state = reported
	if e.active {
		e.backend.Counters.Opened.Add(1)
	} else {
		e.backend.Counters.Accepted.Add(1)
	}
	e.backend.look(e)
	e.backend.Handler.OnConnectionEstablished(e)
}

// end closes the connection and makes the last callback. cause: as in
// OnConnectionClosed.
func (e *endpoint) end(cause error) {
	before := e.state
	if before == ended {
		return
	}
	e.hold.Or(closed)
	e.queue.close() // nobody may write a header any more
	b := e.backend
	e.state = ended
	e.release(before != connecting)
	keys := e.cancel()
	if before == reported { // else the backend or the listen endpoint closes, and nobody hears of it
		b.Counters.Closed.Add(1)
		b.Handler.OnConnectionClosed(e, keys, cause)
	}
}

// cancel empties the queue and returns the keys. Nothing reads the memory of the
// sends any more.
func (e *endpoint) cancel() []netio.Key {
	b := e.backend
	keys := b.keys[:0]
	tail := e.queue.close()
	for i := e.queue.head.Load(); i != tail; i++ {
		keys = append(keys, e.finish(i))
	}
	e.leavePool()
	b.keys = keys
	if cap(keys) > maxKeptKeys {
		b.keys = nil
	}
	return keys
}

const maxKeptKeys = 1 << 10

// release gives back all that the endpoint holds, but for its sends.
func (e *endpoint) release(established bool) {
	b := e.backend
	for _, a := range []*handover.Alarm{&e.rest, &e.limit, &e.retry} {
		b.Alarms.Cancel(a)
	}
	e.closeConnection(established)
	b.endpoints.Remove(e.place)
	if e.listener != nil {
		b.accepted--
		e.listener.left()
	}
	if e.active {
		b.Mu.Lock()
		delete(b.active, canonical(e.remote))
		b.Mu.Unlock()
	}
}

// leavePool gives up the send buffers, some of which a user may still hold.
func (e *endpoint) leavePool() {
	switch {
	case e.backend.shared != nil:
		e.backend.shared.forget(e)
	case e.pool != nil:
		e.pool.Retire()
	}
}

// isPipe tells that sending has failed because the other side has closed.
func isPipe(err error) bool {
	for _, number := range []error{syscall.EPIPE, syscall.ECONNRESET, syscall.ENOTCONN, fi.ECANCELED} {
		if errors.Is(err, number) {
			return true
		}
	}
	return false
}
