// SPDX-License-Identifier: Apache-2.0

package handover

import "tagbus/netio"

// answersPerTurn bounds the calls of OnSendReady in a row: a goroutine that retries in
// a loop collects millions of refusals.
const answersPerTurn = 64

// maxKeptKeys is the number of keys for which a backend keeps the memory.
const maxKeptKeys = 1 << 10

// HasRefusals reports whether a call found no buffer, or no place in the queue, and
// OnSendReady has not answered it yet.
func (e *Endpoint) HasRefusals() bool { return e.queue.HasRefusals() || e.NoBuffer.Count() > 0 }

// Completed follows a row of completions: it answers refusals with the places and
// buffers that the completions freed. It reports whether the endpoint is still open.
func (e *Endpoint) Completed() (open bool) {
	if e.HasRefusals() {
		e.answerRefusals()
	}
	return !e.IsClosed()
}

// answerRefusals calls OnSendReady for refusals for want of a place in the queue, or of
// a buffer of the endpoint's own. Each call of it may use up what is free, so this is
// checked before each. Refusals that arise in these calls wait for the next turn:
// otherwise a handler that asks for too much each time would occupy the loop.
func (e *Endpoint) answerRefusals() {
	own := e.backend.shared == nil
	noPlace := &e.queue.noPlace
	for n := min(answersPerTurn, noPlace.Count()+e.NoBuffer.Count()); n > 0; n-- {
		buffer := own && e.NoBuffer.Count() > 0 && e.Pool.Free() > 0 && e.NoBuffer.Withdraw()
		place := !buffer && noPlace.Count() > 0 && e.queue.hasPlace() && noPlace.Withdraw()
		if !buffer && !place || e.IsClosed() {
			return // until the next completion, or Answer
		}
		e.backend.Handler.OnSendReady(e.self)
	}
	if noPlace.Count() > 0 || own && e.NoBuffer.Count() > 0 {
		e.Schedule(ToAnswer)
	}
}

// Answer answers refusals outside completions: after a refusal, and when a buffer has
// come back.
func (e *Endpoint) Answer() {
	e.answerRefusals()
	s := e.backend.shared
	switch {
	case e.IsClosed() || e.NoBuffer.Count() == 0:
		if s != nil {
			s.endInvitation(e) // another endpoint has taken the buffer, or this one found it by itself
		}
	case s != nil:
		e.answerShared(s)
	case e.Pool.AwaitFree():
		e.Schedule(ToAnswer)
	}
}

// answerShared answers one refusal if it is the turn of e to take a shared buffer.
func (e *Endpoint) answerShared(s *sharedSend) {
	if s.endInvitation(e) && e.NoBuffer.Withdraw() {
		e.backend.Handler.OnSendReady(e.self)
	}
	if e.NoBuffer.Count() > 0 && !e.IsClosed() {
		s.wait(e)
	}
}

// Fail ends the endpoint after this step.
func (e *Endpoint) Fail(err error) {
	if e.Shut() {
		e.Fault = e.OpError("receive", err)
	}
	e.Schedule(ToEnd)
}

// OpError returns err with the operation and the peer.
func (e *Endpoint) OpError(op string, err error) error {
	return &netio.OpError{Op: op, Addr: e.remote, Err: err}
}

// Cancel finishes all sends and returns their keys, in memory that the backend reuses.
func (e *Endpoint) Cancel(finish func(i uint64) netio.Key) []netio.Key {
	b := e.backend
	keys := b.keys[:0]
	tail := e.queue.Close()
	for i := e.queue.Head.Load(); i != tail; i++ {
		keys = append(keys, finish(i))
	}
	b.keys = keys
	if cap(keys) > maxKeptKeys {
		b.keys = nil
	}
	return keys
}

// RetirePool gives up the send buffers. A user may still hold some of them.
func (e *Endpoint) RetirePool() {
	switch {
	case e.backend.shared != nil:
		e.backend.shared.forget(e)
	case e.Pool != nil:
		e.Pool.Retire()
	}
}
