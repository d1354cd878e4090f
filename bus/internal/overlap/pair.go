// SPDX-License-Identifier: Apache-2.0

package overlap

import (
	"tagbus/bus/internal/tagset"
	"tagbus/tags"
)

// Pair is what two publishers have in common.
type Pair[S any] struct {
	first, second *Publisher[S]
	both          tags.Set // served by both
	secondNewer   tags.Set // of those, announced later by second
	firstNewer    tags.Set // the others
	reported      tags.Set // of both, by Report
	complex       bool     // the comparison is too complex: all is delivered
}

// compareSteps bounds the comparison of two sets. The bound is enough for sets of
// ranges only that were announced in few parts.
func compareSteps(a, b tags.Set) int { return tags.MaxSteps/4 + 8*(a.Parts()+b.Parts()) }

// Budget returns one for the calls of LeaveToOlder and LeaveToNewer that determine what
// a publisher is to send for one subscription. These add the steps for ranges.
func Budget() *tags.Budget { return tags.NewBudget(tags.MaxSteps / 4) }

func (v *Pair[S]) clear() {
	v.both, v.firstNewer, v.secondNewer, v.complex = tags.Set{}, tags.Set{}, tags.Set{}, false
}

// compare determines which tags both publishers serve, and which of the two announced
// each of them later.
//
// Errors: tags.ErrTooComplex.
func (v *Pair[S]) compare(budget *tags.Budget) (err error) {
	v.clear()
	some, err := budget.Intersects(v.first.serves, v.second.serves)
	if err != nil || !some {
		return err
	}
	if v.both, err = budget.Intersection(v.first.serves, v.second.serves); err != nil {
		return err
	}
	if !tagset.Fits(v.both) {
		return tags.ErrTooComplex // it is compared with every subscription
	}
	for _, a := range v.first.announced {
		for _, b := range v.second.announced {
			if !b.since.After(a.since) && (a.since.After(b.since) || v.first.instance > v.second.instance) {
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

// Complex reports whether the common tags are unknown, because it takes too long to find
// out: then both publishers are to send all.
func (v *Pair[S]) Complex() bool { return v.complex }

// Concerns reports whether both publishers serve a tag of a set.
func (v *Pair[S]) Concerns(set tags.Set) bool { return v.both.Intersects(set) }

// newer returns the tags that both serve and p announced later.
func (v *Pair[S]) newer(p *Publisher[S]) tags.Set {
	if p == v.first {
		return v.firstNewer
	}
	return v.secondNewer
}

// LeaveToOlder returns what publisher p is to send of a set: all but the tags that the
// other one announced first. The pair is Complex after an error.
//
//   - Result: whether both serve a tag of the set that p announced later; even with an
//     error.
//   - Errors: tags.ErrTooComplex.
func (v *Pair[S]) LeaveToOlder(p *Publisher[S], set tags.Set, budget *tags.Budget) (left tags.Set, some bool, err error) {
	v.allow(set, budget)
	others := v.newer(p)
	some, err = budget.Intersects(others, set)
	switch {
	case err != nil:
		v.complex = true
		return set, false, err
	case !some:
		return set, false, nil
	}
	left, err = v.without(set, others, budget)
	return left, true, err
}

// LeaveToNewer returns what a publisher is to send of a set: all but the tags that the
// other one, o, announced later and sends already. The pair is Complex after an error.
//
//   - acked: the tags that o sends.
//   - Errors: tags.ErrTooComplex.
func (v *Pair[S]) LeaveToNewer(o *Publisher[S], set, acked tags.Set, budget *tags.Budget) (left tags.Set, err error) {
	v.allow(set, budget)
	budget.Add(acked.Parts())
	others, err := budget.Intersection(v.newer(o), acked)
	if err != nil {
		v.complex = true
		return set, err
	}
	return v.without(set, others, budget)
}

// allow adds the steps for the ranges of a set.
func (v *Pair[S]) allow(set tags.Set, budget *tags.Budget) {
	const passes = 4 // of the ranges of both sets
	budget.Add(passes * (set.Parts() + v.both.Parts()))
}

func (v *Pair[S]) without(set, others tags.Set, budget *tags.Budget) (tags.Set, error) {
	left, err := budget.Without(set, others)
	if err != nil {
		v.complex = true
		return set, err
	}
	return left, nil
}

// Report reports whether the two publishers have tags in common that it has not reported
// before.
func (v *Pair[S]) Report() bool {
	if fresh, err := v.both.Without(v.reported); err == nil && fresh.IsEmpty() {
		return false
	}
	if v.reported = v.reported.Union(v.both); !tagset.Fits(v.reported) {
		v.reported = tags.Everything() // they change again and again: it is known by now
	}
	return true
}

// Common returns the tags of a set that both publishers serve, or more if that is too
// complex.
func (v *Pair[S]) Common(set tags.Set) tags.Set {
	common, err := v.both.Intersection(set)
	if err != nil {
		return v.both
	}
	return common
}

// Order returns the publisher that announced common tags later, and the other one. If
// each of them did, the first result is the one that was the second of Compare at first.
func (v *Pair[S]) Order() (later, earlier S) {
	if v.secondNewer.IsEmpty() {
		return v.first.Source, v.second.Source
	}
	return v.second.Source, v.first.Source
}
