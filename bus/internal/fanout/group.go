// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"fmt"

	"tagbus/bus/internal/ledger"
	"tagbus/bus/internal/positions"
	"tagbus/bus/internal/tagset"
	"tagbus/bus/internal/workqueue"
	"tagbus/subscription"
	"tagbus/tags"
)

// Group makes a group of subscriptions of a connection active and acknowledges them in
// one place. No page stands between two acknowledgements of the same lane. Between those
// of the first group of a connection no page of any lane stands. A subscription whose id
// is known gets another set.
//
// Its user calls Run until it is done, and then Failed; or Abort if the connection ends
// before.
//
// The steps, each in as many slices as it takes:
//
//  1. read, goes, comes, change: the tags that changing subscriptions keep stay in the
//     table. A tag that becomes known now is routed by that.
//  2. leave: the tags that they give up move. The last pages of these stand before the
//     acknowledgement.
//  3. enter: the lanes are corked, and the new sets are in the table.
//  4. forget, join: the cache forgets the tags that had another owner. The tags that the
//     lanes newly want move. Their positions are queued.
//  5. answer, uncork: the acknowledgements are queued, and what the lanes hold back.
type Group struct {
	fan    *Fanout
	box    *Outbox
	terms  Terms
	wishes []Wish
	first  bool            // nothing else is on its way to the subscriber
	steps  []workqueue.Job // left
	at     int             // position in the current step
	lanes  []*entering     // that the group concerns
	owned  []tags.Set      // entered
	lost   []tags.Set      // tags that had another owner
	walk   walk            // through these
	ceded  bool            // tags of subscriptions that change
	fault  error           // ends the connection
}

// Wish is a subscription that a subscriber asks for.
type Wish struct {
	// Set by the caller of Subscribe.
	Request  *subscription.Subscribe // without its set
	Set      tags.Set
	Standing positions.Standing // the positions that the subscriber reports, not read yet

	Policy subscription.Policy // set by Terms.Check
	Err    error               // why it is refused

	stands      []subscription.Position // where the subscriber says that it stands
	lane        *Lane
	gone, comes tags.Set // what a subscription that changes gives up, and newly wants
	parts       int      // ranges and masks that are reserved for it
	masks       int      // of these
}

// Terms are the conditions on which a session lets its subscriber have tags. All are
// called on the loop, with Fanout.Mu held.
type Terms struct {
	// Check returns why a subscription cannot become active, apart from its size. It
	// sets the wish's policy.
	//
	//   - fault: the peer must not ask for that; it ends the group.
	Check func(w *Wish) (refusal, fault error)

	// Steps returns the cost of Check, as a workqueue.Job counts.
	Steps func(w *Wish) int

	// Account opens the account of a new lane.
	Account func(w *Wish) *ledger.Lane

	// HandOver notes that the subscriber gets sets. It returns the tags that the cache
	// must forget, because another connection has had some of them.
	HandOver func(sets []tags.Set) (lost []tags.Set)

	// Entered notes that the group is active.
	Entered func()

	// Refusal returns the answer to a subscription that does not become active.
	Refusal func(w *Wish) subscription.Message
}

// entering is what a group changes in one lane.
type entering struct {
	lane        *Lane
	id          uint64     // of the first subscription that is acknowledged
	gone, comes []tags.Set // in which the tags that leave, or join, are
	parts       int        // ranges and masks that changes are going to take
	masks       int        // of these
	replay      *replay    // nil: nothing
	walk        walk       // of the current step
	begun       bool       // the walk
	planned     bool       // the replay
	joined      joined     // not told
}

// change is a subscription whose set has become another.
type change struct{ before, after tags.Set }

// Subscribe returns the group that makes subscriptions of the connection active. Its Run
// is a job, of which a connection has one at a time. Loop only.
func (box *Outbox) Subscribe(wishes []Wish, terms Terms) *Group {
	g := &Group{fan: box.fan, box: box, terms: terms, wishes: wishes, first: len(box.Lanes) == 0}
	g.steps = []workqueue.Job{g.read, g.goes, g.comes, g.change, g.leave, g.enter, g.forget, g.join, g.answer, g.uncork}
	return g
}

// Run does the next slice, as a workqueue.Job does. Once it is done, Failed returns why
// the group is not active, if so. Loop only.
func (g *Group) Run(budget int) (steps int, done bool) {
	for len(g.steps) > 0 && steps < budget {
		g.fan.Mu.Lock()
		n, done := g.steps[0](budget - steps)
		g.fan.Mu.Unlock()
		steps += n
		if g.fault != nil { // at stays: Failed names the subscription
			g.Abort()
			return steps, true
		}
		if done {
			g.steps, g.at = g.steps[1:], 0
		}
	}
	return steps, len(g.steps) == 0
}

// Failed returns the fault of the peer that has ended the group, and the subscription
// that was looked at then, or nil. The connection is to be ended.
func (g *Group) Failed() (at *Wish, fault error) {
	if g.fault != nil && g.at < len(g.wishes) {
		at = &g.wishes[g.at]
	}
	return at, g.fault
}

// Abort gives up when the connection ends, and gives back what the group has reserved.
// Loop only.
func (g *Group) Abort() {
	g.box.torn = true
	g.fan.Mu.Lock()
	defer g.fan.Mu.Unlock()
	for _, e := range g.lanes {
		g.fan.endTransit(e.lane)
		e.replay.abandon()
	}
}

// endTransit ends the transit of a lane. Mu is held.
func (fan *Fanout) endTransit(n *Lane) {
	n.transit = nil
	delete(fan.changing, n)
}

// each calls f for the next subscriptions of the group until there is a fault. f returns
// its cost.
func (g *Group) each(budget int, f func(w *Wish) int) (steps int, done bool) {
	for g.at < len(g.wishes) && steps < budget && g.fault == nil {
		if steps += 1 + f(&g.wishes[g.at]); g.fault != nil {
			return steps, true
		}
		g.at++
	}
	return steps, g.at == len(g.wishes)
}

// eachLane calls work for the next lanes until each is done.
func (g *Group) eachLane(budget int, work func(e *entering, budget int) (steps int, done bool)) (steps int, done bool) {
	for g.at < len(g.lanes) && steps < budget {
		n, done := work(g.lanes[g.at], budget-steps)
		if steps += n; done {
			g.lanes[g.at].begun = false
			g.at++
		}
	}
	return steps, g.at == len(g.lanes)
}

// of returns what the group changes in a lane.
func (g *Group) of(n *Lane) *entering {
	for _, e := range g.lanes { // few
		if e.lane == n {
			return e
		}
	}
	e := &entering{lane: n}
	g.lanes = append(g.lanes, e)
	return e
}

// read is the first part of step 1: the positions that the subscriber reports. Mu is held.
func (g *Group) read(budget int) (steps int, done bool) {
	if g.at == 0 {
		if g.fault = checkRepeated(g.wishes); g.fault != nil {
			return 0, true
		}
	}
	for ; g.at < len(g.wishes) && steps < budget; g.at++ {
		w := &g.wishes[g.at]
		for before := 0; w.Standing.Left() > 0; before = len(w.stands) {
			if steps >= budget {
				return steps, false
			}
			if w.stands, g.fault = w.Standing.Next(w.stands); g.fault != nil {
				return steps, true
			}
			steps += 1 + (len(w.stands)-before)/2
		}
		steps++
	}
	return steps, g.at == len(g.wishes)
}

// checkRepeated refuses a group that names a subscription twice.
func checkRepeated(group []Wish) error {
	if len(group) == 1 {
		return nil
	}
	seen := make(map[uint64]struct{}, len(group))
	for i := range group {
		id := group[i].Request.ID
		if _, twice := seen[id]; twice {
			return fmt.Errorf("subscription %d twice in a group", id)
		}
		seen[id] = struct{}{}
	}
	return nil
}

// partSteps returns what an operation on all ranges of a set costs.
func partSteps(set tags.Set) int { return set.Parts() / 4 }

// check returns why a subscription is refused, or sets the fault.
func (g *Group) check(w *Wish) (refusal error) {
	refusal, g.fault = g.terms.Check(w)
	return refusal
}

// checkSteps returns the cost of check.
func (g *Group) checkSteps(w *Wish) int { return partSteps(w.Set) + g.terms.Steps(w) }

// room returns an error if the lane may not hold so many more ranges and masks, besides
// the reserved ones.
//
// Errors: subscription.ErrTooManyTags, wrapped.
func (e *entering) room(parts, masks int) error {
	return e.lane.out.fan.table.Room(e.lane.id, e.parts+parts, e.masks+masks)
}

// reserve keeps room for the growth of a subscription.
func (e *entering) reserve(w *Wish, kept tags.Set) {
	w.parts, w.masks = w.Set.Parts()-kept.Parts(), tagset.Masks(w.Set)-tagset.Masks(kept)
	e.parts, e.masks = e.parts+w.parts, e.masks+w.masks
}

// leave is step 2. Mu is held.
func (g *Group) leave(budget int) (steps int, done bool) {
	return g.eachLane(budget, func(e *entering, budget int) (int, bool) {
		if !e.begun {
			e.begun, e.walk = true, g.fan.newWalk(e.gone...)
		}
		return g.fan.moveOff(&e.walk, e.lane, budget)
	})
}
