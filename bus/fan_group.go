package bus

import (
	"fmt"

	"tagbus/bus/internal/chores"
	"tagbus/bus/internal/ledger"
	"tagbus/bus/internal/positions"
	"tagbus/bus/internal/tagset"
	"tagbus/subscription"
	"tagbus/tags"
)

// subscribing is the job that makes the subscriptions of a group active and
// acknowledges them in one place. No page stands between two acknowledgements of the
// same lane. Between those of the first group of a connection no page of any lane
// stands. A subscription whose id is known gets another set.
//
// The steps, each in as many slices as it takes:
//
//  1. read, goes, comes, change: the tags that changing subscriptions keep stay in the
//     table. A tag that becomes known now is routed by that.
//  2. leave: the tags that they give up move. The last pages of these stand before the
//     acknowledgement.
//  3. enter: the lanes are corked, and the new sets are in the table.
//  4. lanes: the tags that the lanes newly want move. Their positions are queued.
//  5. answer, uncork, report.
type group struct {
	fan    *fanout
	box    *outbox
	terms  terms
	wishes []wish
	first  bool         // nothing else is on its way to the subscriber
	steps  []chores.Job // left
	at     int          // position in the current step
	lanes  []*entering  // that the group concerns
	owned  []tags.Set   // entered
	lost   []tags.Set   // tags that had another owner
	walk   walk         // through these
	fault  error        // ends the connection
}

// wish is a subscription that a subscriber asks for.
type wish struct {
	request  *subscription.Subscribe // without its set
	set      tags.Set
	standing positions.Standing      // until the group is complete
	stands   []subscription.Position // where the subscriber says that it stands
	lane     *lane
	policy   Policy

	gone, comes tags.Set // what a subscription that changes gives up, and newly wants

	parts int   // ranges and masks that are reserved for it
	masks int   // of these
	err   error // why it is refused
}

// terms are the conditions on which a session lets its subscriber have tags. fanout.mu
// is held in all of them.
type terms struct {
	// check returns why a subscription cannot become active, apart from its size. It
	// sets the wish's policy.
	//
	//   - fault: the peer must not ask for that; it ends the group.
	check func(w *wish) (refusal, fault error)

	// steps returns the cost of check.
	steps func(w *wish) int

	// account opens the account of a new lane.
	account func(w *wish) *ledger.Lane

	// handOver notes that the subscriber gets sets. It returns the tags that the cache
	// must forget, because another connection has had some of them.
	handOver func(sets []tags.Set) (lost []tags.Set)

	// entered notes that the group is active.
	entered func()

	// refusal returns the answer to a subscription that does not become active.
	refusal func(w *wish) subscription.Message
}

// entering is what a group changes in one lane.
type entering struct {
	lane        *lane
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

// subscribe returns the group that makes subscriptions of the connection active. Its run
// is a job. Loop only.
func (box *outbox) subscribe(wishes []wish, terms terms) *group {
	g := &group{fan: box.pub, box: box, terms: terms, wishes: wishes, first: len(box.lanes) == 0}
	g.steps = []chores.Job{g.read, g.goes, g.comes, g.change, g.leave, g.enter, g.forget, g.join, g.answer, g.uncork}
	return g
}

// run does the next slice, as a chores.Job does. Once it is done, failed says whether the
// group is active. Loop only.
func (g *group) run(budget int) (steps int, done bool) {
	for len(g.steps) > 0 && steps < budget {
		g.fan.mu.Lock()
		n, done := g.steps[0](budget - steps)
		g.fan.mu.Unlock()
		if steps += n; done {
			g.steps, g.at = g.steps[1:], 0
		}
		if g.fault != nil {
			g.abort()
			return steps, true
		}
	}
	return steps, len(g.steps) == 0
}

// failed returns the fault of the peer that has ended the group, and the subscription
// that was looked at then. The connection is to be ended.
func (g *group) failed() (at *wish, fault error) {
	if g.fault != nil && g.at < len(g.wishes) {
		at = &g.wishes[g.at]
	}
	return at, g.fault
}

// abort gives up when the connection ends. Loop only.
func (g *group) abort() {
	g.box.torn = true
	g.fan.mu.Lock()
	defer g.fan.mu.Unlock()
	for _, e := range g.lanes {
		g.fan.endTransit(e.lane)
		e.replay.abandon()
	}
}

// endTransit ends the transit of a lane. mu is held.
func (fan *fanout) endTransit(n *lane) {
	n.transit = nil
	delete(fan.changing, n)
}

// each calls f for the next subscriptions of the group. f returns its cost.
func (g *group) each(budget int, f func(w *wish) int) (steps int, done bool) {
	for g.at < len(g.wishes) && steps < budget && g.fault == nil {
		if steps += 1 + f(&g.wishes[g.at]); g.fault != nil {
			return steps, true
		}
		g.at++
	}
	return steps, g.at == len(g.wishes)
}

// eachLane calls work for the next lanes until each is done.
func (g *group) eachLane(budget int, work func(e *entering, budget int) (steps int, done bool)) (steps int, done bool) {
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
func (g *group) of(n *lane) *entering {
	for _, e := range g.lanes { // at most maxLanes
		if e.lane == n {
			return e
		}
	}
	e := &entering{lane: n}
	g.lanes = append(g.lanes, e)
	return e
}

// read is the first part of step 1: the positions that the subscriber reports.
func (g *group) read(budget int) (steps int, done bool) {
	if g.at == 0 {
		if g.fault = checkRepeated(g.wishes); g.fault != nil {
			return 0, true
		}
	}
	for ; g.at < len(g.wishes) && steps < budget; g.at++ {
		w := &g.wishes[g.at]
		for before := 0; w.standing.Left() > 0; before = len(w.stands) {
			if steps >= budget {
				return steps, false
			}
			if w.stands, g.fault = w.standing.Next(w.stands); g.fault != nil {
				return steps, true
			}
			steps += 1 + (len(w.stands)-before)/2
		}
		steps++
	}
	return steps, g.at == len(g.wishes)
}

// checkRepeated refuses a group that names a subscription twice.
func checkRepeated(group []wish) error {
	if len(group) == 1 {
		return nil
	}
	seen := make(map[uint64]struct{}, len(group))
	for i := range group {
		id := group[i].request.ID
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
func (g *group) check(w *wish) (refusal error) {
	refusal, g.fault = g.terms.check(w)
	return refusal
}

// checkSteps returns the cost of check.
func (g *group) checkSteps(w *wish) int { return partSteps(w.set) + g.terms.steps(w) }

// room returns an error if the lane may not hold so many more ranges and masks, besides
// the reserved ones.
//
// Errors: subscription.ErrTooManyTags, wrapped.
func (e *entering) room(parts, masks int) error {
	return e.lane.out.pub.table.Room(e.lane.id, e.parts+parts, e.masks+masks)
}

// reserve keeps room for the growth of a subscription.
func (e *entering) reserve(w *wish, kept tags.Set) {
	w.parts, w.masks = w.set.Parts()-kept.Parts(), tagset.Masks(w.set)-tagset.Masks(kept)
	e.parts, e.masks = e.parts+w.parts, e.masks+w.masks
}

// leave is step 2. mu is held.
func (g *group) leave(budget int) (steps int, done bool) {
	return g.eachLane(budget, func(e *entering, budget int) (int, bool) {
		if !e.begun {
			e.begun, e.walk = true, g.fan.newWalk(e.gone...)
		}
		return g.fan.moveOff(&e.walk, e.lane, budget)
	})
}
