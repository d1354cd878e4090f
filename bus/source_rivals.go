package bus

import (
	"maps"
	"slices"
	"time"

	"tagbus/bus/directory"
	"tagbus/tags"
)

// announcement is a part of the tags that a publisher serves, with the time at
// which it announced them.
type announcement struct {
	since time.Time
	set   tags.Set
}

const maxAnnouncements = 16

// take takes over what the directory says of the publisher.
func (src *source) take(e directory.Entry) {
	before := src.entry.Tags
	src.entry, src.listed = e, true
	src.edition++
	src.ever = src.ever.Union(e.Tags)
	if err := src.announce(before, e); err != nil || len(src.announced) > maxAnnouncements {
		src.announced = []announcement{{e.Since, e.Tags}} // coarser, but right for the newest ones
	}
}

// announce notes which tags have come and gone.
//
// Errors: tags.ErrTooComplex.
func (src *source) announce(before tags.Set, e directory.Entry) error {
	added, err := e.Tags.Without(before)
	if err != nil {
		return err
	}
	gone, err := before.Without(e.Tags)
	if err != nil {
		return err
	}
	var kept []announcement
	for _, a := range src.announced {
		if a.set, err = a.set.Without(gone); err != nil {
			return err
		}
		if !a.set.IsEmpty() {
			kept = append(kept, a)
		}
	}
	if !added.IsEmpty() {
		kept = append(kept, announcement{e.Since, added})
	}
	src.announced = kept
	return nil
}

// rivalry is what two publishers have in common.
type rivalry struct {
	first, second *source
	editions      [2]int   // of the two, for which the rest holds
	both          tags.Set // served by both
	secondNewer   tags.Set // of those, announced later by second
	firstNewer    tags.Set // the others
	reported      tags.Set // of both, in Duplicate events
}

// rivalry returns what two publishers have in common.
func (src *source) rivalry(o *source) *rivalry {
	v := src.rivals[o]
	if v == nil {
		v = &rivalry{first: src, second: o}
		src.rivals[o], o.rivals[src] = v, v
	}
	if editions := [2]int{v.first.edition, v.second.edition}; v.editions != editions {
		v.editions = editions
		if err := v.compare(); err != nil { // then they are all delivered
			v.both, v.firstNewer, v.secondNewer = tags.Set{}, tags.Set{}, tags.Set{}
			src.sub.event(Event{Kind: Problem, Peer: src.describe(), Other: o.describe(), Err: err})
		}
	}
	return v
}

// compare finds out which tags both publishers serve, and who announced each
// of them later.
//
// Errors: tags.ErrTooComplex.
func (v *rivalry) compare() (err error) {
	v.both, v.firstNewer, v.secondNewer = tags.Set{}, tags.Set{}, tags.Set{}
	if !v.first.entry.Tags.Intersects(v.second.entry.Tags) {
		return nil
	}
	if v.both, err = intersection(v.first.entry.Tags, v.second.entry.Tags); err != nil {
		return err
	}
	for _, a := range v.first.announced {
		for _, b := range v.second.announced {
			if !b.since.After(a.since) && (a.since.After(b.since) || v.first.entry.Instance > v.second.entry.Instance) {
				continue
			}
			common, err := intersection(a.set, b.set)
			if err != nil {
				return err
			}
			v.secondNewer = v.secondNewer.Union(common)
		}
	}
	v.firstNewer, err = v.both.Without(v.secondNewer)
	return err
}

// newer returns the tags that both serve and src announced later.
func (v *rivalry) newer(src *source) tags.Set {
	if src == v.first {
		return v.firstNewer
	}
	return v.secondNewer
}

// intersection returns the tags that are in both sets.
//
// Errors: tags.ErrTooComplex.
func intersection(a, b tags.Set) (tags.Set, error) {
	rest, err := a.Without(b)
	if err != nil {
		return tags.Set{}, err
	}
	return a.Without(rest)
}

// allowed returns the tags that the publisher is to send for a subscription:
// its set, without those that another publisher is to send instead.
func (src *source) allowed(sub *Subscription) tags.Set {
	set := sub.live
	if sub.cfg.Duplicates == DuplicatesAll {
		return set
	}
	for _, o := range src.sub.sources {
		if o == src || o.ended || !o.listed && o.state != contactReady {
			continue
		}
		v := src.rivalry(o)
		others, err := v.newer(src), error(nil) // those that the other one announced first
		if sub.cfg.Duplicates == DuplicatesNewest {
			r := o.requests[sub.id]
			if r == nil || !r.owed {
				continue // it does not send yet
			}
			others, err = intersection(v.newer(o), r.acked)
		} else if others.Intersects(set) {
			src.sub.alarm(v)
		}
		if err == nil {
			others, err = set.Without(others)
		}
		if err != nil {
			src.sub.event(Event{Kind: Problem, Peer: src.describe(), Other: o.describe(), Tags: sub.live, Err: err})
			continue
		}
		set = others
	}
	return set
}

// checkDuplicates looks, when a publisher has acknowledged a subscription,
// whether another one sends the same tags for it.
func (src *source) checkDuplicates(r *request) {
	if src.state != contactReady || src.accepted { // a receiver has as many senders as there are
		return
	}
	for _, o := range src.sub.sources {
		if o == src || o.state != contactReady || o.ended {
			continue
		}
		other := o.requests[r.sub.id]
		if other == nil || !other.owed {
			continue
		}
		v := src.rivalry(o)
		if !v.both.Intersects(r.acked) || !v.both.Intersects(other.acked) {
			continue
		}
		src.sub.alarm(v)
		if r.sub.cfg.Duplicates == DuplicatesNewest {
			o.considerOne(r.sub) // it may have to step back
		}
	}
}

// checkAllDuplicates is checkDuplicates for all that the publisher has acknowledged,
// when it serves other tags.
func (src *source) checkAllDuplicates() {
	if src.owing == 0 {
		return
	}
	left := slices.Collect(maps.Values(src.requests))
	src.sub.chores.add(func(budget int) (steps int, done bool) {
		for ; len(left) > 0 && steps < budget; steps += stepsPerRequest * (1 + len(src.sub.sources)) {
			if r := left[len(left)-1]; r.owed {
				src.checkDuplicates(r)
			}
			left = left[:len(left)-1]
		}
		return steps, len(left) == 0
	})
}

// alarm reports that two publishers serve the same tags, once for all that
// they are known to have in common.
func (s *Subscriber) alarm(v *rivalry) {
	if fresh, err := v.both.Without(v.reported); err == nil && fresh.IsEmpty() {
		return
	}
	v.reported = v.reported.Union(v.both)
	var wanted []tags.Set
	for sub := range s.subs.all {
		wanted = append(wanted, sub.live)
	}
	concerned, err := intersection(v.both, tags.Union(wanted...))
	if err != nil {
		concerned = v.both
	}
	later, earlier := v.second, v.first
	if v.secondNewer.IsEmpty() {
		later, earlier = earlier, later
	}
	s.event(Event{Kind: Duplicate, Peer: later.describe(), Other: earlier.describe(), Tags: concerned, Err: ErrDuplicate})
}

// reconsider looks again, soon, which publisher is to send what, when one has
// come, changed or gone.
func (s *Subscriber) reconsider() {
	if s.choosy == 0 || s.reconsidering {
		return
	}
	s.reconsidering = true
	s.loop.Post(func() {
		if s.closed.Load() {
			return
		}
		left := slices.Collect(maps.Values(s.sources))
		s.chores.add(func(budget int) (steps int, done bool) {
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

// forget drops a publisher that is not going to come back. TagStats still
// tells of it.
func (s *Subscriber) forget(src *source) {
	delete(s.sources, src.entry.Instance)
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
