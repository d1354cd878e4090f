package handover

import "tagbus/netio"

// answersPerTurn bounds the calls of OnSendReady in a row: a goroutine that
// tries again and again collects millions of refusals.
const answersPerTurn = 64

// maxKeptKeys is for how many keys a backend keeps the memory.
const maxKeptKeys = 1 << 10

// Refused tells that somebody found no buffer or no place in the queue, and was
// not told of one yet: call Answer when there may be.
func (e *Endpoint) Refused() bool { return e.queue.Refused() || e.NoBuffer.Count() > 0 }

// Completed ends a row of completions: the places and buffers that they freed answer
// refusals. It reports whether the endpoint is still open.
func (e *Endpoint) Completed() (open bool) {
	if e.Refused() {
		e.Answer()
	}
	return !e.IsClosed()
}

// Answer answers refusals for want of a place in the queue or of a buffer of its
// own, each only while there is one: a call takes what the call before has left.
// Those of the calls themselves have to wait for the next turn, or a user who
// asks for too much in each would keep the loop.
func (e *Endpoint) Answer() {
	own := e.backend.shared == nil
	noPlace := &e.queue.noPlace
	for n := min(answersPerTurn, noPlace.Count()+e.NoBuffer.Count()); n > 0; n-- {
		buffer := own && e.NoBuffer.Count() > 0 && e.Pool.Free() > 0 && e.NoBuffer.Withdraw()
		place := !buffer && noPlace.Count() > 0 && e.queue.hasPlace() && noPlace.Withdraw()
		if !buffer && !place || e.IsClosed() {
			return // a completion comes back here, or Offer does
		}
		e.backend.Handler.OnSendReady(e.self)
	}
	if noPlace.Count() > 0 || own && e.NoBuffer.Count() > 0 {
		e.Leave(ToOffer)
	}
}

// Offer answers refusals apart from completions: after a refusal, and when a
// buffer has come back.
func (e *Endpoint) Offer() {
	e.Answer()
	s := e.backend.shared
	switch {
	case e.IsClosed() || e.NoBuffer.Count() == 0:
		if s != nil {
			s.welcome(e) // the buffer is another's, or was found without us
		}
	case s != nil:
		e.offerShared(s)
	case e.Pool.AwaitFree():
		e.Leave(ToOffer)
	}
}

// offerShared answers one refusal if it is this endpoint's turn.
func (e *Endpoint) offerShared(s *sharedSend) {
	if s.welcome(e) && e.NoBuffer.Withdraw() {
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
	e.Leave(ToEnd)
}

// OpError says what has failed, and with whom.
func (e *Endpoint) OpError(op string, err error) error {
	return &netio.OpError{Op: op, Addr: e.remote, Err: err}
}

// Cancel finishes all sends and returns their keys, in memory of the backend.
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

// LeavePool gives up the send buffers, some of which a user may still hold.
func (e *Endpoint) LeavePool() {
	switch {
	case e.backend.shared != nil:
		e.backend.shared.forget(e)
	case e.Pool != nil:
		e.Pool.Retire()
	}
}
