// SPDX-License-Identifier: Apache-2.0

package overlap

import (
	"tagbus/bus/internal/tagset"
	"tagbus/tags"
)

// Index finds the publishers that may have tags in common with one, so that only these
// are compared with it. The zero value is empty.
//
// A publisher is known by one interval, from its first to its last tag, as long as others
// have few tags there; then by each of its ranges. A publisher with masks is compared with
// all others.
type Index[S any] struct {
	all    map[*Publisher[S]]struct{}
	masked map[*Publisher[S]]struct{} // of those
	tree   intervals[S]               // of the others
	number uint64                     // given last
}

// place is what an index has of a publisher.
type place struct {
	number uint64
	set    tags.Set // in this state, in the tree
	fine   bool     // each range, not only the whole
	vain   int      // how often its whole met another one
}

const (
	// maxVain is how often a publisher may be compared because of a gap between its tags.
	maxVain = 4

	// maxIntervals bounds the intervals of a publisher in the tree. If it has more ranges,
	// some that are side by side become one.
	maxIntervals = 1024
)

// Meet enters a publisher, or what it has announced since, and returns those that Compare
// has to follow for: all that have a tag in common with it, or had, and some others.
//
//   - most: how many steps may be spent to find them before all others are returned.
func (x *Index[S]) Meet(p *Publisher[S], most int) (others []*Publisher[S], steps int) {
	begun := x.tree.steps
	near, fine, ok := x.near(p, begun+most)
	if p.indexed() {
		x.leave(p)
	}
	p.fine = p.fine || fine
	x.enter(p)
	if !ok {
		near = x.all
	}
	for o := range near {
		if o != p {
			others = append(others, o)
		}
	}
	if ok {
		for o := range p.rivals { // they may have nothing in common any more
			if _, known := near[o]; !known {
				others = append(others, o)
			}
		}
	}
	return others, x.tree.steps - begun + len(others)
}

// Put enters a publisher, or what it has announced since, as Meet does, and finds no others.
func (x *Index[S]) Put(p *Publisher[S]) (steps int) {
	begun := x.tree.steps
	if p.indexed() {
		x.leave(p)
	}
	x.enter(p)
	return x.tree.steps - begun
}

// near returns the publishers whose intervals, or masks, have a tag of p.
//
//   - fine: others have tags between those of p.
//   - ok: false if it takes too long, or p has masks.
func (x *Index[S]) near(p *Publisher[S], most int) (near map[*Publisher[S]]struct{}, fine, ok bool) {
	if tagset.HasMasks(p.serves) {
		return nil, p.fine, false
	}
	near = make(map[*Publisher[S]]struct{}, len(x.masked))
	for o := range x.masked {
		near[o] = struct{}{}
	}
	if p.lo > p.hi {
		return near, false, true
	}
	x.tree.meet(p.lo, p.hi, func(o *Publisher[S]) bool {
		fine = o != p
		return !fine
	})
	if !fine {
		return near, false, true
	}
	ok = true
	var vague []*Publisher[S]
	for lo, hi := range cover(p.serves) {
		x.tree.meet(lo, hi, func(o *Publisher[S]) bool {
			if _, known := near[o]; !known && o != p {
				near[o] = struct{}{}
				if !o.fine {
					vague = append(vague, o)
				}
			}
			ok = x.tree.steps < most
			return ok
		})
		if !ok {
			break
		}
	}
	x.refine(vague, most)
	return near, true, ok
}

// refine enters the ranges of publishers that were met too often, in place of the whole.
func (x *Index[S]) refine(vague []*Publisher[S], most int) {
	for _, o := range vague {
		if o.vain++; o.vain > maxVain && x.tree.steps < most {
			x.leave(o)
			o.fine = true
			x.enter(o)
		}
	}
}

// Steps returns how many steps all calls have taken so far.
func (x *Index[S]) Steps() int { return x.tree.steps }

// Forget removes a publisher, if it is entered.
func (x *Index[S]) Forget(p *Publisher[S]) {
	if p.indexed() {
		x.leave(p)
		p.place = place{}
	}
}

func (p *Publisher[S]) indexed() bool { return p.number > 0 }

// enter enters a publisher that is not entered.
func (x *Index[S]) enter(p *Publisher[S]) {
	if x.all == nil {
		x.all, x.masked = make(map[*Publisher[S]]struct{}), make(map[*Publisher[S]]struct{})
	}
	if x.all[p] = struct{}{}; p.number == 0 {
		x.number++
		p.number = x.number
	}
	p.set = p.serves
	if tagset.HasMasks(p.set) {
		x.masked[p] = struct{}{}
		return
	}
	for lo, hi := range p.intervals() {
		x.tree.add(lo, hi, p)
	}
}

// leave removes a publisher that is entered.
func (x *Index[S]) leave(p *Publisher[S]) {
	delete(x.all, p)
	if tagset.HasMasks(p.set) {
		delete(x.masked, p)
		return
	}
	for lo := range p.intervals() {
		x.tree.remove(lo, p)
	}
}

// intervals yields what the tree has of a publisher.
func (p *Publisher[S]) intervals() func(yield func(lo, hi tags.Tag) bool) {
	if p.fine {
		return cover(p.set)
	}
	return func(yield func(lo, hi tags.Tag) bool) {
		if lo, hi := hull(p.set); lo <= hi {
			yield(lo, hi)
		}
	}
}

// cover yields intervals that have all tags of a set without masks, and more if it has
// many ranges.
func cover(set tags.Set) func(yield func(lo, hi tags.Tag) bool) {
	each := (set.Parts() + maxIntervals - 1) / maxIntervals // ranges of an interval
	return func(yield func(lo, hi tags.Tag) bool) {
		var first, last tags.Tag
		n := 0
		for lo, hi := range set.Ranges() {
			if n == 0 {
				first = lo
			}
			if last, n = hi, n+1; n < each {
				continue
			}
			if n = 0; !yield(first, last) {
				return
			}
		}
		if n > 0 {
			yield(first, last)
		}
	}
}
