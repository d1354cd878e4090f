package bus

import (
	"errors"
	"fmt"

	"tagbus/subscription"
)

// supersede ends an older connection of the same subscriber, not yet known to be dead,
// and then calls f. By then the account of the older one is complete, and the next
// messages of the subscriber refer to it. Until then nothing is read from l. Loop only.
func (p *Publisher) supersede(l *link, f func()) {
	old := p.newest[l.peer.Instance]
	if old == nil {
		p.newest[l.peer.Instance] = l
		f()
		return
	}
	l.pause()
	old.successors = append(old.successors, func() {
		l.resume()
		if !l.ends() && !l.out.ended() && !p.chores.Ended() {
			p.supersede(l, f)
		}
	})
	if old.unrouting {
		return
	}
	p.unroute(old, func() {})
	old.state = linkLeaving
	if old.fault == nil {
		old.fault = errSuperseded
	}
	_ = old.ep.Close()
}

var errSuperseded = errors.New("bus: the subscriber has connected again")

// onMissed handles a count of the subscriber that is higher than that of this side.
func (p *Publisher) onMissed(l *link, m *subscription.Missed) {
	n := l.out.lane(m.Lane)
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
