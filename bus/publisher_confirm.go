package bus

import (
	"errors"
	"io"

	"tagbus/bus/internal/positions"
	"tagbus/subscription"
)

// A publisher does not know what of the data given to the transport has arrived. The
// subscriber reports from time to time how much it has received. When a connection
// ends, the rest is unconfirmed until the subscriber comes back and reports it.

// said is how many messages the subscriber of a lane has received on all connections,
// as it said on this one. Loop only.
type said struct {
	before uint64 // on earlier connections
	all    uint64
	begun  bool // it has said something
}

// here returns the number of messages received on this connection.
func (s *said) here() uint64 { return s.all - s.before }

// onReceived notes how many messages of a lane the subscriber has received. Loop only.
func (p *Publisher) onReceived(l *link, m *subscription.Received) {
	n := l.out.lane(m.Lane)
	switch {
	case n == nil:
		l.fail(protocolError("received messages in lane %d, which has no subscription", m.Lane))
	case m.Messages > positions.Max:
		l.fail(protocolError("received %d messages in lane %d, limit %d", m.Messages, m.Lane, uint64(positions.Max)))
	case !n.said.begun:
		n.said = said{m.Messages, m.Messages, true}
		n.account.Settle(m.Messages)
	case m.Messages < n.said.all || m.Messages-n.said.before > n.given():
		l.fail(protocolError("received %d messages in lane %d after %d, of %d that were sent since %d",
			m.Messages, m.Lane, n.said.all, n.given(), n.said.before))
	default:
		n.said.all = m.Messages
	}
}

// given returns how many messages were given to the transport on this connection.
// Loop only.
func (n *lane) given() uint64 {
	n.out.mu.Lock()
	defer n.out.mu.Unlock()
	return n.givenMessages
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
