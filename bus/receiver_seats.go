package bus

import (
	"fmt"

	"tagbus/bus/internal/seats"
	"tagbus/netio"
)

// greet notes a new connection. If there are too many peers without hello, or with an
// unread refusal, the oldest one gives way.
func (r *Receiver) greet(g *guest) {
	most := max(minGuests, r.cfg.MaxSenders)
	oldest, gaveWay := r.guests.Greet(g, most)
	if !gaveWay {
		return
	}
	oldest.deadline.Met()
	if oldest.leaving {
		_ = oldest.ep.Close() // the reason was sent to it, and it did not read that
		return
	}
	r.drop(oldest, fmt.Errorf("%w: %d have not said hello", ErrGaveWay, most))
}

// makeRoom takes a place for a sender. One that has sent nothing may give way.
//
// Errors: ErrTooManySenders, wrapped.
func (r *Receiver) makeRoom(ep netio.Endpoint) error {
	limits := seats.Limits{All: r.cfg.MaxSenders, Host: r.cfg.MaxSendersPerHost}
	way, gaveWay, full := r.seats.Take(ep, ep.Remote().Addr().Unmap(), limits, func(ep netio.Endpoint) bool {
		src := ep.Context().(*source)
		return src.fault == nil && !src.spoken
	})
	if full != nil {
		return tooMany(ErrTooManySenders, full, "ReceiverConfig.MaxSenders")
	}
	if gaveWay {
		way.Context().(*source).fail(ErrGaveWay)
	}
	return nil
}
