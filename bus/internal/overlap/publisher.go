// SPDX-License-Identifier: Apache-2.0

// Package overlap finds out which publishers serve the same tags, and which of two is to
// send a tag to a subscriber: that which announced it first, or that which announced it
// last.
//
// Sets of strangers can be made to take long. So each answer has a budget, and a pair of
// publishers that exceeds it is Complex: then both are to send all.
//
// Threads: one at a time.
package overlap

import (
	"time"

	"tagbus/bus/internal/tagset"
	"tagbus/tags"
)

// Publisher is what is known of the tags of a publisher.
type Publisher[S any] struct {
	Source S // the publisher

	instance  string
	serves    tags.Set
	lo, hi    tags.Tag       // no tag of serves is outside; lo > hi: it is empty
	ever      tags.Set       // all tags that it has served
	announced []announcement // of the tags that it serves
	rivals    map[*Publisher[S]]*Pair[S]

	place // of an Index
}

// announcement is a part of the tags that a publisher serves, with the time at
// which it announced them.
type announcement struct {
	since time.Time
	set   tags.Set
}

const maxAnnouncements = 16

// Update takes over what the publisher announces. Compare has to follow for all others, or
// for those of Index.Meet.
//
//   - since: when it announced the newest of the tags.
func (p *Publisher[S]) Update(instance string, set tags.Set, since time.Time) {
	before := p.serves
	p.instance, p.serves = instance, set
	p.lo, p.hi = hull(set)
	p.ever = p.ever.Union(set)
	if !tagset.Fits(p.ever) { // it changes again and again
		p.ever = tags.Everything()
	}
	if err := p.announce(before, since); err != nil || len(p.announced) > maxAnnouncements {
		p.announced = []announcement{{since, set}} // coarser, but right for the newest ones
	}
}

// hull returns the least and the largest tag that a set may have. lo is above hi for an
// empty set.
func hull(set tags.Set) (lo, hi tags.Tag) {
	lo = tags.MaxTag
	for from, to := range set.Ranges() {
		lo, hi = min(lo, from), max(hi, to)
	}
	for value, mask := range set.Masks() {
		lo, hi = min(lo, value), max(hi, value|^mask)
	}
	return lo, hi
}

// announce notes which tags have come and gone.
//
// Errors: tags.ErrTooComplex.
func (p *Publisher[S]) announce(before tags.Set, since time.Time) error {
	budget := tags.NewBudget(compareSteps(before, p.serves))
	added, err := budget.Without(p.serves, before)
	if err != nil {
		return err
	}
	gone, err := budget.Without(before, p.serves)
	if err != nil {
		return err
	}
	var kept []announcement
	for _, a := range p.announced {
		if a.set, err = budget.Without(a.set, gone); err != nil {
			return err
		}
		if !a.set.IsEmpty() {
			kept = append(kept, a)
		}
	}
	if !added.IsEmpty() {
		kept = append(kept, announcement{since, added})
	}
	p.announced = kept
	return nil
}

// Ever returns all tags that the publisher has served, or more.
func (p *Publisher[S]) Ever() tags.Set { return p.ever }

// servesNone reports whether it serves no tag of a set, if the budget, to which it adds a pass of both, is enough to tell.
func (p *Publisher[S]) servesNone(set tags.Set, budget *tags.Budget) bool {
	budget.Add(set.Parts() + p.serves.Parts())
	some, err := budget.Intersects(set, p.serves)
	return err == nil && !some
}

// Count returns how many rivals the publisher has.
func (p *Publisher[S]) Count() int { return len(p.rivals) }

// Rivals yields the publishers that serve tags of this one, or have, in any order.
func (p *Publisher[S]) Rivals(yield func(*Publisher[S], *Pair[S]) bool) {
	for o, v := range p.rivals {
		if !yield(o, v) {
			return
		}
	}
}

// Forget drops the publisher from its rivals.
func (p *Publisher[S]) Forget() {
	for o := range p.rivals {
		delete(o.rivals, p)
	}
	clear(p.rivals)
}

// Defer lets two publishers both send all, until Compare.
func (p *Publisher[S]) Defer(o *Publisher[S]) {
	if v := p.rivals[o]; v != nil {
		v.clear()
	}
}

// Compare determines the common tags of two publishers. They are rivals from then on if
// there are any, or were, or if it is too complex to find out.
//
//   - Errors: tags.ErrTooComplex.
func (p *Publisher[S]) Compare(o *Publisher[S]) (steps int, err error) {
	v := p.rivals[o]
	if v == nil {
		if p.lo > o.hi || o.lo > p.hi {
			return 1, nil // as most publishers are, of which there may be thousands
		}
		v = &Pair[S]{first: p, second: o}
	}
	budget := tags.NewBudget(compareSteps(p.serves, o.serves))
	before := budget.Left()
	err = v.compare(budget)
	steps = before - max(0, budget.Left())
	if err != nil {
		v.clear()
		v.complex = true
	}
	if v.both.IsEmpty() && v.reported.IsEmpty() && err == nil {
		delete(p.rivals, o)
		delete(o.rivals, p)
		return steps, nil
	}
	p.add(o, v)
	o.add(p, v)
	return steps, err
}

func (p *Publisher[S]) add(o *Publisher[S], v *Pair[S]) {
	if p.rivals == nil {
		p.rivals = make(map[*Publisher[S]]*Pair[S])
	}
	p.rivals[o] = v
}
