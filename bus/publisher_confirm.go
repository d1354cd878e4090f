package bus

import (
	"errors"
	"io"

	"tagbus/bus/internal/positions"
	"tagbus/subscription"
	"tagbus/tags"
)

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
		if err := n.Say(m.Messages); err != nil {
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
	if n := l.pub.fan.CountOf(tag); m.Position > n {
		l.fail(protocolError("the receiver acknowledges message %d of tag %v, of %d that were sent", m.Position, tag, n))
		return
	}
	l.out.Acked(tag, m.Position, m.Failed)
}
