// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"tagbus/acl"
	"tagbus/identity"
	"tagbus/tags"
)

// What a subscriber, or a receiver, takes of its peers.

// enter notes which publisher a connection is to, and returns why nothing is taken of it,
// or nil.
//
// Errors: those of Access.Identify; *AccessError.
func (src *source) enter() error {
	door := &src.sub.door
	who, err := door.identify(src.contact.ep)
	if err != nil {
		return err
	}
	if err := door.enters(who, acl.Publish); err != nil {
		return err
	}
	src.permit(who, acl.Publish)
	return nil
}

// enter notes which peer a guest is, and returns why it may not come in, or nil.
//
// Errors: those of Access.Identify; *AccessError.
func (r *Receiver) enter(g *guest, action acl.Action) (err error) {
	if g.who, err = r.sub.door.identify(g.ep); err != nil {
		return err
	}
	return r.sub.door.enters(g.who, action)
}

// permit notes of which tags a peer may send messages. What it has announced besides is not
// asked for.
func (src *source) permit(who *identity.Peer, action acl.Action) {
	door := &src.sub.door
	src.limited = false
	if src.who = who; who == nil {
		return
	}
	src.rights = door.access.Allowed(who.Principal, action)
	if action != acl.Publish {
		return // a sender announces nothing
	}
	if _, refused := door.split(who, action, src.contact.entry.Tags, src.contact.entry.Tags); refused != nil {
		src.refuse(refused)
	}
}

// refuse tells that the publisher has announced what it may not send.
func (src *source) refuse(refused *AccessError) {
	if e, tell := src.sub.refusals.event(refused, src.contact.peer); tell {
		src.event(e)
	}
}

// permitted returns those tags of a set that the publisher may send. Before it is connected
// all may be.
func (src *source) permitted(set tags.Set) tags.Set {
	if src.who == nil {
		return set
	}
	both, err := set.Intersection(src.rights)
	if err != nil {
		return tags.Set{}
	}
	return both
}

// askAnew asks again for what the publisher has refused, as a whole or in part.
func (src *source) askAnew() {
	all := src.requests.All()
	src.contact.refusal = ""
	for _, r := range all {
		if src.limited || r.Denied() != nil {
			r.AskAnew()
			src.note(r)
		}
	}
	src.steps += stepsPerRequest * len(all)
	src.limited = false
	src.consider()
}

// reviewAccess looks at all publishers again, after a change of what is allowed. Loop only.
func (s *Subscriber) reviewAccess() {
	if s.closed.Load() {
		return
	}
	left := make([]*source, 0, len(s.sources))
	for _, src := range s.sources {
		left = append(left, src)
	}
	s.chores.Add(func(budget int) (steps int, done bool) {
		for ; len(left) > 0 && steps < budget; left = left[:len(left)-1] {
			steps += left[len(left)-1].review()
		}
		return steps, len(left) == 0
	})
}

// review ends the connection if its peer no longer counts, and asks for what it may send
// now.
func (src *source) review() (steps int) {
	if src.sub.closed.Load() || src.who == nil {
		return 1
	}
	if !src.contact.Ready() {
		if src.contact.Idle() {
			src.who = nil // which rights it has is seen when it is connected
			src.consider()
		}
		return 1
	}
	if err := src.sub.door.expired(src.who); err != nil {
		src.fail(err)
		return 1
	}
	action := acl.Publish
	if src.sub.isDialed() {
		action = acl.Send
	}
	before := src.rights
	limited := src.limited
	src.permit(src.who, action)
	src.limited = limited
	if !before.Equal(src.rights) {
		src.consider()
	}
	return 1 + before.Parts() + src.rights.Parts()
}
