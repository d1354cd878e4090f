// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"tagbus/acl"
	"tagbus/bus/internal/admission"
	"tagbus/bus/internal/door"
	"tagbus/bus/internal/ending"
	"tagbus/bus/internal/fanout"
	"tagbus/bus/internal/group"
	"tagbus/bus/internal/workqueue"
	"tagbus/subscription"
	"tagbus/tags"
)

// admit makes l a subscriber, or returns why not.
func (p *publisherImpl) admit(l *link, h subscription.Hello) error {
	if need := frameBytes(p.cfg.PageBytes, p.cfg.MaxMessageBytes); h.MaxMessageBytes < need {
		return &SizeError{Sends: need, Takes: h.MaxMessageBytes, text: fmt.Sprintf("bus: subscriber receives at most %d bytes at once, publisher sends up to %d: raise SubscriberConfig.MaxMessageBytes",
			h.MaxMessageBytes, need)}
	}
	p.fan.Mu.Lock()
	defer p.fan.Mu.Unlock()
	if !p.ending.Takes(h.Instance) {
		return ErrClosed
	}
	if err := p.makeRoom(l, h.Instance); err != nil {
		return err
	}
	p.links[l] = struct{}{}
	return nil
}

// forget frees the numbers of a subscriber, and returns the number of unconfirmed
// messages. Nothing refers to the subscriber any more.
//
//   - cause: of the end of its connection; nil: it ended in order.
func (p *publisherImpl) forget(l *link, cause error) (unconfirmed uint64) {
	p.fan.Mu.Lock()
	defer p.fan.Mu.Unlock()
	if _, known := p.links[l]; !known {
		return 0
	}
	delete(p.links, l)
	p.broken.Add(cause)
	p.seats.Leave(l)
	unconfirmed = p.leaveAccount(l, cause)
	l.out.Free()
	p.ending.Left(l.peer.Instance, unconfirmed)
	p.giveUp()
	p.ending.Look(len(p.links))
	p.fan.NotifyChanged()
	return unconfirmed
}

// makeRoom takes a place for a subscriber. fan.Mu is held.
//
// Errors: ErrTooManySubscribers, wrapped.
func (p *publisherImpl) makeRoom(l *link, instance string) error {
	limits := admission.Limits{All: p.cfg.MaxSubscribers, Host: p.cfg.MaxSubscribersPerHost}
	way, gaveWay, full := p.seats.Take(l, l.ep.Remote().Addr().Unmap(), limits, p.newest.Newest(instance), func(l *link) bool {
		return l.tasks.Len() == 0 // otherwise it has asked for something
	})
	if full != nil {
		return tooMany(ErrTooManySubscribers, full, "PublisherConfig.MaxSubscribers")
	}
	if gaveWay {
		p.loop.Post(func() { way.end(ErrGaveWay) }) // no lock is held then
	}
	return nil
}

// rest notes that a subscriber has no subscription from now on.
func (p *publisherImpl) rest(l *link) {
	if p.seats.Idle(l) && !l.denied {
		l.awaitSubscription()
	}
}

// settle notes after each change whether a subscriber has a subscription. After the end
// of its last one it has some time to leave or to ask for another. One whose request
// was refused, or that says what it misses, may stay, since it would only come again.
func (p *publisherImpl) settle(l *link) {
	switch {
	case l.dialed || l.fault != nil:
	case l.out.Subscriptions() > 0:
		p.seats.Busy(l)
	default: // it may be its last one that has ended
		p.rest(l)
	}
}

// awaitSubscription limits the time that a connection may have no subscription, or an
// incomplete group.
func (l *link) awaitSubscription() {
	l.deadline.Await(&l.pub.alarms, subscribeTimeout, l.subscriptionMissed)
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

// ended returns ErrClosed if the publisher drains or is closed, and otherwise nil.
func (p *publisherImpl) ended() error {
	p.fan.Mu.Lock()
	defer p.fan.Mu.Unlock()
	if p.ending.State() != ending.Open {
		return ErrClosed
	}
	return nil
}

// What a publisher, or a sender, lets its peers do.

// checkInstance returns why a link may not be of the instance that it says, or nil.
//
// Errors: ErrProtocol, wrapped.
func (p *publisherImpl) checkInstance(l *link, instance string) error {
	if old := p.newest.Newest(instance); old != nil && !door.Same(old.who.Identity(), l.who.Identity()) {
		return errTakenInstance
	}
	return nil
}

// sayRights tells a subscriber what it may have, so that it asks for nothing else.
func (l *link) sayRights() {
	p := l.pub
	if !p.door.Asks() || p.action != acl.Subscribe {
		return
	}
	l.miss(tags.Set{})
	served, _ := p.fan.Served()
	parts, err := group.RightsParts(l.who.Rights(), served)
	if err != nil {
		l.fail(err)
		return
	}
	for _, part := range parts {
		l.out.Send(nil, part)
	}
}

// onDenied notes what a subscriber wants and may not have.
func (l *link) onDenied(m *subscription.Denied) {
	wants, err := group.Denied(m)
	if err != nil {
		l.fail(errors.Join(ErrProtocol, err))
		return
	}
	served, _ := l.pub.fan.Served()
	if refused := l.who.Refuses(wants, served); refused != nil {
		l.refused(refused)
		l.stay(wants)
	}
}

// stay lets a subscriber that may have nothing of what it wants wait until it may.
func (l *link) stay(missing tags.Set) {
	l.miss(missing)
	if !l.pub.groups.Has(l) {
		l.deadline.Met()
	}
}

// miss notes what a subscriber wants and may not have.
func (l *link) miss(missing tags.Set) {
	l.denied = !missing.IsEmpty()
	l.pub.fan.Mu.Lock()
	defer l.pub.fan.Mu.Unlock()
	l.missing = missing
}

// screening returns what takes from subscriptions those that the peer may not have, and refuses them.
func (l *link) screening(wishes []fanout.Wish) door.Screening[fanout.Wish] {
	return door.Screening[fanout.Wish]{
		Peer: &l.who, Left: wishes, Set: func(w *fanout.Wish) tags.Set { return w.Set },
		Refuse: func(w *fanout.Wish, why error) {
			l.refused(why)
			l.out.Send(nil, refusal(w.Request.ID, why))
		},
	}
}

// reviewAccess looks at all peers again, after a change of what is allowed. Loop only.
func (p *publisherImpl) reviewAccess() {
	if p.work.Ended() {
		return
	}
	p.work.Add(workqueue.Each(slices.Collect(maps.Keys(p.connections)), (*link).review))
}

// review ends the connection if its peer no longer counts. If it may have other tags than
// before, it is told so.
func (l *link) review() (steps int) {
	p := l.pub
	if _, there := p.connections[l]; !there || l.state != linkReady || l.who.Identity() == nil || l.fault != nil {
		return 1
	}
	before, err := l.who.Review()
	if err != nil {
		l.refuse(err)
		return 1
	}
	rights := l.who.Rights()
	steps = 1 + before.Parts() + rights.Parts()
	if before.Equal(rights) {
		return steps
	}
	l.sayRights()
	switch set := l.subscribedTo(before); {
	case set.IsEmpty():
	case p.action != acl.Subscribe: // a receiver has all of its tags, or none
		l.refuse(l.who.Refusal(set))
	default:
		p.alarms.Set(&l.grace, accessGrace) // until the peer has ended what it may not have
	}
	return steps
}

// accessGrace is how long a subscriber may take to end what it may no longer have.
const accessGrace = 2 * time.Second

// overdue ends the connection if its peer has not ended what it may no longer have.
func (l *link) overdue() {
	p := l.pub
	if _, there := p.connections[l]; !there || l.state != linkReady || l.fault != nil {
		return
	}
	if set := l.subscribedTo(tags.Everything()); !set.IsEmpty() {
		l.refuse(l.who.Refusal(set))
	}
}

// subscribedTo returns some of the tags to which the peer is subscribed and that it had
// the right to have before, and has no more.
func (l *link) subscribedTo(before tags.Set) tags.Set {
	l.pub.fan.Mu.Lock()
	defer l.pub.fan.Mu.Unlock()
	return door.Kept(l.out.Wanted(), before, l.who.Rights())
}

// refused tells of a refusal, unless that was told lately.
func (l *link) refused(reason error) {
	if e, tell := l.pub.refused(reason, l.peer, l.who.Identity()); tell {
		l.event(e)
	}
}
