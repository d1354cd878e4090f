// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"tagbus/acl"
	"tagbus/bus/internal/chores"
	"tagbus/bus/internal/fanout"
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

// screening takes from subscriptions what their peer may not have.
type screening struct {
	link *link
	left []fanout.Wish
	pass []fanout.Wish // may become active, with the tags that are allowed
	told int           // notices that were sent
}

// maxNotices is how many notices of one group name tags that are not allowed.
const maxNotices = 8

// screen is a chores.Job: it looks at some of the subscriptions.
func (s *screening) screen(budget int) (steps int, done bool) {
	if s.link.pub.door.access == nil {
		s.pass, s.left = s.left, nil
		return 0, true
	}
	for len(s.left) > 0 && steps < budget {
		w := s.left[0]
		s.left = s.left[1:]
		steps += chores.SliceSteps/64 + 2*w.Set.Parts()
		s.one(w)
	}
	return steps, len(s.left) == 0
}

// one looks at one subscription.
func (s *screening) one(w fanout.Wish) {
	l, p := s.link, s.link.pub
	served, _ := p.fan.Served()
	may, refused := p.door.split(l.who, p.action, w.Set, served)
	if may.IsEmpty() {
		reason := refused
		if reason == nil { // none of the tags that it asks for is served here
			reason = &AccessError{Who: l.who.Principal, Action: p.action, Tags: w.Set}
		}
		l.refused(reason)
		l.out.Send(nil, refusal(w.Request.ID, reason.outside()))
		return
	}
	if refused != nil {
		l.refused(refused)
		if s.told++; s.told <= maxNotices {
			l.out.Send(nil, refusal(subscription.NoticeID, refused.outside()))
		}
	}
	w.Set = may
	s.pass = append(s.pass, w)
}

// reviewAccess looks at all peers again, after a change of what is allowed. Loop only.
func (p *Publisher) reviewAccess() {
	if p.chores.Ended() {
		return
	}
	left := make([]*link, 0, len(p.connections))
	for l := range p.connections {
		left = append(left, l)
	}
	p.chores.Add(func(budget int) (steps int, done bool) {
		for ; len(left) > 0 && steps < budget; left = left[:len(left)-1] {
			steps += left[len(left)-1].review()
		}
		return steps, len(left) == 0
	})
}

// review ends the connection if its peer no longer counts, or if it may no longer have
// what it is subscribed to. If it may have more than before, it is told so.
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
	lost, err := before.Without(l.rights)
	if err != nil {
		lost = before
	}
	if set := l.subscribedTo(lost); !set.IsEmpty() {
		l.dismiss(&AccessError{Who: l.who.Principal, Action: p.action, Tags: set})
		return steps
	}
	l.out.Send(nil, &subscription.Refused{ID: subscription.RightsID, Reason: "what this peer may do has changed"})
	return steps
}

// subscribedTo returns the tags of a set to which the peer is subscribed, as far as they
// are needed to name them.
func (l *link) subscribedTo(set tags.Set) tags.Set {
	p := l.pub
	if set.IsEmpty() {
		return set
	}
	p.fan.Mu.Lock()
	defer p.fan.Mu.Unlock()
	for _, wanted := range l.out.Wanted() {
		if both, err := wanted.Intersection(set); err != nil {
			return set
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
	if e, tell := l.pub.refusals.event(reason, l.peer); tell {
		l.event(e)
	}
}
