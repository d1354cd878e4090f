// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"tagbus/bus/internal/tagset"
	"tagbus/tags"
)

// The part of a group that concerns subscriptions which change.

// goes is the second part of step 1: the tags that changing subscriptions give up. A
// comparison of two of the largest sets takes milliseconds, so a step has only one. Mu
// is held.
func (g *Group) goes(budget int) (steps int, done bool) {
	return g.each(budget, func(w *Wish) int {
		before, ok := g.before(w)
		if !ok {
			return 0
		}
		w.gone, _ = before.Without(w.Set) // sets of ranges are never too complex
		return partSteps(before) + partSteps(w.Set)
	})
}

// comes is the third part of step 1: the tags that changing subscriptions newly want.
// Mu is held.
func (g *Group) comes(budget int) (steps int, done bool) {
	return g.each(budget, func(w *Wish) int {
		before, ok := g.before(w)
		if !ok {
			return 0
		}
		w.comes, _ = w.Set.Without(before)
		return partSteps(before) + partSteps(w.Set)
	})
}

// before returns the set that a subscription has so far. ok is false if the
// subscription is new, or if one of the two sets has masks: a comparison of these can
// take long. Mu is held.
func (g *Group) before(w *Wish) (set tags.Set, ok bool) {
	n := g.box.subs[w.Request.ID]
	if n == nil {
		return set, false
	}
	set = g.fan.table.Subscription(n.id, w.Request.ID)
	return set, !tagset.HasMasks(set) && !tagset.HasMasks(w.Set)
}

// change is the last part of step 1. Mu is held.
func (g *Group) change(budget int) (steps int, done bool) {
	return g.each(budget, func(w *Wish) int {
		n := g.box.subs[w.Request.ID]
		if n == nil {
			return 0 // it is new: enter
		}
		w.lane, w.Err = n, g.check(w)
		if w.Err != nil {
			return g.checkSteps(w)
		}
		return g.checkSteps(w) + g.changeOne(w)
	})
}

// changeOne reduces a changing subscription to the tags that its old and its new set
// have in common. Sets with masks are compared tag by tag. Mu is held.
func (g *Group) changeOne(w *Wish) (steps int) {
	n, id := w.lane, w.Request.ID
	e := g.of(n)
	before := g.fan.table.Subscription(n.id, id)
	if w.Err = e.room(w.Set.Parts()-before.Parts(), tagset.Masks(w.Set)-tagset.Masks(before)); w.Err != nil {
		return 0
	}
	if tagset.HasMasks(before) || tagset.HasMasks(w.Set) {
		n.transit = append(n.transit, change{before, w.Set})
		g.fan.changing[n] = struct{}{}
		g.fan.table.Unsubscribe(n.id, id)
		g.cede(n, id, before)
		e.gone, e.comes = append(e.gone, before), append(e.comes, w.Set)
		e.reserve(w, tags.Set{})
		return partSteps(before)
	}
	kept := before
	if !w.gone.IsEmpty() {
		kept, _ = before.Without(w.gone) // sets of ranges are never too complex
		g.fan.table.Unsubscribe(n.id, id)
		if !kept.IsEmpty() {
			_ = g.fan.table.Subscribe(n.id, id, kept) // it is a part of the old set
		}
		g.cede(n, id, w.gone)
		e.gone = append(e.gone, w.gone)
	}
	if !w.comes.IsEmpty() {
		e.comes = append(e.comes, w.comes)
	}
	e.reserve(w, kept)
	return 2 * partSteps(before)
}

// cede is Lane.cede for a subscription that changes. Mu is held.
func (g *Group) cede(n *Lane, id uint64, set tags.Set) {
	n.cede(id, set)
	g.ceded = true
}

// Ceded reports whether subscriptions of a group that is done have given up tags.
func (g *Group) Ceded() bool { return g.ceded }
