//go:build libfabric && cgo

package rdma

// answersPerTurn bounds the calls of OnSendReady in a row: a goroutine that
// tries again and again collects millions of refusals.
const answersPerTurn = 64

// answer answers refusals for want of a place in the queue or of a buffer of its
// own, each only while there is one: a call takes what the call before has left.
// Those of the calls themselves have to wait for the next turn, or a user who
// asks for too much in each would keep the loop.
func (e *endpoint) answer() {
	own := e.backend.shared == nil
	for n := min(answersPerTurn, e.queue.noPlace.Count()+e.noBuffer.Count()); n > 0; n-- {
		buffer := own && e.noBuffer.Count() > 0 && e.pool.Free() > 0 && e.noBuffer.Withdraw()
		place := !buffer && e.queue.noPlace.Count() > 0 && e.queue.hasPlace() && e.queue.noPlace.Withdraw()
		if !buffer && !place || e.hold.Load()&closed != 0 {
			return // a completion comes back here, or offer does
		}
		e.backend.Handler.OnSendReady(e)
	}
	if e.queue.noPlace.Count() > 0 || own && e.noBuffer.Count() > 0 {
		e.leave(toOffer)
	}
}

// offer answers refusals apart from completions: after a refusal, and when a
// buffer has come back.
func (e *endpoint) offer() {
	if e.state != reported {
		return
	}
	e.answer()
	if e.hold.Load()&closed != 0 || e.noBuffer.Count() == 0 {
		if s := e.backend.shared; s != nil {
			s.welcome(e) // the buffer is another's, or was found without us
		}
		return
	}
	if s := e.backend.shared; s != nil {
		e.offerShared(s)
	} else if e.pool.AwaitFree() {
		e.leave(toOffer)
	}
}

// offerShared answers one refusal if it is this endpoint's turn.
func (e *endpoint) offerShared(s *sharedSend) {
	if s.welcome(e) && e.noBuffer.Withdraw() {
		e.backend.Handler.OnSendReady(e)
	}
	if e.noBuffer.Count() > 0 && e.hold.Load()&closed == 0 {
		s.wait(e)
	}
}
