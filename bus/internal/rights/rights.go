// SPDX-License-Identifier: Apache-2.0

// Package rights knows what a subscriber and one publisher may have of each other: which
// tags the publisher may send, by the policy of this side, and which ones it lets this side
// have, as it says itself.
//
// What is not known yet is allowed: the connection shows it. Everything here runs on the
// loop. Nothing is locked.
package rights

import (
	"tagbus/bus/internal/group"
	"tagbus/identity"
	"tagbus/subscription"
	"tagbus/tags"
)

// Rights are those between a subscriber and one publisher. The zero value allows all.
type Rights struct {
	who      *identity.Peer // that the transport has proved; nil: there is no policy, or no connection yet
	sends    tags.Set       // of which it may send messages, with who
	granted  *tags.Set      // that this side may have of it; nil: all
	incoming group.Rights   // of granted
	awaiting bool           // the publisher is about to say that
	barred   bool           // one side has not let the other one in, at the last try
}

// Peer returns the publisher, as the transport has proved; nil if that is not known.
func (r *Rights) Peer() *identity.Peer { return r.who }

// Forget forgets who the publisher is: the next connection shows it.
func (r *Rights) Forget() { r.who = nil }

// Permit notes who the publisher is, and of which tags it may send messages.
//
//   - who: nil without a policy, and sends does not count.
func (r *Rights) Permit(who *identity.Peer, sends tags.Set) { r.who, r.sends = who, sends }

// Sends returns the tags of which the publisher may send messages, with Peer.
func (r *Rights) Sends() tags.Set { return r.sends }

// Begin notes whether the publisher says on this connection what this side may have.
func (r *Rights) Begin(limited bool) {
	r.awaiting, r.incoming = limited, group.Rights{}
	if !limited {
		r.granted = nil
	}
}

// Take takes a part of what the publisher lets this side have. It returns the set with the
// last one, and then it holds.
//
// Errors: those of group.Rights.Add.
func (r *Rights) Take(m *subscription.Rights) (set tags.Set, complete bool, err error) {
	if set, complete, err = r.incoming.Add(m); complete && err == nil {
		r.granted, r.awaiting = &set, false
	}
	return set, complete, err
}

// Awaited reports whether the publisher is about to say what this side may have. Nothing is
// asked for before.
func (r *Rights) Awaited() bool { return r.awaiting }

// Limited reports whether the publisher has said what this side may have, on this
// connection or an earlier one.
func (r *Rights) Limited() bool { return r.granted != nil }

// Bar notes whether one side lets the other one in, and reports whether that is new. Another
// publisher of the same tags takes over meanwhile.
func (r *Rights) Bar(barred bool) (changed bool) {
	changed = r.barred != barred
	r.barred = barred
	return changed
}

// Permitted returns those tags of a set that the publisher may send.
func (r *Rights) Permitted(set tags.Set) tags.Set {
	if r.who == nil {
		return set
	}
	return common(set, r.sends)
}

// Both returns those tags of a set that the publisher may send and lets this side have.
func (r *Rights) Both(set tags.Set) tags.Set {
	set = r.Permitted(set)
	if r.granted == nil {
		return set
	}
	return common(set, *r.granted)
}

// common returns the tags that two sets have in common, none if that is too complex.
func common(a, b tags.Set) tags.Set {
	both, err := a.Intersection(b)
	if err != nil {
		return tags.Set{}
	}
	return both
}

// Missing returns those tags of a set that the publisher serves and may send, and does not
// let this side have.
func (r *Rights) Missing(set, serves tags.Set) tags.Set {
	missing, err := r.Permitted(set).Intersection(serves)
	if err == nil && r.granted != nil {
		missing, err = missing.Without(*r.granted)
	}
	if err != nil {
		return tags.Set{}
	}
	return missing
}

// Divide divides a set into the tags that may be had of the publisher, as far as that is
// known, and the others.
func (r *Rights) Divide(set tags.Set) (has, rest tags.Set) {
	switch {
	case r.barred:
		return tags.Set{}, set
	case r.who == nil && r.granted == nil:
		return set, tags.Set{}
	}
	has = r.Both(set)
	rest, err := set.Without(has)
	if err != nil {
		return set, tags.Set{}
	}
	return has, rest
}

// Cost returns the steps for a comparison of a set with what may be had.
func (r *Rights) Cost(set tags.Set) (steps int) {
	if r.who == nil && r.granted == nil {
		return 0
	}
	return 3 * set.Parts() // a short set is searched for in a long one
}
