// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"errors"
	"time"

	"tagbus/acl"
	"tagbus/bus/directory"
	"tagbus/bus/internal/fanout"
	"tagbus/bus/internal/group"
	"tagbus/bus/internal/tagset"
	"tagbus/subscription"
	"tagbus/tags"
)

// What a publisher, or a sender, lets its peers do.

// enter notes which peer a link is from, and returns why it may not come in, or nil.
//
// Errors: those of Access.Identify; *AccessError.
func (l *link) enter(action acl.Action) (err error) {
	door := &l.pub.door
	if l.who, err = door.identify(l.ep); err != nil {
		return err
	}
	if err = door.enters(l.who, action); err == nil && door.access != nil {
		l.rights = door.access.Allowed(l.who.Principal, action)
	}
	return err
}

// reenter is enter for a link that has waited: the policy may have changed meanwhile.
func (l *link) reenter() error {
	door := &l.pub.door
	if l.who == nil {
		return nil
	}
	if err := errors.Join(door.expired(l.who), door.enters(l.who, l.pub.action)); err != nil {
		return err
	}
	l.rights = door.access.Allowed(l.who.Principal, l.pub.action)
	return nil
}

// checkInstance returns why a link may not be of the instance that it says, or nil.
//
// Errors: ErrProtocol, wrapped.
func (p *publisherImpl) checkInstance(l *link, instance string) error {
	if old := p.newest[instance]; old != nil && !samePeer(old.who, l.who) {
		return errTakenInstance
	}
	return nil
}

// enterAs notes which receiver a link is to, and returns why it is not the one of an entry, or
// may not come in, or nil.
//
// Errors: those of link.enter; *SignerError.
func (l *link) enterAs(e *directory.Entry) error {
	if err := l.enter(l.pub.action); err != nil {
		return err
	}
	return l.pub.door.announced(e, l.who)
}

// sayRights tells a subscriber what it may have, so that it asks for nothing else.
func (l *link) sayRights() {
	p := l.pub
	if p.door.access == nil || p.action != acl.Subscribe {
		return
	}
	set := l.rights
	if !tagset.Fits(set) { // it is told of those that are served; others are refused when it asks
		served, _ := p.fan.Served()
		both, err := set.Intersection(served)
		if set = both; err != nil || !tagset.Fits(set) {
			set = tags.Everything()
		}
	}
	parts, err := group.RightsParts(set)
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
	var wants tags.Set
	if err := wants.UnmarshalLimited(m.Set, subscription.MaxDenied, subscription.MaxDenied); err != nil {
		l.fail(errors.Join(ErrProtocol, err))
		return
	}
	if l.who == nil {
		return // nothing is denied here
	}
	served, _ := l.pub.fan.Served()
	if refused := l.pub.door.refuses(l.who, l.pub.action, wants, served); refused != nil {
		l.refused(refused)
	}
}

// screening takes from subscriptions what their peer may not have. A subscriber of this
// version asks for nothing that it may not have, unless its rights have just changed.
type screening struct {
	link *link
	left []fanout.Wish
	pass []fanout.Wish // may become active
}

// screen is a workqueue.Job: it looks at some of the subscriptions.
func (s *screening) screen(budget int) (steps int, done bool) {
	if s.link.pub.door.access == nil {
		s.pass, s.left = s.left, nil
		return 0, true
	}
	for len(s.left) > 0 && steps < budget {
		w := s.left[0]
		s.left = s.left[1:]
		parts := w.Set.Parts()
		steps += 1 + (parts+min(s.link.rights.Parts(), 16*parts))/partsPerStep // a short set is searched for in a long one
		if refused := s.link.mayHave(w.Set); refused != nil {
			steps += stepsPerRefusal
			s.link.refused(refused)
			s.link.out.Send(nil, refusal(w.Request.ID, refused.outside()))
			continue
		}
		s.pass = append(s.pass, w)
	}
	return steps, len(s.left) == 0
}

// partsPerStep is how many ranges are compared in the time of a step.
const partsPerStep = 16

// stepsPerRefusal is the cost of telling a refusal.
const stepsPerRefusal = 64

// mayHave returns why a peer may not have all tags of a set, or nil. The rights of which it
// was told last decide: with others it would not learn when it may ask again.
func (l *link) mayHave(set tags.Set) *AccessError {
	mayNot, err := set.Without(l.rights)
	if err != nil {
		mayNot = set
	}
	if mayNot.IsEmpty() {
		return nil
	}
	return &AccessError{Who: l.who.Principal, Action: l.pub.action, Tags: mayNot}
}

// reviewAccess looks at all peers again, after a change of what is allowed. Loop only.
func (p *publisherImpl) reviewAccess() {
	if p.work.Ended() {
		return
	}
	left := make([]*link, 0, len(p.connections))
	for l := range p.connections {
		left = append(left, l)
	}
	p.work.Add(func(budget int) (steps int, done bool) {
		for ; len(left) > 0 && steps < budget; left = left[:len(left)-1] {
			steps += left[len(left)-1].review()
		}
		return steps, len(left) == 0
	})
}

// review ends the connection if its peer no longer counts. If it may have other tags than
// before, it is told so.
func (l *link) review() (steps int) {
	p := l.pub
	if _, there := p.connections[l]; !there || l.state != linkReady || l.who == nil || l.fault != nil {
		return 1
	}
	if err := p.door.expired(l.who); err != nil {
		l.dismiss(err)
		return 1
	}
	before := l.rights
	l.rights = p.door.access.Allowed(l.who.Principal, p.action)
	steps = 1 + before.Parts() + l.rights.Parts()
	if before.Equal(l.rights) {
		return steps
	}
	l.sayRights()
	switch set := l.subscribedTo(before, l.rights); {
	case set.IsEmpty():
	case p.action != acl.Subscribe: // a receiver has all of its tags, or none
		l.dismiss(&AccessError{Who: l.who.Principal, Action: p.action, Tags: set})
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
	if set := l.subscribedTo(tags.Everything(), l.rights); !set.IsEmpty() {
		l.dismiss(&AccessError{Who: l.who.Principal, Action: p.action, Tags: set})
	}
}

// subscribedTo returns some of the tags to which the peer is subscribed and that it had
// the right to have before, and has no more.
func (l *link) subscribedTo(before, now tags.Set) tags.Set {
	lost, err := before.Without(now)
	if err != nil {
		lost = before
	}
	if lost.IsEmpty() {
		return lost
	}
	p := l.pub
	p.fan.Mu.Lock()
	defer p.fan.Mu.Unlock()
	for _, wanted := range l.out.Wanted() {
		if both, err := wanted.Intersection(lost); err != nil {
			return lost
		} else if !both.IsEmpty() {
			return both
		}
	}
	return tags.Set{}
}

// dismiss tells the peer why its connection ends, and ends it.
func (l *link) dismiss(reason error) {
	last, err := subscription.Append(nil, refusal(0, outsideOf(reason)))
	if err != nil {
		l.fail(err)
		return
	}
	l.closeAfter(last, reason)
	l.refused(reason)
}

// refused tells of a refusal, unless that was told lately.
func (l *link) refused(reason error) {
	if e, tell := l.pub.refusals.event(&l.pub.door, reason, l.peer, l.who); tell {
		l.event(e)
	}
}
