// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"errors"

	"tagbus/acl"
	"tagbus/bus/internal/request"
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
	src.reconsider()
	if action != acl.Publish {
		return // a sender announces nothing
	}
	if refused := door.refuses(who, action, src.contact.entry.Tags, src.contact.entry.Tags); refused != nil {
		src.refuse(refused)
	}
}

// refuse tells that the publisher has announced what it may not send.
func (src *source) refuse(refused *AccessError) {
	if e, tell := src.sub.refusals.event(&src.sub.door, refused, src.contact.peer, src.who); tell {
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
	src.reconsider()
	src.in.Steps += set.Parts() + request.Steps*src.requests.Len()
	src.contact.refusal = "" // of tags that it may have now
	src.requests.AskAnew()
	src.consider()
	src.tellDenied()
}

// tellDenied tells both sides which tags are wanted and not to be had.
func (src *source) tellDenied() {
	if src.telling {
		return // of what is granted now
	}
	src.telling = true
	ep := src.contact.ep
	var missing []tags.Set
	look := src.sub.subs.Each(func(sub *Subscription) (steps int) {
		if set := src.missing(sub); !set.IsEmpty() && len(missing) < maxMissing {
			missing = append(missing, set)
		}
		return 1 + src.accessSteps(sub)
	})
	src.share.Add(func(budget int) (steps int, done bool) {
		if src.contact.ep != ep {
			return 1, true // lost has taken it back
		}
		if steps, done = look(budget); !done && len(missing) < maxMissing {
			return steps, false
		}
		src.telling = false
		src.denied(missing...)
		return steps, true
	})
}

// tellDeniedOf is tellDenied for a subscription that is new, or has changed.
func (src *source) tellDeniedOf(sub *Subscription) {
	if src.granted != nil && !src.awaiting && src.contact.Ready() {
		src.denied(src.missing(sub))
	}
}

// maxMissing is how many subscriptions are told of that miss tags.
const maxMissing = 64

// missing returns the tags of a subscription that the publisher has and does not let this
// side have.
func (src *source) missing(sub *Subscription) tags.Set {
	wanted, err := src.permitted(sub.live).Intersection(src.contact.entry.Tags)
	if err == nil && src.granted != nil {
		wanted, err = wanted.Without(*src.granted)
	}
	if err != nil {
		return tags.Set{}
	}
	return wanted
}

// accessSteps is the cost of comparing a subscription with what may be had.
func (src *source) accessSteps(sub *Subscription) int {
	if src.who == nil && src.granted == nil {
		return 0
	}
	return 3 * sub.live.Parts() // a short set is searched for in a long one
}

// denied tells both sides of tags that are not to be had.
func (src *source) denied(missing ...tags.Set) {
	set := tags.Union(missing...)
	if set.IsEmpty() {
		return
	}
	src.refuse(&AccessError{Who: src.sub.door.name(), Action: acl.Subscribe, Tags: set})
	if bytes, err := some(set, subscription.MaxDenied).MarshalBinary(); err == nil {
		src.requests.InTurn(&subscription.Denied{Set: bytes})
	}
}

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

// has divides a set into the tags that may be had of the publisher, as far as that is known,
// and the others.
func (src *source) has(set tags.Set) (has, rest tags.Set) {
	switch {
	case src.barred:
		return tags.Set{}, set
	case src.who == nil && src.granted == nil:
		return set, tags.Set{}
	}
	has = src.grants(src.permitted(set))
	rest, err := set.Without(has)
	if err != nil {
		return set, tags.Set{}
	}
	return has, rest
}

// bar notes whether one side lets the other one in. Another publisher of the same tags takes
// over meanwhile.
func (src *source) bar(barred bool) {
	if src.barred != barred {
		src.barred = barred
		src.reconsider()
	}
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
	s.work.Add(func(budget int) (steps int, done bool) {
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
	if src.contact.Idle() {
		src.who = nil // which rights it has is seen when it is connected
		src.consider()
	}
	if !src.contact.Ready() && !src.contact.Greeting() {
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
