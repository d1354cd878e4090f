package bus

import (
	"errors"
	"fmt"
	"net/netip"

	"tagbus/bus/internal/group"
	"tagbus/bus/internal/positions"
	"tagbus/bus/internal/seats"
	"tagbus/subscription"
	"tagbus/tags"
)

// host returns the address that a connection comes from.
func (l *link) host() netip.Addr { return l.ep.Remote().Addr().Unmap() }

// greet makes a new connection a guest.
func (p *Publisher) greet(l *link) {
	most := max(minGuests, p.cfg.MaxSubscribers)
	oldest, gaveWay := p.guests.Greet(l, most)
	if !gaveWay {
		return
	}
	oldest.deadline.met()
	if oldest.state == linkHello {
		p.event(Event{Kind: Refused, Peer: oldest.peer, Err: fmt.Errorf("%w: %d have not said hello", ErrGaveWay, most)})
	}
	_ = oldest.ep.Close()
}

// makeRoom takes a place for a subscriber. mu is held.
//
// Errors: ErrTooManySubscribers, wrapped.
func (p *Publisher) makeRoom(l *link, instance string) error {
	if old := p.newest[instance]; old != nil {
		p.seats.Leave(old) // it ends in a moment
	}
	limits := seats.Limits{All: p.cfg.MaxSubscribers, Host: p.cfg.MaxSubscribersPerHost}
	way, gaveWay, full := p.seats.Take(l, l.host(), limits, func(l *link) bool {
		return l.idle && l.jobs.Len() == 0 // otherwise it has asked for something
	})
	if full != nil {
		return tooMany(ErrTooManySubscribers, full, "PublisherConfig.MaxSubscribers")
	}
	if gaveWay {
		p.loop.Post(func() { way.end(ErrGaveWay) }) // no lock is held then
	}
	return nil
}

// seated begins to wait for the first subscription of a new subscriber.
func (p *Publisher) seated(l *link) {
	p.guests.Leave(l)
	p.rest(l)
}

// rest notes that a subscriber has no subscription from now on.
func (p *Publisher) rest(l *link) {
	l.idle = true
	p.seats.Renew(l)
	l.awaitSubscription()
}

// settle notes after each change whether a subscriber has a subscription. After the end
// of its last one it has some time to leave or to ask for another. One whose request
// was refused may stay, since it would only come again.
func (p *Publisher) settle(l *link) {
	switch {
	case l.dialed || l.fault != nil:
	case len(l.subs) > 0:
		l.idle = false
	case !l.idle: // its last one has ended
		p.rest(l)
	}
}

// awaitSubscription limits the time that a connection may have no subscription, or an
// incomplete group.
func (l *link) awaitSubscription() {
	l.deadline.await(&l.pub.alarms, l.pub.cfg.SubscribeTimeout, l.subscriptionMissed)
}

// subscriptionMissed ends a connection after too long without a subscription, or with
// an incomplete group.
func (l *link) subscriptionMissed() {
	if l.pub.groups.Has(l) {
		l.pub.groups.Drop(l)
		l.end(ErrGroupTimeout)
		return
	}
	l.end(ErrNoSubscription)
}

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
		if !l.ends() && !l.out.ended() && !p.chores.Ended() {
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

// maxGroupsBytes bounds the incomplete groups of all connections together. A hundred
// subscribers that resume 100,000 tags each at the same time need as much.
const maxGroupsBytes = 256 << 20

// onPositions takes the positions of a subscriber that is about to resume a
// subscription.
func (p *Publisher) onPositions(l *link, m *subscription.Positions) {
	if l.fault != nil {
		return // it is closing
	}
	err := p.checkStanding(m.List)
	if err == nil {
		err = brokenGroup(p.groups.Positions(l, m, int(p.fan.knownTags.Load())))
	}
	if err != nil {
		l.fail(err)
		return
	}
	l.awaitSubscription()
}

// onSubscribe takes a part of a set, and makes the subscriptions of a complete group
// active.
func (p *Publisher) onSubscribe(l *link, m *subscription.Subscribe) {
	if l.fault != nil {
		return // it is closing
	}
	l.awaitSubscription()
	refused, err := p.groups.Subscribe(l, m, int(p.fan.knownTags.Load()))
	if err != nil {
		l.fail(brokenGroup(err))
		return
	}
	if refused != nil {
		l.refuseSubscription(&wish{request: m, err: refused})
		l.event(Event{Kind: Refused, Peer: l.peer, Err: refused})
	}
	if l.fault != nil || m.More || m.WithNext {
		return
	}
	complete := p.groups.Take(l)
	l.deadline.met()
	l.asked = true
	if len(complete) == 0 {
		p.settle(l)
		p.farewell(l)
		return
	}
	wishes := make([]wish, len(complete))
	for i, s := range complete {
		wishes[i] = wish{request: s.Request, set: s.Set, standing: s.Standing}
	}
	l.subscribe(wishes)
}

// brokenGroup returns the error for what a group has broken of the protocol, or nil.
func brokenGroup(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, group.ErrEmptySet) {
		err = ErrEmptySet
	}
	return fmt.Errorf("%w: %w", ErrProtocol, err)
}

// evictGroup ends a connection whose group was dropped, since all groups take too much.
func (p *Publisher) evictGroup(l *link, bytes int) {
	l.end(fmt.Errorf("%w: %d bytes, limit %d", ErrGroupMemory, bytes, p.groups.Bytes))
}

// wish is a subscription that a subscriber asks for.
type wish struct {
	request  *subscription.Subscribe // without its set
	set      tags.Set
	standing positions.Standing      // until the group is complete
	stands   []subscription.Position // where the subscriber says that it stands
	lane     *lane
	policy   Policy

	gone, comes tags.Set // what a subscription that changes gives up, and newly wants

	parts int   // ranges and masks that are reserved for it
	masks int   // of these
	err   error // why it is refused
}

// refuseSubscription answers with the reason why a subscription does not become active.
func (l *link) refuseSubscription(w *wish) {
	l.out.send(nil, refusal(w.request.ID, w.err))
}
