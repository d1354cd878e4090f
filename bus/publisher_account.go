package bus

import (
	"errors"
	"fmt"
	"io"

	"tagbus/bus/internal/positions"
	"tagbus/subscription"
	"tagbus/tags"
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
		if !l.ends() && !l.out.Dead() && !p.chores.Ended() {
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

// A publisher does not know what of the data given to the transport has arrived. The
// subscriber reports from time to time how much it has received. When a connection
// ends, the rest is unconfirmed until the subscriber comes back and reports it.

// onReceived notes how many messages of a lane the subscriber has received. Loop only.
func (p *Publisher) onReceived(l *link, m *subscription.Received) {
	n := l.out.Lane(m.Lane)
	switch {
	case n == nil:
		l.fail(protocolError("received messages in lane %d, which has no subscription", m.Lane))
	case m.Messages > positions.Max:
		l.fail(protocolError("received %d messages in lane %d, limit %d", m.Messages, m.Lane, uint64(positions.Max)))
	default:
		if err := n.Confirm(m.Messages); err != nil {
			l.fail(protocolError("%v", err))
		}
	}
}

// onGoodbye handles a subscriber that leaves in order. Loop only.
func (p *Publisher) onGoodbye(l *link, m *subscription.Goodbye) {
	if len(m.List) > 0 {
		l.fail(protocolError("a goodbye of a subscriber has no list"))
		return
	}
	l.parted, l.state = true, linkLeaving
	_ = l.ep.Close()
}

// endCause returns why a connection has ended, or nil if the subscriber said goodbye or
// this side is closed.
//
//   - cause: that of the transport.
func (l *link) endCause(cause error) error {
	switch {
	case l.fault != nil:
		return l.fault
	case l.parted:
		return nil // what comes after a goodbye does not matter
	case errors.Is(cause, io.EOF):
		return ErrNoGoodbye
	}
	return cause
}

// acked settles the receipts that an Ack answers. An Ack for which no caller waits any
// more is ignored. Loop only.
func (l *link) acked(m *subscription.Ack) {
	if !l.dialed {
		l.fail(protocolError("nobody has asked for an acknowledgement"))
		return
	}
	tag := tags.Tag(m.Tag)
	if n := l.pub.fan.Count(tag); m.Position > n {
		l.fail(protocolError("the receiver acknowledges message %d of tag %v, of %d that were sent", m.Position, tag, n))
		return
	}
	l.out.Acked(tag, m.Position, m.Failed)
}
