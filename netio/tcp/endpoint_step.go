// SPDX-License-Identifier: Apache-2.0

package tcp

import (
	"golang.org/x/sys/unix"

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
	toSecure  = handover.ToOwn << 2 // to look at the first bytes
	toSecured = handover.ToOwn << 3 // the handshake has ended
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
	if work&(toSecure|toSecured) != 0 {
		e.workSecure(work)
	}
	if work&toReport != 0 {
		e.report()
	}
	if work&toRead != 0 {
		e.receive()
	}
	if work&toFlush != 0 {
		e.flush()
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
	if e.state == connecting {
		e.proceed()
	}
	if e.state == securing {
		e.secureEvent(events)
		through = true
		return
	}
	// Events can come before the end of the turn in which the endpoint was
	// accepted.
	e.report()
	if events.Has(reactor.PeerClosed | reactor.Failed | reactor.Hangup) {
		e.peerClosed = true
	}
	if events.Has(reactor.Writable) && e.blocked && e.sendErr == nil {
		e.blocked = false
		if e.backend.moved >= turnBytes {
			e.Schedule(toFlush)
		} else {
			e.flush()
		}
	}
	switch {
	case events&^reactor.Writable == 0:
	case e.backend.moved >= turnBytes || e.backend.late(): // by others, and their events come in one batch
		e.fallBehind()
	default:
		e.receive()
	}
	if events.Has(reactor.Failed) {
		e.failUnread()
	}
	through = true
}

// tidy ends each step of an endpoint, also one that panicked: then the
// endpoint closes, as a handler that has missed a message must not get the
// next.
func (e *endpoint) tidy(through *bool) {
	if !*through {
		e.delivering = false
		e.Fail(ErrCallbackPanicked)
	}
	e.countReceived() // what a pause has left
	if e.receiver.lent {
		e.settle()
	} else if e.receiver.buf != nil && e.state != ended {
		if err := e.receiver.park(); err != nil {
			e.Fail(err)
		}
	}
}

// report makes the first callback.
func (e *endpoint) report() {
	if e.state != established {
		return
	}
	e.state = reported
	e.queue.openDirect(e.fd)
	e.backend.Handler.OnConnectionEstablished(e)
}

// end closes the socket and makes the last callback. cause: as in
// OnConnectionClosed.
func (e *endpoint) end(cause error) {
	before := e.state
	if before == ended {
		return
	}
	e.Shut()
	b := e.backend
	keys := e.Cancel(e.finish)
	e.queue.release()
	e.state = ended
	e.release()
	if before != reported || !b.siblings.spread {
		e.Forgotten()
	}
	if before <= securing {
		return // the backend or the listen endpoint closes: no callback follows
	}
	b.Counters.Closed.Add(1)
	if before == reported {
		b.Handler.OnConnectionClosed(e, keys, cause)
	}
}

// Forgotten implements spread.Inner.
func (e *endpoint) Forgotten() {
	if e.listener != nil {
		e.backend.siblings.accepted.Add(-1)
	}
}

// release gives back all that the endpoint holds.
func (e *endpoint) release() {
	b := e.backend
	if e.registration != nil {
		_ = e.registration.Close() // fails only if the descriptor is not ours
	}
	inOrder := e.secure == nil || e.releaseSecure()
	if !inOrder || e.blocked || e.queue.offset > 0 {
		// The peer does not read, or not as fast as we send. It would hear of
		// the end only behind all that the system still holds for it.
		abort(e.fd)
	} else {
		discard(e.fd)
	}
	_ = unix.Close(e.fd) // releases it, whatever it says
	e.fd = -1
	e.catchUp()
	e.leaveReceivePool()
	b.Alarms.Cancel(&e.retry)
	e.RetirePool()
	b.endpoints.Remove(e.place)
	b.load.Add(-1)
	if e.dial != nil {
		b.Alarms.Cancel(&e.dial.timeout)
		b.Undial(e.Remote())
	}
}
