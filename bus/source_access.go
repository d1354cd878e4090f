// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"errors"
	"maps"
	"slices"

	"tagbus/acl"
	"tagbus/bus/internal/door"
	"tagbus/bus/internal/group"
	"tagbus/bus/internal/request"
	"tagbus/bus/internal/workqueue"
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
	who, err := src.sub.meet(&src.contact, acl.Publish)
	if err == nil {
		src.permit(who.Identity(), acl.Publish)
	}
	return err
}

// permit notes of which tags a peer may send messages. What it has announced besides is not
// asked for.
func (src *source) permit(who *identity.Peer, action acl.Action) {
	door := &src.sub.door
	if who == nil {
		src.rights.Forget()
		src.unsendable = tags.Set{}
		return
	}
	src.rights.Permit(who, door.Allowed(who, action))
	src.sub.duplicates.Reconsider(&src.served)
	if action != acl.Publish { // a sender announces nothing
		src.unsendable = src.denies(tags.Everything())
		return
	}
	if refused := door.Refuses(who, action, src.contact.Entry.Tags, src.contact.Entry.Tags); refused != nil {
		src.refuse(refused)
	}
}

// tellTaken tells of the tags that a sender may send no more, of those that this side has.
//
//   - before: what it might send.
func (src *source) tellTaken(before tags.Set) {
	if !src.sub.isDialed() {
		return // what a publisher announces is compared with what it may send
	}
	if taken := src.denies(before); !taken.IsEmpty() {
		src.refuse(src.sub.door.Refuse(door.Refusal{Who: src.rights.Peer().Principal, Action: acl.Send, Tags: taken}))
	}
}

// denies returns the tags of a set that this side receives, and a sender may not send; none if that
// is too complex.
func (src *source) denies(of tags.Set) tags.Set {
	if src.rights.Peer() == nil {
		return tags.Set{}
	}
	var own tags.Set
	for sub := range src.sub.subs.All { // a receiver has one
		own = own.Union(sub.live)
	}
	taken, err := own.Intersection(of)
	if err == nil {
		taken, err = taken.Without(src.rights.Sends())
	}
	if err != nil {
		return tags.Set{}
	}
	return taken
}

// refuse tells that the publisher has announced what it may not send.
func (src *source) refuse(refused error) {
	if e, tell := src.sub.refused(refused, src.contact.Peer, src.rights.Peer()); tell {
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
	src.contact.Refusal = "" // of tags that it may have now
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
	ep := src.contact.Ep
	var missing []tags.Set
	look := src.sub.subs.Each(func(sub *subscriptionImpl) (steps int) {
		if set := src.rights.Missing(sub.live, src.contact.Entry.Tags); !set.IsEmpty() && len(missing) < maxMissing {
			missing = append(missing, set)
		}
		return 1 + src.rights.Cost(sub.live)
	})
	src.share.Add(func(budget int) (steps int, done bool) {
		if src.contact.Ep != ep {
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
		src.denied(src.rights.Missing(sub.live, src.contact.Entry.Tags))
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
	src.refuse(&AccessError{Who: src.sub.door.Name(), Action: acl.Subscribe, Tags: set})
	if m, err := group.DeniedOf(set); err == nil {
		src.requests.InTurn(m)
	}
}

// reviewAccess looks at all publishers again, after a change of what is allowed. Loop only.
func (s *subscriberImpl) reviewAccess() {
	if s.closed.Load() {
		return
	}
	s.work.Add(workqueue.Each(slices.Collect(maps.Values(s.sources)), (*source).review))
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
	if err := src.sub.door.Expired(src.rights.Peer()); err != nil {
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
		src.tellTaken(before)
	}
	return 1 + before.Parts() + src.rights.Sends().Parts()
}
