// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"tagbus/bus/internal/overlap"
	"tagbus/tags"
)

// choosing is a subscriber as what chooses among the publishers of a tag sees it.
type choosing struct{ *subscriberImpl }

// Presence implements overlap.Side.
func (s choosing) Presence(src *source) overlap.Presence {
	switch c := &src.contact; {
	case s.sources[c.Entry.Instance] != src:
		return overlap.Forgotten
	case c.Ended:
		return overlap.Gone
	case c.Ready():
		return overlap.Ready
	case c.Listed:
		return overlap.Listed
	}
	return overlap.Gone
}

// Divide implements overlap.Side.
func (choosing) Divide(src *source, set tags.Set) (has, rest tags.Set) { return src.rights.Divide(set) }

// Acked implements overlap.Side.
func (choosing) Acked(src *source, sub *subscriptionImpl) tags.Set {
	if r := src.requests.Of(sub.id); r != nil {
		return r.Acked()
	}
	return tags.Set{}
}

// Asked implements overlap.Side.
func (choosing) Asked(src *source) (subs []*subscriptionImpl) {
	if src.requests.Owing() > 0 {
		for _, r := range src.requests.All() {
			subs = append(subs, r.Sub)
		}
	}
	return subs
}

// Consider implements overlap.Side.
func (choosing) Consider(src *source) { src.consider() }

// ConsiderOne implements overlap.Side.
func (choosing) ConsiderOne(src *source, sub *subscriptionImpl) { src.considerOne(sub) }

// Considered implements overlap.Side.
func (s choosing) Considered() { s.checkReady() }

// Overlap implements overlap.Side.
func (s choosing) Overlap(v *overlap.Pair[*source]) {
	var wanted []tags.Set
	for sub := range s.subs.All {
		wanted = append(wanted, sub.live)
	}
	later, earlier := v.Order()
	s.event(Event{Kind: Duplicate, Peer: later.contact.Describe(), Other: earlier.contact.Describe(), Tags: v.Common(tags.Union(wanted...)), Err: ErrDuplicate})
}

// TooComplex implements overlap.Side.
func (choosing) TooComplex(src, o *source, set tags.Set, err error) {
	src.event(Event{Kind: Problem, Peer: src.contact.Describe(), Other: o.contact.Describe(), Tags: set, Err: err})
}

// bar notes whether one side of the connection with a publisher lets the other one in.
func (s *subscriberImpl) bar(src *source, barred bool) {
	if src.rights.Bar(barred) {
		s.duplicates.Reconsider(&src.served)
	}
}
