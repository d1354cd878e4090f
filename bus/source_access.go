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
func (r *receiverImpl) enter(g *guest, action acl.Action) (err error) {
	if g.who, err = r.sub.door.identify(g.ep); err != nil {
		return err
	}
	return r.sub.door.enters(g.who, action)
}

// permit notes of which tags a peer may send messages. What it has announced besides is not
// asked for.
func (src *source) permit(who *identity.Peer, action acl.Action) {
	door := &src.sub.door
	if who == nil {
		src.rights.Forget()
		return
	}
	src.rights.Permit(who, door.access.Allowed(who.Principal, action))
	src.sub.duplicates.Reconsider(&src.served)
	if action != acl.Publish {
		return // a sender announces nothing
	}
	if refused := door.refuses(who, action, src.contact.entry.Tags, src.contact.entry.Tags); refused != nil {
		src.refuse(refused)
	}
}

// refuse tells that the publisher has announced what it may not send.
func (src *source) refuse(refused *AccessError) {
	if e, tell := src.sub.refusals.event(&src.sub.door, refused, src.contact.peer, src.rights.Peer()); tell {
		src.event(e)
	}
}

// onRights takes what this side may have of the publisher.
func (src *source) onRights(m *subscription.Rights) {
	set, complete, err := src.rights.Take(m)
	if err != nil {
		src.fail(errors.Join(ErrProtocol, err))
		return
	}
	if !complete {
		return
	}
	src.sub.duplicates.Reconsider(&src.served)
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
	look := src.sub.subs.Each(func(sub *subscriptionImpl) (steps int) {
		if set := src.rights.Missing(sub.live, src.contact.entry.Tags); !set.IsEmpty() && len(missing) < maxMissing {
			missing = append(missing, set)
		}
		return 1 + src.rights.Cost(sub.live)
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
func (src *source) tellDeniedOf(sub *subscriptionImpl) {
	if src.rights.Limited() && !src.rights.Awaited() && src.contact.Ready() {
		src.denied(src.rights.Missing(sub.live, src.contact.entry.Tags))
	}
}

// maxMissing is how many subscriptions are told of that miss tags.
const maxMissing = 64

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

// reviewAccess looks at all publishers again, after a change of what is allowed. Loop only.
func (s *subscriberImpl) reviewAccess() {
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
	if src.sub.closed.Load() || src.rights.Peer() == nil {
		return 1
	}
	if !src.contact.Ready() && !src.contact.Greeting() {
		src.rights.Forget() // which rights it has is seen when it is connected, also if it is dialed later
		src.consider()
		return 1
	}
	if err := src.sub.door.expired(src.rights.Peer()); err != nil {
		src.fail(err)
		return 1
	}
	action := acl.Publish
	if src.sub.isDialed() {
		action = acl.Send
	}
	before := src.rights.Sends()
	src.permit(src.rights.Peer(), action)
	if !before.Equal(src.rights.Sends()) {
		src.consider()
	}
	return 1 + before.Parts() + src.rights.Sends().Parts()
}
