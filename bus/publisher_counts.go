package bus

import (
	"errors"

	"tagbus/bus/internal/ledger"
	"tagbus/subscription"
)

// A peer's counts are claims. An impossible one ends its connection. A publisher knows
// how many messages it has published of each tag. A subscriber takes no count above
// positions.Max, so that no sum wraps.

// checkStanding returns an error for positions of a subscriber that are not reached
// yet.
//
// Errors: ErrProtocol, wrapped.
func (p *Publisher) checkStanding(list []byte) error {
	for at, err := range subscription.PositionsOf(list) {
		if err != nil {
			return errors.Join(ErrProtocol, err)
		}
		if n := p.fan.Count(at.Tag); at.Count > n {
			return protocolError("the subscriber has tag %v at %d, of %d that were published", at.Tag, at.Count, n)
		}
	}
	return nil
}

// addMissed counts further messages of a tag that a subscriber has missed. In total, no
// more of a tag can be lost than were published and sent again.
//
// Errors: ErrProtocol, wrapped; nothing is counted then.
func (p *Publisher) addMissed(a *ledger.Lane, cause subscription.Cause, missed subscription.Position) error {
	published := p.fan.Count(missed.Tag)
	most := published + p.fan.Replayed()
	known := a.Lost(missed.Tag)
	if missed.Count > most-min(most, known) {
		return protocolError("the subscriber has missed %d messages of tag %v, of which %d were published and %d are known to be lost",
			missed.Count, missed.Tag, published, known)
	}
	a.Add(cause, missed.Tag, missed.Count)
	return nil
}
