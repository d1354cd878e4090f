// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"maps"
	"slices"

	"tagbus/bus/internal/rivals"
	"tagbus/tags"
)

// turnSteps bounds the comparisons of publishers in one turn of the loop, for one event
// of the directory. The rest waits for another turn.
const turnSteps = tags.MaxSteps

// pair is two publishers that are to be compared.
type pair struct{ a, b *source }

// meet compares the publisher, which is new or has changed, with all others.
func (src *source) meet() {
	for _, o := range src.sub.sources {
		if o != src {
			src.sub.compare(src, o)
		}
	}
}

// compare determines the common tags of two publishers. A long comparison waits for
// another turn of the loop. Until then both are to send all.
func (s *Subscriber) compare(a, b *source) {
	if s.compared > turnSteps {
		a.served.Defer(&b.served)
		s.compareLater(pair{a, b})
		return
	}
	steps, err := a.served.Compare(&b.served)
	s.compared += steps
	if err != nil {
		a.tooComplex(b, tags.Set{}, err)
	}
}

// compareLater puts off the comparison of two publishers.
func (s *Subscriber) compareLater(p pair) {
	if s.apart == nil {
		s.apart = make(map[pair]struct{})
		s.loop.Post(s.compareRest)
	}
	s.apart[p] = struct{}{}
}

// compareRest goes on with what compare has put off.
func (s *Subscriber) compareRest() {
	rest := s.apart
	s.apart, s.compared = nil, 0
	for p := range rest {
		if s.compared > turnSteps {
			s.compareLater(p)
			continue
		}
		if s.closed.Load() || s.sources[p.a.contact.entry.Instance] != p.a || s.sources[p.b.contact.entry.Instance] != p.b {
			continue
		}
		s.compare(p.a, p.b)
		p.a.checkAllDuplicates()
	}
	if s.apart == nil {
		s.reconsider()
	}
}

// tooComplex reports, once for two editions of their tags, that the common tags of two
// publishers are unknown.
func (src *source) tooComplex(o *source, set tags.Set, err error) {
	src.event(Event{Kind: Problem, Peer: src.contact.describe(), Other: o.contact.describe(), Tags: set, Err: err})
}

// allowed returns the tags that the publisher is to send for a subscription:
// its set, without those that another publisher is to send instead.
func (src *source) allowed(sub *Subscription) tags.Set {
	set := sub.live
	if sub.cfg.Duplicates == DuplicatesAll {
		return set
	}
	budget := rivals.Budget()
	for rival, v := range src.served.Rivals {
		o := rival.Source
		if v.Complex() || o.contact.ended || !o.contact.listed && !o.contact.Ready() {
			continue
		}
		left, err := src.without(o, v, sub, set, budget)
		if err != nil {
			src.tooComplex(o, sub.live, err)
			continue
		}
		set = left
	}
	return set
}

// without returns the tags of a set that publisher o is not to send instead. set is a
// part of the subscription's set.
//
// Errors: tags.ErrTooComplex.
func (src *source) without(o *source, v *rivals.Pair[*source], sub *Subscription, set tags.Set, budget *tags.Budget) (tags.Set, error) {
	if sub.cfg.Duplicates == DuplicatesNewest {
		r := o.requests.Of(sub.id)
		if r == nil {
			return set, nil // it does not send yet
		}
		return v.LeaveToNewer(&o.served, set, r.Acked(), budget)
	}
	left, some, err := v.LeaveToOlder(&src.served, set, budget)
	if some {
		src.sub.alarm(v)
	}
	return left, err
}

// checkDuplicates checks after an acknowledgement whether another publisher sends the
// same tags for the subscription.
func (src *source) checkDuplicates(r *subRequest) {
	if !src.contact.Ready() {
		return
	}
	for rival, v := range src.served.Rivals {
		o := rival.Source
		if v.Complex() || !o.contact.Ready() || o.contact.ended {
			continue
		}
		other := o.requests.Of(r.Sub.id)
		if other == nil || !v.Concerns(r.Acked()) || !v.Concerns(other.Acked()) {
			continue
		}
		src.sub.alarm(v)
		if r.Sub.cfg.Duplicates == DuplicatesNewest {
			o.considerOne(r.Sub) // it may have to step back
		}
	}
}

// checkAllDuplicates is checkDuplicates for all acknowledged subscriptions, after a
// change of the publisher's tags.
func (src *source) checkAllDuplicates() {
	if src.requests.Owing() == 0 {
		return
	}
	left := src.requests.All()
	src.sub.chores.Add(func(budget int) (steps int, done bool) {
		for ; len(left) > 0 && steps < budget; steps += stepsPerRequest * (1 + len(src.sub.sources)) {
			if r := left[len(left)-1]; !r.Acked().IsEmpty() {
				src.checkDuplicates(r)
			}
			left = left[:len(left)-1]
		}
		return steps, len(left) == 0
	})
}

// alarm reports that two publishers serve the same tags, once for all tags that they
// are known to have in common.
func (s *Subscriber) alarm(v *rivals.Pair[*source]) {
	if !v.Report() {
		return
	}
	var wanted []tags.Set
	for sub := range s.subs.All {
		wanted = append(wanted, sub.live)
	}
	later, earlier := v.Order()
	s.event(Event{Kind: Duplicate, Peer: later.contact.describe(), Other: earlier.contact.describe(), Tags: v.Common(tags.Union(wanted...)), Err: ErrDuplicate})
}

// reconsider schedules another decision about which publisher is to send what, after
// one has come, changed or gone.
func (s *Subscriber) reconsider() {
	if s.choosy == 0 || s.reconsidering {
		return
	}
	s.reconsidering = true
	s.loop.Post(func() {
		s.compared = 0
		if s.closed.Load() {
			return
		}
		left := slices.Collect(maps.Values(s.sources))
		s.chores.Add(func(budget int) (steps int, done bool) {
			s.reconsidering = false
			for ; len(left) > 0 && steps < budget; steps++ {
				left[len(left)-1].consider()
				left = left[:len(left)-1]
			}
			if len(left) == 0 {
				s.checkReady()
			}
			return steps, len(left) == 0
		})
	})
}
