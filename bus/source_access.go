// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"errors"

	"tagbus/acl"
	"tagbus/identity"
	"tagbus/subscription"
	"tagbus/tags"
)

// What a subscriber, or a receiver, takes of its peers.

// enter notes which publisher a connection is to, and returns why nothing is taken of it,
// or nil.
//
// Errors: those of Access.Identify; *AccessError; *SignerError.
func (src *source) enter() error {
	door := &src.sub.door
	who, err := door.identify(src.contact.ep)
	if err != nil {
		return err
	}
	if err := door.enters(who, acl.Publish); err != nil {
		return err
	}
	if err := door.announced(&src.contact.entry, who); err != nil {
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

// onRights takes what this side may have of the publisher.
func (src *source) onRights(m *subscription.Rights) {
	set, complete, err := src.incoming.Add(m)
	if err != nil {
		src.fail(errors.Join(ErrProtocol, err))
		return
	}
	if !complete {
		return
	}
	src.granted, src.awaiting = &set, false
	src.steps += set.Parts() + stepsPerRequest*len(src.requests.All())
	src.contact.refusal = "" // of tags that it may have now
	for _, r := range src.requests.All() {
		if r.Denied() != nil {
			r.AskAnew()
			src.note(r)
		}
	}
	src.consider()
	src.tellDenied(set)
}

// tellDenied tells both sides which tags are wanted and not to be had.
func (src *source) tellDenied(granted tags.Set) {
	var missing []tags.Set
	for sub := range src.sub.subs.All {
		src.steps += 1 + sub.live.Parts()
		wanted, err := src.permitted(sub.live).Intersection(src.contact.entry.Tags)
		if err == nil {
			wanted, err = wanted.Without(granted)
		}
		if err == nil && !wanted.IsEmpty() {
			missing = append(missing, wanted)
		}
		if len(missing) >= maxMissing {
			break
		}
	}
	if len(missing) == 0 {
		return
	}
	set := tags.Union(missing...)
	src.refuse(&AccessError{Who: src.sub.door.name(), Action: acl.Subscribe, Tags: set})
	if bytes, err := some(set, subscription.MaxDenied).MarshalBinary(); err == nil {
		src.sendInTurn(&subscription.Denied{Set: bytes})
	}
}

// maxMissing is how many subscriptions are looked at for tags that are not to be had.
const maxMissing = 64

// some returns the first ranges of a set.
func some(set tags.Set, most int) tags.Set {
	if set.Parts() <= most {
		return set
	}
	var first []tags.Set
	for lo, hi := range set.Ranges() {
		if one, err := tags.Range(lo, hi); err == nil {
			first = append(first, one)
		}
		if len(first) == most {
			break
		}
	}
	return tags.Union(first...)
}

// grants returns those tags of a set that the publisher lets this side have.
func (src *source) grants(set tags.Set) tags.Set {
	if src.granted == nil {
		return set
	}
	both, err := set.Intersection(*src.granted)
	if err != nil {
		return tags.Set{}
	}
	return both
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
	src.permit(src.who, action)
	if !before.Equal(src.rights) {
		src.consider()
	}
	return 1 + before.Parts() + src.rights.Parts()
}
