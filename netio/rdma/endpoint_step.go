// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package rdma

import (
	"errors"
	"syscall"

	"tagbus/internal/alarm"
	"tagbus/netio/internal/handover"
	"tagbus/netio/rdma/internal/fi"
	"tagbus/netio/reactor"
)

// Work that an endpoint leaves to the end of the turn.
const (
	toRead   = handover.ToRead
	toFlush  = handover.ToFlush
	toAnswer = handover.ToAnswer
	toEnd    = handover.ToEnd

	toConnect = handover.ToOwn
	toRefuse  = handover.ToOwn << 1
	toReport  = handover.ToOwn << 2
	toRepost  = handover.ToOwn << 3
	toSettle  = handover.ToOwn << 4 // sends that ended, and credits
	toOpen    = handover.ToOwn << 5
)

// Work implements handover.Worker.
func (e *endpoint) Work() {
	through := false
	defer e.tidy(&through)
	work := e.TakeWork()
	if work&toEnd != 0 {
		e.end(e.Fault)
	}
	if work&toConnect != 0 {
		e.connect()
	}
	if work&toOpen != 0 {
		e.openResolved()
	}
	if work&toRefuse != 0 {
		e.refuse(e.Fault)
	}
	if work&toReport != 0 {
		e.report()
	}
	if work&toRepost != 0 {
		e.repost()
	}
	if work&toRead != 0 {
		e.deliverHeld()
	}
	if work&toSettle != 0 {
		e.settle()
	}
	if work&toFlush != 0 {
		e.flush()
	}
	if work&toAnswer != 0 && e.state == reported {
		e.Answer()
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
		e.Fail(ErrCallbackPanicked)
	}
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
	if e.hub == nil {
		e.backend.look(e)
	} else {
		defer e.Schedule(toRead) // what has come already
	}
	e.backend.Handler.OnConnectionEstablished(e)
}

// end closes the connection and makes the last callback. cause: as in
// OnConnectionClosed.
func (e *endpoint) end(cause error) {
	before := e.state
	if before == ended || before == parting {
		return
	}
	e.Shut() // headers are not written any more
	if e.hub != nil {
		if before != connecting {
			e.part(before, cause)
			return
		}
		e.takeBack()
	}
	e.finishEnd(before, cause)
}

// finishEnd is the rest of end: nothing reads the memory of the sends any more.
func (e *endpoint) finishEnd(before state, cause error) {
	b := e.backend
	e.state = ended
	e.release(before != connecting)
	keys := e.Cancel(e.finish) // nothing reads the memory of the sends any more
	e.leaveDevice()
	if !e.spoiled || b.SharedPool() != nil {
		e.RetirePool()
	}
	if before != reported || !b.siblings.spread {
		e.Forgotten()
	}
	if before == reported { // else the backend or the listen endpoint closes, and no callback follows
		b.Counters.Closed.Add(1)
		b.Handler.OnConnectionClosed(e, keys, cause)
	}
}

// Forgotten implements spread.Inner.
func (e *endpoint) Forgotten() {
	if e.listener != nil {
		e.backend.siblings.accepted.Add(-1)
	}
}

// leaveDevice ends the use of the device: a stale one closes with its last endpoint.
// Nothing of it may be touched any more, gathered memory either.
func (e *endpoint) leaveDevice() {
	if e.device == nil || e.hub != nil {
		return
	}
	e.device.endpoints--
	e.backend.devices.tidy()
}

// release gives back all that the endpoint holds, except its sends.
func (e *endpoint) release(established bool) {
	b := e.backend
	e.closeConnection(established) // posts what waits: what is refused then sets an alarm
	for _, a := range []*alarm.Alarm{&e.limit, &e.retry} {
		b.Alarms.Cancel(a)
	}
	b.endpoints.Remove(e.place)
	b.load.Add(-1)
	if e.listener != nil && e.listener.backend == b {
		e.listener.releasePools()
	}
	if e.active {
		e.resolution.end()
		b.Undial(e.Remote())
	}
}

// isPipe reports whether sending has failed because the other side has closed.
func isPipe(err error) bool {
	for _, number := range []error{syscall.EPIPE, syscall.ECONNRESET, syscall.ENOTCONN, fi.ECANCELED} {
		if errors.Is(err, number) {
			return true
		}
	}
	return false
}
