package bus

import (
	"errors"
	"fmt"

	"tagbus/subscription"
)

// supersede ends an older connection of the same subscriber, which has not
// been noticed yet to be dead. From here on nothing is counted for it.
func (p *Publisher) supersede(l *link) {
	p.mu.Lock()
	old := p.accounts.connected(l.peer.Instance)
	p.mu.Unlock()
	if old == nil {
		return
	}
	p.unroute(old)
	old.state = linkLeaving
	if old.fault == nil {
		old.fault = errSuperseded
	}
	_ = old.ep.Close()
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
