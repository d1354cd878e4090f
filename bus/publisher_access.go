// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"errors"
	"maps"
	"slices"
	"time"

	"tagbus/acl"
	"tagbus/bus/internal/door"
	"tagbus/bus/internal/fanout"
	"tagbus/bus/internal/group"
	"tagbus/bus/internal/workqueue"
	"tagbus/subscription"
	"tagbus/tags"
)

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
	}
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
	if e, tell := l.pub.side.refused(reason, l.peer, l.who.Identity()); tell {
		l.event(e)
	}
}
