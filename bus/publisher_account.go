package bus

import (
	"errors"
	"fmt"

	"tagbus/subscription"
)

// supersede ends an older connection of the same subscriber, not yet known to be dead,
// and then calls f. By then the account of the older one is complete, and the next
// messages of the subscriber refer to it. Until then nothing is read from l. Of several
// connections only the newest waits. Loop only.
func (p *Publisher) supersede(l *link, f func()) {
	old := p.newest[l.peer.Instance]
	p.newest[l.peer.Instance] = l
	if old == nil {
		f()
		return
	}
	p.endSuperseded(old)
	if old.predecessor != nil { // it waits itself, and has no account
		old = old.predecessor
	}
	l.pause()
	l.predecessor = old
	old.successor = func() {
		l.predecessor = nil
		l.resume()
		if !l.ends() && !l.out.Ended() && !p.chores.Ended() {
			f()
		}
	}
}

// endSuperseded ends a connection in whose place there is a newer one.
func (p *Publisher) endSuperseded(l *link) {
	if l.unrouting {
		return
	}
	p.unroute(l, func() {})
	l.state = linkLeaving
	if l.fault == nil {
		l.fault = errSuperseded
	}
	_ = l.ep.Close()
}

// succeed lets the connection go on that waits until this one is forgotten.
func (p *Publisher) succeed(l *link) {
	if p.newest[l.peer.Instance] == l {
		delete(p.newest, l.peer.Instance)
		if l.predecessor != nil { // the next connection has to wait for it, too
			p.newest[l.peer.Instance] = l.predecessor
		}
	}
	if l.successor != nil {
		l.successor()
	}
}

var errSuperseded = errors.New("bus: the subscriber has connected again")

// onMissed handles a count of the subscriber that is higher than that of this side.
func (p *Publisher) onMissed(l *link, m *subscription.Missed) {
	n := l.out.Lane(m.Lane)
	if n == nil {
		l.fail(fmt.Errorf("%w: missed messages in lane %d, which has no subscription", ErrProtocol, m.Lane))
		return
	}
	for missed, err := range subscription.PositionsOf(m.List) {
		if err != nil {
			l.fail(errors.Join(ErrProtocol, err))
			return
		}
		if err := p.addMissed(n.Account, m.Cause, missed); err != nil {
			l.fail(err)
			return
		}
	}
}
