// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"time"

	"tagbus/acl"
	"tagbus/bus/internal/events"
	"tagbus/bus/internal/fanout"
	"tagbus/bus/internal/group"
	"tagbus/bus/internal/heartbeat"
	"tagbus/bus/internal/observe"
	"tagbus/internal/sanitize"
	"tagbus/netio"
	"tagbus/subscription"
)

// publisherHandler is a Publisher as its backend sees it. Every method runs on
// the loop.
type publisherHandler struct{ *publisherImpl }

// OnConnectionEstablished implements netio.Handler.
func (p publisherHandler) OnConnectionEstablished(ep netio.Endpoint) {
	l := p.newLink(ep)
	l.deadline.Await(&p.alarms, helloTimeout, l.helloMissed)
	p.greet(l)
}

// newLink takes over a connection.
func (p *publisherImpl) newLink(ep netio.Endpoint) *link {
	l := &link{pub: p, ep: ep, since: time.Now(), peer: &Peer{Addr: ep.Remote()}}
	l.grace.F = l.overdue
	l.tasks.Turns, l.tasks.Peer = &p.turns, working{l}
	l.events = events.Conn{Pause: l.reading.Pause, Resume: l.reading.Resume}
	l.reading.Begin(ep, &l.pulse)
	l.out.Init(&p.fan, ep, l.onFault)
	ep.SetContext(l)
	p.users.Add(1)
	p.connections[l] = struct{}{}
	p.heart.Enter()
	return l
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

// helloMissed closes a connection whose peer has not said hello in time.
func (l *link) helloMissed() {
	l.pub.event(Event{Kind: Refused, Peer: l.peer, Err: ErrHelloTimeout})
	_ = l.ep.Close()
}

// OnConnectionRefused implements netio.Handler. A publisher does not dial.
func (p publisherHandler) OnConnectionRefused(netip.AddrPort, error) {}

// OnConnectionClosed implements netio.Handler.
func (p publisherHandler) OnConnectionClosed(ep netio.Endpoint, _ []netio.Key, cause error) {
	switch x := ep.Context().(type) {
	case *link:
		p.closed(x, cause, func() {})
	case *observe.Observer:
		x.Closed()
	}
}

// closed cleans up after a connection, and then calls after.
func (p *publisherImpl) closed(l *link, cause error, after func()) {
	l.held = p.heart.Held(time.Now())
	l.deadline.Met()
	p.alarms.Cancel(&l.grace)
	p.groups.Drop(l)
	p.guests.Leave(l)
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
	if l.state == linkHello && errors.Is(cause, netio.ErrMessageLength) { // it speaks something else
		p.strangers.Add(1)
		l.event(Event{Kind: Refused, Peer: l.peer, Err: cause})
	}
	unconfirmed := p.forget(l, cause)
	if unconfirmed > 0 {
		cause = &UnconfirmedError{Messages: unconfirmed, Err: cause}
	}
	if l.peer.Instance != "" && !l.barred {
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
	if !ok {
		ep.Context().(*observe.Observer).Data(data)
		return
	}
	switch l.state {
	case linkHello:
		p.onHello(l, data)
	case linkReady:
		l.pulse.Hear()
		p.onControl(l, data)
	case linkLeaving: // sent before it received our last message; ignore
	}
}

// OnSendCompleted implements netio.Handler.
func (p publisherHandler) OnSendCompleted(c netio.Completion) {
	switch x := c.Endpoint.Context().(type) {
	case *link:
		x.out.Completed(c.Key)
	case *observe.Observer:
		x.Sent()
	}
}

// OnSendReady implements netio.Handler.
func (p publisherHandler) OnSendReady(ep netio.Endpoint) {
	switch x := ep.Context().(type) {
	case *link:
		x.out.Ready()
	case *observe.Observer:
		x.SendReady()
	}
}

// onHello decides whether the peer may subscribe.
func (p *publisherImpl) onHello(l *link, data []byte) {
	l.deadline.Met()
	h, err := subscription.DecodeHello(data)
	if errors.Is(err, subscription.ErrMagic) {
		// A stranger: a port scanner, a browser. It gets no answer.
		p.strangers.Add(1)
		l.event(Event{Kind: Refused, Peer: l.peer, Err: err})
		_ = l.ep.Close()
		return
	}
	l.peer = peerOf(h, l.ep)
	observes := h.Role == subscription.RoleObserver
	action := p.action
	if observes {
		action = acl.Describe
	}
	var refused error
	if l.who, refused = p.door.Enter(l.ep, action); refused != nil { // before anything is said of this side
		l.barred = true
		l.refuse(refused)
		return
	}
	every := p.heart.Stretched(len(p.links) + 1)
	answer, helloErr := p.helloTo("", every)
	if helloErr != nil {
		l.fail(helloErr)
		return
	}
	if version := (*subscription.VersionError)(nil); errors.As(err, &version) {
		// A peer of another version may not understand any other answer.
		l.leave(answer, err)
		return
	}
	if err == nil {
		err = meant(h, p.instance)
	}
	switch {
	case err != nil:
	case observes:
		err = p.observe(l, h)
	case h.Role != "":
		err = fmt.Errorf("%w: a %s has dialed a publisher", ErrProtocol, sanitize.Text(h.Role))
	default:
		if err = p.checkInstance(l, h.Instance); err == nil {
			err = p.admit(l, h)
		}
	}
	if err != nil {
		l.refuse(err)
		return
	}
	if observes {
		return // it is no link any more
	}
	p.supersede(l, func() {
		if refused := l.who.Again(); refused != nil {
			l.refuse(refused)
			return
		}
		l.out.SendBytes(answer)
		l.sayRights()
		l.admitted(every, h.BeatMillis)
		p.seated(l)
		l.event(Event{Kind: Connected, Peer: l.peer})
	})
}

// helloTo returns the first message of this side to a peer.
//
//   - instance: that the peer is expected to have; empty: any.
//   - every: the interval of this side.
func (p *publisherImpl) helloTo(instance string, every time.Duration) ([]byte, error) {
	return subscription.AppendHello(nil, subscription.Hello{
		Instance: p.instance, Expect: instance, Role: p.role, Name: p.cfg.Name, Host: p.host, PID: os.Getpid(),
		MaxMessageBytes: subscription.TakesDropped, BeatMillis: heartbeat.Millis(every),
		Limited: p.door.Asks() && p.action == acl.Subscribe,
	})
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
