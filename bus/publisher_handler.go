// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"tagbus/bus/internal/events"
	"tagbus/bus/internal/fanout"
	"tagbus/bus/internal/group"
	"tagbus/bus/internal/reception"
	"tagbus/internal/sanitize"
	"tagbus/netio"
	"tagbus/subscription"
)

// publisherHandler is a Publisher as its backend sees it. Every method runs on
// the loop.
type publisherHandler struct{ *publisherImpl }

// OnConnectionEstablished implements netio.Handler.
func (p publisherHandler) OnConnectionEstablished(ep netio.Endpoint) {
	p.users.Add(1)
	p.desk.Greet(ep)
}

// newLink returns the link of a connection, which take then takes over.
func (p *publisherImpl) newLink(ep netio.Endpoint) *link {
	l := &link{pub: p, ep: ep, since: time.Now(), peer: &Peer{Addr: ep.Remote()}}
	l.grace.F = l.overdue
	l.tasks.Turns, l.tasks.Peer = &p.turns, l
	l.events = events.Conn{Pause: l.reading.Pause, Resume: l.reading.Resume}
	l.out.Init(&p.fan, ep, l.onFault)
	return l
}

// take takes over the connection of a link.
func (p *publisherImpl) take(l *link) {
	l.reading.Begin(l.ep, &l.pulse)
	l.ep.SetContext(l)
	p.connections[l] = struct{}{}
	p.heart.Enter()
}

// onFault ends the connection for what the outbox has found.
func (l *link) onFault(err error) {
	switch {
	case errors.Is(err, fanout.ErrOverflow):
		err = fmt.Errorf("%w: %w", ErrProtocol, err)
	case errors.Is(err, fanout.ErrCompletion):
		err = fmt.Errorf("%w: %w", ErrTransport, err)
	}
	l.fail(err)
}

// OnConnectionRefused implements netio.Handler. A publisher does not dial.
func (p publisherHandler) OnConnectionRefused(netip.AddrPort, error) {}

// OnConnectionClosed implements netio.Handler.
func (p publisherHandler) OnConnectionClosed(ep netio.Endpoint, _ []netio.Key, cause error) {
	if l, ok := ep.Context().(*link); ok {
		p.closed(l, cause, func() {})
		return
	}
	if g := p.desk.Closed(ep); g != nil {
		p.parted(g, cause)
	}
	_ = p.leave()
}

// parted reports the end of the connection of a guest.
func (p *publisherImpl) parted(g *reception.Guest, cause error) {
	switch peer := peerOf(g.Hello, g.Ep); {
	case g.Reason == nil:
		p.unknown(peer, cause)
	case peer.Instance != "" && !g.Barred:
		p.event(Event{Kind: Lost, Peer: peer, Err: g.Reason})
	}
}

// unknown reports the end of the connection of a peer that has said no hello, if it speaks
// something else.
func (p *publisherImpl) unknown(peer *Peer, cause error) {
	if errors.Is(cause, netio.ErrMessageLength) {
		p.strangers.Add(1)
		p.event(Event{Kind: Refused, Peer: peer, Err: cause})
	}
}

// closed cleans up after a connection, and then calls after.
func (p *publisherImpl) closed(l *link, cause error, after func()) {
	l.held = p.heart.Held(time.Now())
	l.deadline.Met()
	p.alarms.Cancel(&l.grace)
	p.groups.Drop(l)
	p.seats.Busy(l)
	delete(p.connections, l)
	p.heart.Leave()
	l.reading.End()
	l.out.Kill()
	l.unroute(func() {
		l.exit.Bury(func() {
			p.left(l, cause)
			after()
		})
	})
}

// left forgets a subscriber after the end of its connection and of all routes to it.
func (p *publisherImpl) left(l *link, cause error) {
	cause = l.endCause(cause)
	if l.state == linkHello {
		p.unknown(l.peer, cause)
	}
	unconfirmed := p.forget(l, cause)
	if unconfirmed > 0 {
		cause = &UnconfirmedError{Messages: unconfirmed, Err: cause}
	}
	if l.peer.Instance != "" {
		l.event(Event{Kind: Lost, Peer: l.peer, Err: cause})
	}
	p.newest.Leave(l.peer.Instance, l)
	// Only a publisher that was closed from inside a callback frees its pool here.
	// By then a failure can be reported to no caller.
	_ = p.leave()
}

// OnData implements netio.Handler.
func (p publisherHandler) OnData(ep netio.Endpoint, data []byte) {
	l, ok := ep.Context().(*link)
	switch {
	case !ok:
		p.desk.Data(ep, data)
	case l.state == linkReady: // otherwise it was sent before the peer received our last message
		l.pulse.Hear()
		p.onControl(l, data)
	}
}

// OnSendCompleted implements netio.Handler.
func (p publisherHandler) OnSendCompleted(c netio.Completion) {
	if l, ok := c.Endpoint.Context().(*link); ok {
		l.out.Completed(c.Key)
		return
	}
	p.desk.Sent(c.Endpoint)
}

// OnSendReady implements netio.Handler.
func (p publisherHandler) OnSendReady(ep netio.Endpoint) {
	if l, ok := ep.Context().(*link); ok {
		l.out.Ready()
		return
	}
	p.desk.SendReady(ep)
}

// enter makes a guest a subscriber, or returns why not.
func (p *publisherImpl) enter(g *reception.Guest) error {
	if g.Hello.Role != "" {
		return fmt.Errorf("%w: a %s has dialed a publisher", ErrProtocol, sanitize.Text(g.Hello.Role))
	}
	every := p.heart.Stretched(len(p.links) + 1)
	answer, err := p.helloTo("", every)
	if err != nil {
		return err
	}
	l := p.newLink(g.Ep)
	l.peer, l.who = peerOf(g.Hello, g.Ep), g.Who
	if err = p.checkInstance(l, l.peer.Instance); err == nil {
		err = p.admit(l, g.Hello)
	}
	if err != nil {
		l.out.Kill()
		l.out.BuryAll()
		return err
	}
	p.take(l)
	p.supersede(l, func() {
		if refused := l.who.Again(); refused != nil {
			l.refuse(refused)
			return
		}
		l.out.SendBytes(answer)
		l.sayRights()
		l.admitted(every, g.Hello.BeatMillis)
		p.rest(l)
		l.event(Event{Kind: Connected, Peer: l.peer})
	})
	return nil
}

// reported reports whether what the peer says of its counts can be, and otherwise ends the connection.
func (l *link) reported(err error) (ok bool) {
	if err != nil {
		l.fail(fmt.Errorf("%w: %w", ErrProtocol, err))
	}
	return err == nil
}

// onControl carries out a request.
func (p *publisherImpl) onControl(l *link, data []byte) {
	m, err := subscription.Decode(data)
	if err != nil {
		l.fail(errors.Join(ErrProtocol, err))
		return
	}
	switch m := m.(type) {
	case *subscription.Subscribe:
		p.onSubscribe(l, m)
	case *subscription.Positions:
		p.onPositions(l, m)
	case *subscription.Unsubscribe:
		if p.groups.Within(l) {
			l.fail(fmt.Errorf("%w: unsubscribes within a group of subscriptions", ErrProtocol))
			return
		}
		l.unsubscribe(m.ID)
		p.settle(l)
	case *subscription.Missed:
		l.reported(l.out.Missed(m))
	case *subscription.Received:
		l.reported(l.out.Received(m))
	case *subscription.Dropped:
		l.reported(l.out.Dropped(m, group.Max))
	case *subscription.Goodbye:
		p.onGoodbye(l, m)
	case *subscription.Beat: // receiving it is noted already
	case *subscription.Ack:
		l.acked(m)
	case *subscription.Denied:
		l.onDenied(m)
	default:
		l.fail(fmt.Errorf("%w: a subscriber does not send %v", ErrProtocol, m.Kind()))
	}
}
