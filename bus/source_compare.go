package bus

import "tagbus/tags"

// rivalry is what two publishers have in common.
type rivalry struct {
	first, second *source
	both          tags.Set // served by both
	secondNewer   tags.Set // of those, announced later by second
	firstNewer    tags.Set // the others
	reported      tags.Set // of both, in Duplicate events
	complex       bool     // the comparison is too complex: all is delivered; reported once for two editions
}

// Bounds of the work for one event of the directory.
const (
	// turnSteps bounds the comparisons of publishers in one turn of the loop. The rest
	// waits for another turn.
	turnSteps = tags.MaxSteps

	// allowedSteps bounds the work, beyond that for ranges, of determining the tags
	// that a publisher is to send for a subscription.
	allowedSteps = tags.MaxSteps / 4
)

// compareSteps bounds the comparison of two sets. The bound is enough for sets of
// ranges only that were announced in few parts.
func compareSteps(a, b tags.Set) int { return tags.MaxSteps/4 + 8*(a.Parts()+b.Parts()) }

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
	budget := tags.NewBudget(compareSteps(a.contact.entry.Tags, b.contact.entry.Tags))
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

func (v *rivalry) clear() {
	v.both, v.firstNewer, v.secondNewer, v.complex = tags.Set{}, tags.Set{}, tags.Set{}, false
}

// tooComplex notes and reports that the common tags of two publishers are unknown.
func (v *rivalry) tooComplex(src *source, set tags.Set, err error) {
	other := v.first
	if other == src {
		other = v.second
	}
	v.complex = true
	src.sub.event(Event{Kind: Problem, Peer: src.contact.describe(), Other: other.contact.describe(), Tags: set, Err: err})
}

// compare determines which tags both publishers serve, and which of the two announced
// each of them later.
//
// Errors: tags.ErrTooComplex.
func (v *rivalry) compare(budget *tags.Budget) (err error) {
	v.clear()
	some, err := budget.Intersects(v.first.contact.entry.Tags, v.second.contact.entry.Tags)
	if err != nil || !some {
		return err
	}
	if v.both, err = budget.Intersection(v.first.contact.entry.Tags, v.second.contact.entry.Tags); err != nil {
		return err
	}
	if checkEntry(v.both) != nil {
		return tags.ErrTooComplex // it is compared with every subscription
	}
	for _, a := range v.first.announced {
		for _, b := range v.second.announced {
			if !b.since.After(a.since) && (a.since.After(b.since) || v.first.contact.entry.Instance > v.second.contact.entry.Instance) {
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
