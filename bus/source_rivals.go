package bus

import (
	"maps"
	"slices"

	"tagbus/tags"
)

// newer returns the tags that both serve and src announced later.
func (v *rivalry) newer(src *source) tags.Set {
	if src == v.first {
		return v.firstNewer
	}
	return v.secondNewer
}

// allowed returns the tags that the publisher is to send for a subscription:
// its set, without those that another publisher is to send instead.
func (src *source) allowed(sub *Subscription) tags.Set {
	set := sub.live
	if sub.cfg.Duplicates == DuplicatesAll {
		return set
	}
	budget := tags.NewBudget(allowedSteps)
	for o, v := range src.rivals {
		if v.complex || o.contact.ended || !o.contact.listed && !o.contact.Ready() {
			continue
		}
		left, err := src.without(o, v, sub, set, budget)
		if err != nil {
			v.tooComplex(src, sub.live, err)
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
func (src *source) without(o *source, v *rivalry, sub *Subscription, set tags.Set, budget *tags.Budget) (tags.Set, error) {
	const passes = 4 // of the ranges of both sets
	budget.Add(passes * (set.Parts() + v.both.Parts()))
	others, err := v.newer(src), error(nil) // those that the other one announced first
	if sub.cfg.Duplicates == DuplicatesNewest {
		r := o.requests.Of(sub.id)
		if r == nil || r.Acked().IsEmpty() {
			return set, nil // it does not send yet
		}
		budget.Add(r.Acked().Parts())
		if others, err = budget.Intersection(v.newer(o), r.Acked()); err != nil {
			return set, err
		}
	} else {
		some, err := budget.Intersects(others, set)
		if err != nil || !some {
			return set, err
		}
		src.sub.alarm(v)
	}
	return budget.Without(set, others)
}

// checkDuplicates checks after an acknowledgement whether another publisher sends the
// same tags for the subscription.
func (src *source) checkDuplicates(r *subRequest) {
	if !src.contact.Ready() {
		return
	}
	for o, v := range src.rivals {
		if v.complex || !o.contact.Ready() || o.contact.ended {
			continue
		}
		other := o.requests.Of(r.Sub.id)
		if other == nil {
			continue
		}
		if !v.both.Intersects(r.Acked()) || !v.both.Intersects(other.Acked()) {
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
func (s *Subscriber) alarm(v *rivalry) {
	if fresh, err := v.both.Without(v.reported); err == nil && fresh.IsEmpty() {
		return
	}
	if v.reported = v.reported.Union(v.both); checkEntry(v.reported) != nil {
		v.reported = tags.Everything() // they change again and again: it is known by now
	}
	var wanted []tags.Set
	for sub := range s.subs.All {
		wanted = append(wanted, sub.live)
	}
	concerned, err := v.both.Intersection(tags.Union(wanted...))
	if err != nil {
		concerned = v.both
	}
	later, earlier := v.second, v.first
	if v.secondNewer.IsEmpty() {
		later, earlier = earlier, later
	}
	s.event(Event{Kind: Duplicate, Peer: later.contact.describe(), Other: earlier.contact.describe(), Tags: concerned, Err: ErrDuplicate})
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

// forget drops a publisher that is not going to come back. TagStats still lists it.
func (s *Subscriber) forget(src *source) {
	delete(s.sources, src.contact.entry.Instance)
	src.contact.Rest()
	for o := range src.rivals {
		delete(o.rivals, src)
	}
	clear(src.rivals)
	s.reconsider()
	if len(src.lanes) == 0 {
		return
	}
	if len(s.past) == maxPast {
		s.past = slices.Delete(s.past, 0, 1)
	}
	s.past = append(s.past, src)
}
