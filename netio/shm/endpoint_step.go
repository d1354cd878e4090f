// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shm

import (
	"fmt"

	"tagbus/netio/internal/handover"
	"tagbus/netio/reactor"
)

// Work that an endpoint leaves to the end of the turn.
const (
	toRead   = handover.ToRead
	toFlush  = handover.ToFlush
	toAnswer = handover.ToAnswer
	toEnd    = handover.ToEnd

	toConnect = handover.ToOwn
	toReport  = handover.ToOwn << 1
	toDrain   = handover.ToOwn << 2 // more of what wakes this side
	toCommit  = handover.ToOwn << 3
	toSecured = handover.ToOwn << 4
)

// Work implements handover.Worker.
func (e *endpoint) Work() {
	through := false
	defer e.tidy(&through)
	work := e.TakeWork()
	if work&toEnd != 0 {
		e.end(e.Fault)
	}
	if work&toConnect != 0 && e.state == connecting {
		e.connect()
	}
	if work&toSecured != 0 {
		e.secured()
	}
	if work&toCommit != 0 && e.state == connecting {
		e.lend()
	}
	if work&toReport != 0 {
		e.report()
	}
	if work&toDrain != 0 {
		e.woken()
	}
	if work&(toRead|toReport) != 0 {
		e.receive()
	}
	if work&toFlush != 0 {
		e.settle()
	}
	if work&toAnswer != 0 && e.state == reported {
		e.Answer()
	}
	through = true
}

// OnEvent implements reactor.Source.
func (e *endpoint) OnEvent(events reactor.Events) {
	e.backend.Turn.Lock()
	defer e.backend.Turn.Unlock()
	through := false
	defer e.tidy(&through)
	if e.state <= greeted && e.isSecuring() {
		e.secureEvent(events)
		through = true
		return
	}
	switch e.state {
	case connecting:
		e.answered()
	case greeted:
		e.greet()
	default:
	}
	// Events can come before the end of the turn in which the endpoint was
	// accepted.
	e.report()
	if events.Has(reactor.PeerClosed | reactor.Failed | reactor.Hangup) {
		e.hungUp = true
	}
	e.woken()
	through = true
}

// woken looks for all that the other side may have to say.
func (e *endpoint) woken() {
	if e.state != reported && e.state != parting {
		return
	}
	all, files := drain(e.fd, &e.backend.control)
	if files {
		e.Fail(fmt.Errorf("%w: it passes files that nothing asks for", ErrProtocol))
		return
	}
	if !all {
		e.Schedule(toDrain)
	}
	if e.state == parting {
		e.parted()
		return
	}
	e.settle()
	e.receive()
}

// tidy ends each step of an endpoint, also one that panicked: then the
// endpoint closes, as a handler that has missed a message must not get the
// next.
func (e *endpoint) tidy(through *bool) {
	if !*through {
		e.delivering = nil
		e.Fail(ErrCallbackPanicked)
	}
	e.countReceived()
}

// report makes the first callback.
func (e *endpoint) report() {
	if e.state != established {
		return
	}
	e.state = reported
	e.backend.Handler.OnConnectionEstablished(e)
}

// end closes the connection and makes the last callback, at once unless the other side
// looks at memory that it was lent. cause: as in OnConnectionClosed.
func (e *endpoint) end(cause error) {
	if e.state >= parting {
		return
	}
	e.Shut()
	if e.state == reported && !e.hungUp {
		e.leave()
		if e.queue.lends() {
			e.state, e.cause = parting, cause
			e.limit.F = func() { e.endNow(e.cause) }
			e.backend.Alarms.Set(&e.limit, e.backend.config.part)
			return
		}
	}
	e.endNow(cause)
}

// leave tells the other side that the connection ends in order. The queue is closed.
func (e *endpoint) leave() {
	e.queue.finish()
	set(&pageOf(e.own).stopped, 1)
	wake(e.fd)
}

// parted ends an endpoint that is parting when its peer has turned away.
func (e *endpoint) parted() {
	if e.hungUp || !e.queue.lends() {
		e.endNow(e.cause)
	}
}

// endNow is the rest of end.
func (e *endpoint) endNow(cause error) {
	before := e.state
	if before == ended {
		return
	}
	e.Shut()
	b := e.backend
	e.state = ended
	e.release()
	keys := e.Cancel(e.finish)
	if before <= greeted {
		return // the backend or the listen endpoint closes: no callback follows
	}
	b.Counters.Closed.Add(1)
	if before != established {
		b.Handler.OnConnectionClosed(e, keys, cause)
	}
}

// release gives back all that the endpoint holds.
func (e *endpoint) release() {
	b := e.backend
	if e.registration != nil {
		_ = e.registration.Close() // fails only if the descriptor is not ours
	}
	if e.secure != nil {
		e.secure.shut()
	}
	e.queue.release() // from here on no sender writes the segment, or to the socket
	closeSocket(e.fd)
	e.fd = -1
	b.unwatch(e)
	e.reader = reader{}
	unmap(&e.own)
	unmap(&e.peer)
	unmap(&e.peerRegion)
	e.dropPart()
	b.Alarms.Cancel(&e.limit)
	b.Alarms.Cancel(&e.retry)
	e.RetirePool()
	if e.place != nil {
		b.endpoints.Remove(e.place)
	}
	b.strangers.remove(e)
	if e.waiting != nil {
		e.listener.commitment.waiting.Remove(e.waiting)
		e.waiting = nil
	}
	if e.listener != nil {
		b.accepted--
		delete(b.ports, e.Remote().Port())
	}
	if e.dial != nil {
		b.Alarms.Cancel(&e.dial.retry)
		e.dial.lent.close()
		b.Undial(e.Remote())
	}
}
