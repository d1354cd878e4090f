// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"tagbus/bus/internal/overlap"
	"tagbus/bus/internal/request"
	"tagbus/bus/internal/workqueue"
	"tagbus/tags"
)

// pair is two publishers that are to be compared.
type pair struct{ a, b *source }

// meet compares the publisher, which is new or has changed, with all others that may serve
// the same tags. What takes long is put off: until then both publishers are to send all.
func (src *source) meet() (steps int) {
	s := src.sub
	others, steps := s.index.Meet(&src.served, workqueue.SliceSteps)
	for _, o := range others {
		if steps < workqueue.SliceSteps {
			steps += s.compare(src, o.Source)
			continue
		}
		src.served.Defer(o)
		s.compareLater(pair{src, o.Source})
		steps++
	}
	return steps
}

// compare determines the common tags of two publishers.
func (s *Subscriber) compare(a, b *source) (steps int) {
	steps, err := a.served.Compare(&b.served)
	if err != nil {
		a.tooComplex(b, tags.Set{}, err)
	}
	return 1 + steps/setStepsPerStep
}

// compareLater puts off the comparison of two publishers.
func (s *Subscriber) compareLater(p pair) {
	if s.apart == nil {
		s.apart = make(map[pair]struct{})
		s.work.Add(s.compareRest)
	}
	s.apart[p] = struct{}{}
}

// compareRest is the job that does what meet has put off.
func (s *Subscriber) compareRest(budget int) (steps int, done bool) {
	for p := range s.apart {
		if steps >= budget {
			return steps, false
		}
		delete(s.apart, p)
		if steps++; s.sources[p.a.contact.entry.Instance] != p.a || s.sources[p.b.contact.entry.Instance] != p.b {
			continue
		}
		steps += s.compare(p.a, p.b)
		p.a.checkAllDuplicates()
		p.a.reconsider()
	}
	s.apart = nil
	return steps, true
}

// tooComplex reports, once for two editions of their tags, that the common tags of two
// publishers are unknown.
func (src *source) tooComplex(o *source, set tags.Set, err error) {
	src.event(Event{Kind: Problem, Peer: src.contact.describe(), Other: o.contact.describe(), Tags: set, Err: err})
}

// allowed returns the tags that the publisher is to send for a subscription:
// its set, without those that another publisher is to send instead.
func (src *source) allowed(sub *Subscription) tags.Set {
	return src.choose(sub, src.grants(src.permitted(sub.live)))
}

// choose returns those tags of a set that no other publisher is to send instead.
func (src *source) choose(sub *Subscription, set tags.Set) tags.Set {
	if sub.cfg.Duplicates == DuplicatesAll {
		return set
	}
	budget := overlap.Budget()
	for rival, v := range src.served.Rivals {
		o := rival.Source
		if v.Complex() || o.contact.ended || !o.contact.listed && !o.contact.Ready() {
			continue
		}
		has, rest := o.has(set)
		left, err := src.without(o, v, sub, has, budget)
		if err != nil {
			src.tooComplex(o, sub.live, err)
			continue
		}
		if set = left; !rest.IsEmpty() {
			set = left.Union(rest)
		}
	}
	return set
}

// without returns the tags of a set that publisher o is not to send instead. set is a
// part of the subscription's set.
//
// Errors: tags.ErrTooComplex.
func (src *source) without(o *source, v *overlap.Pair[*source], sub *Subscription, set tags.Set, budget *tags.Budget) (tags.Set, error) {
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
	src.sub.work.Add(func(budget int) (steps int, done bool) {
		for ; len(left) > 0 && steps < budget; steps += request.Steps * (1 + src.served.Count()) {
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
func (s *Subscriber) alarm(v *overlap.Pair[*source]) {
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

// reconsider schedules another decision about what the publisher and its rivals are to
// send, after it has come, changed or gone.
func (src *source) reconsider() {
	s := src.sub
	if s.choosy == 0 || src.served.Count() == 0 {
		return
	}
	if s.unsure == nil {
		s.unsure = make(map[*source]struct{})
		s.loop.Post(func() { s.work.Add(s.reconsiderAll) })
	}
	s.unsure[src] = struct{}{}
	for rival := range src.served.Rivals {
		s.unsure[rival.Source] = struct{}{}
	}
}

// reconsiderAll is the job that decides what reconsider has scheduled.
func (s *Subscriber) reconsiderAll(budget int) (steps int, done bool) {
	for len(s.unsure) > 0 { // consider may add some
		for src := range s.unsure {
			if steps >= budget {
				return steps, false
			}
			delete(s.unsure, src)
			if steps++; s.sources[src.contact.entry.Instance] == src {
				src.consider()
			}
		}
	}
	s.unsure = nil
	s.checkReady()
	return steps, true
}
