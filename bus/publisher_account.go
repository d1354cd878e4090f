package bus

import (
	"errors"
	"fmt"

	"tagbus/subscription"
)

// superseding returns the job that ends an older connection of the same
// subscriber, which has not been noticed yet to be dead, and then calls f. From
// there on nothing is counted for the older one.
func (p *Publisher) superseding(l *link, f func()) chore {
	return func(int) (steps int, done bool) {
		p.mu.Lock()
		old := p.accounts.connected(l.peer.Instance)
		p.mu.Unlock()
		if old == nil || old.unrouted {
			f()
			return 1, true
		}
		if !old.unrouting {
			p.unroute(old, func() {})
			old.state = linkLeaving
			if old.fault == nil {
				old.fault = errSuperseded
			}
			_ = old.ep.Close()
		}
		return 1, false // its jobs have turns, too
	}
}

var errSuperseded = errors.New("bus: the subscriber has connected again")

// onMissed hears what the subscriber has counted more than this side.
func (p *Publisher) onMissed(l *link, m *subscription.Missed) {
	n := l.lane(m.Lane)
	if n == nil {
		l.fail(fmt.Errorf("%w: missed messages in lane %d, which has no subscription", ErrProtocol, m.Lane))
		return
	}
	for missed, err := range subscription.PositionsOf(m.List) {
		if err != nil {
			l.fail(errors.Join(ErrProtocol, err))
			return
		}
		if err := p.addMissed(n.account, m.Cause, missed); err != nil {
			l.fail(err)
			return
		}
	}
}
