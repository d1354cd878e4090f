package bus

import (
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
	src.ever = src.ever.Union(e.Tags)
	if checkEntry(src.ever) != nil { // it changes again and again
		src.ever = tags.Everything()
	}
	if err := src.announce(before, e); err != nil || len(src.announced) > maxAnnouncements {
		src.announced = []announcement{{e.Since, e.Tags}} // coarser, but right for the newest ones
	}
}

// announce notes which tags have come and gone.
//
// Errors: tags.ErrTooComplex.
func (src *source) announce(before tags.Set, e directory.Entry) error {
	budget := tags.NewBudget(compareSteps(before, e.Tags))
	added, err := budget.Without(e.Tags, before)
	if err != nil {
		return err
	}
	gone, err := budget.Without(before, e.Tags)
	if err != nil {
		return err
	}
	var kept []announcement
	for _, a := range src.announced {
		if a.set, err = budget.Without(a.set, gone); err != nil {
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
	both          tags.Set // served by both
	secondNewer   tags.Set // of those, announced later by second
	firstNewer    tags.Set // the others
	reported      tags.Set // of both, in Duplicate events
	complex       bool     // it cannot be found out: all is delivered; reported once for two editions
}

// Bounds of the work for one event of the directory.
const (
	// turnSteps is the work of comparing publishers after which the rest waits for
	// another turn of the loop.
	turnSteps = tags.MaxSteps

	// allowedSteps is the work, beyond that for ranges, of finding out what a publisher
	// is to send for a subscription.
	allowedSteps = tags.MaxSteps / 4
)

// compareSteps returns what comparing two sets may take: enough for all that are only
// ranges and were announced in few parts.
func compareSteps(a, b tags.Set) int { return tags.MaxSteps/4 + 8*(a.Parts()+b.Parts()) }

// pair is two publishers that are to be compared.
type pair struct{ a, b *source }

// meet compares the publisher, which is new or has changed, with all others.
func (src *source) meet() {
	for _, o := range src.sub.sources {
		if o != src && !o.accepted {
			src.sub.compare(src, o)
		}
	}
}

// compare finds out what two publishers have in common, or soon will: what takes long
// is done in several turns of the loop. Until then both are to send all.
func (s *Subscriber) compare(a, b *source) {
	v := a.rivals[b]
	if v != nil {
		v.clear()
	}
	if s.compared > turnSteps {
		s.compareLater(pair{a, b})
		return
	}
	if v == nil {
		v = &rivalry{first: a, second: b}
	}
	budget := tags.NewBudget(compareSteps(a.entry.Tags, b.entry.Tags))
	before := budget.Left()
	err := v.compare(budget)
	s.compared += before - max(0, budget.Left())
	if err != nil {
		v.clear()
		v.tooComplex(a, tags.Set{}, err)
	}
	if v.both.IsEmpty() && v.reported.IsEmpty() && err == nil {
		delete(a.rivals, b)
		delete(b.rivals, a)
		return
	}
	a.rivals[b], b.rivals[a] = v, v
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
		if s.closed.Load() || s.sources[p.a.entry.Instance] != p.a || s.sources[p.b.entry.Instance] != p.b {
			continue
		}
		s.compare(p.a, p.b)
		for _, r := range p.a.requests {
			if r.owed {
				p.a.checkDuplicates(r)
			}
		}
	}
	if s.apart == nil {
		s.reconsider()
	}
}

func (v *rivalry) clear() {
	v.both, v.firstNewer, v.secondNewer, v.complex = tags.Set{}, tags.Set{}, tags.Set{}, false
}

// tooComplex gives up to find out what two publishers have in common, and says so.
func (v *rivalry) tooComplex(src *source, set tags.Set, err error) {
	other := v.first
	if other == src {
		other = v.second
	}
	v.complex = true
	src.sub.event(Event{Kind: Problem, Peer: src.describe(), Other: other.describe(), Tags: set, Err: err})
}

// compare finds out which tags both publishers serve, and who announced each
// of them later.
//
// Errors: tags.ErrTooComplex.
func (v *rivalry) compare(budget *tags.Budget) (err error) {
	v.clear()
	some, err := budget.Intersects(v.first.entry.Tags, v.second.entry.Tags)
	if err != nil || !some {
		return err
	}
	if v.both, err = budget.Intersection(v.first.entry.Tags, v.second.entry.Tags); err != nil {
		return err
	}
	if checkEntry(v.both) != nil {
		return tags.ErrTooComplex // it is compared with every subscription
	}
	for _, a := range v.first.announced {
		for _, b := range v.second.announced {
			if !b.since.After(a.since) && (a.since.After(b.since) || v.first.entry.Instance > v.second.entry.Instance) {
				continue
			}
			common, err := budget.Intersection(a.set, b.set)
			if err != nil {
				return err
			}
			v.secondNewer = v.secondNewer.Union(common)
		}
	}
	v.firstNewer, err = budget.Without(v.both, v.secondNewer)
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
func intersection(a, b tags.Set) (tags.Set, error) { return a.Intersection(b) }

// allowed returns the tags that the publisher is to send for a subscription:
// its set, without those that another publisher is to send instead.
func (src *source) allowed(sub *Subscription) tags.Set {
	set := sub.live
	if sub.cfg.Duplicates == DuplicatesAll {
		return set
	}
	budget := tags.NewBudget(allowedSteps)
	for o, v := range src.rivals {
		if v.complex || o.ended || !o.listed && o.state != contactReady {
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

// without returns the tags of a set, a part of what a subscription wants, that another
// publisher is not to send instead.
//
// Errors: tags.ErrTooComplex.
func (src *source) without(o *source, v *rivalry, sub *Subscription, set tags.Set, budget *tags.Budget) (tags.Set, error) {
	const passes = 4 // of the ranges of both sets
	budget.Add(passes * (set.Parts() + v.both.Parts()))
	others, err := v.newer(src), error(nil) // those that the other one announced first
	if sub.cfg.Duplicates == DuplicatesNewest {
		r := o.requests[sub.id]
		if r == nil || !r.owed {
			return set, nil // it does not send yet
		}
		budget.Add(r.acked.Parts())
		if others, err = budget.Intersection(v.newer(o), r.acked); err != nil {
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

// checkDuplicates looks, when a publisher has acknowledged a subscription,
// whether another one sends the same tags for it.
func (src *source) checkDuplicates(r *request) {
	if src.state != contactReady || src.accepted { // a receiver has as many senders as there are
		return
	}
	for o, v := range src.rivals {
		if v.complex || o.state != contactReady || o.ended {
			continue
		}
		other := o.requests[r.sub.id]
		if other == nil || !other.owed {
			continue
		}
		if !v.both.Intersects(r.acked) || !v.both.Intersects(other.acked) {
			continue
		}
		src.sub.alarm(v)
		if r.sub.cfg.Duplicates == DuplicatesNewest {
			o.considerOne(r.sub) // it may have to step back
		}
	}
}

// alarm reports that two publishers serve the same tags, once for all that
// they are known to have in common.
func (s *Subscriber) alarm(v *rivalry) {
	if fresh, err := v.both.Without(v.reported); err == nil && fresh.IsEmpty() {
		return
	}
	if v.reported = v.reported.Union(v.both); checkEntry(v.reported) != nil {
		v.reported = tags.Everything() // they change again and again: it is known by now
	}
	var wanted []tags.Set
	for _, sub := range s.subs {
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
		s.reconsidering, s.compared = false, 0
		if s.closed.Load() {
			return
		}
		for _, src := range s.sources {
			src.consider()
		}
		s.checkReady()
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
