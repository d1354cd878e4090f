package bus

import (
	"errors"

	"tagbus/bus/internal/chores"
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
type subscribing struct {
	p     *Publisher
	l     *link
	group []wish
	first bool            // nothing else is on its way to the subscriber
	steps []chores.Job    // left
	at    int             // position in the current step
	lanes []*entering     // that the group concerns
	owned []tags.Set      // entered
	lost  []tags.Set      // tags that had another owner
	walk  walk            // through these
	fault error           // ends the connection
	expel *DuplicateError // so does the owner of the tags
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

// subscribe begins to make the subscriptions of a group active. Loop only.
func (l *link) subscribe(group []wish) {
	g := &subscribing{p: l.pub, l: l, group: group, first: len(l.out.lanes) == 0}
	g.steps = []chores.Job{g.read, g.goes, g.comes, g.change, g.leave, g.enter, g.forget, g.join, g.answer, g.uncork}
	l.begin(linkJob{run: g.run, abort: g.abort})
}

// run does the next slice.
func (g *subscribing) run(budget int) (steps int, done bool) {
	for len(g.steps) > 0 && steps < budget {
		g.p.fan.mu.Lock()
		n, done := g.steps[0](budget - steps)
		g.p.fan.mu.Unlock()
		if steps += n; done {
			g.steps, g.at = g.steps[1:], 0
		}
		if g.fault != nil || g.expel != nil {
			g.abort()
			g.end()
			return steps, true
		}
	}
	if len(g.steps) > 0 {
		return steps, false
	}
	g.p.settle(g.l)
	g.l.answered(g.group)
	g.p.farewell(g.l)
	return steps, true
}

// end ends the connection, for a fault of the subscriber.
func (g *subscribing) end() {
	g.l.torn = true
	if g.expel != nil {
		g.p.ownership.expel(g.l, g.group[g.at].request.ID, g.expel)
		return
	}
	g.l.fail(g.fault)
}

// abort gives up when the connection ends.
func (g *subscribing) abort() {
	g.p.fan.mu.Lock()
	defer g.p.fan.mu.Unlock()
	for _, e := range g.lanes {
		g.p.fan.endTransit(e.lane)
		e.replay.abandon()
	}
}

// endTransit ends the transit of a lane. mu is held.
func (fan *fanout) endTransit(n *lane) {
	n.transit = nil
	delete(fan.changing, n)
}

// each calls f for the next subscriptions of the group. f returns its cost.
func (g *subscribing) each(budget int, f func(w *wish) int) (steps int, done bool) {
	for g.at < len(g.group) && steps < budget && g.fault == nil {
		if steps += 1 + f(&g.group[g.at]); g.fault != nil || g.expel != nil {
			return steps, true
		}
		g.at++
	}
	return steps, g.at == len(g.group)
}

// eachLane calls work for the next lanes until each is done.
func (g *subscribing) eachLane(budget int, work func(e *entering, budget int) (steps int, done bool)) (steps int, done bool) {
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
func (g *subscribing) of(n *lane) *entering {
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
func (g *subscribing) read(budget int) (steps int, done bool) {
	if g.at == 0 {
		if g.fault = checkRepeated(g.group); g.fault != nil {
			return 0, true
		}
	}
	for ; g.at < len(g.group) && steps < budget; g.at++ {
		w := &g.group[g.at]
		for before := 0; w.standing.Left() > 0; before = len(w.stands) {
			if steps >= budget {
				return steps, false
			}
			var err error
			if w.stands, err = w.standing.Next(w.stands); err != nil {
				g.fault = errors.Join(ErrProtocol, err)
				return steps, true
			}
			steps += 1 + (len(w.stands)-before)/2
		}
		steps++
	}
	return steps, g.at == len(g.group)
}

// checkRepeated refuses a group that names a subscription twice.
//
// Errors: ErrProtocol, wrapped.
func checkRepeated(group []wish) error {
	if len(group) == 1 {
		return nil
	}
	seen := make(map[uint64]struct{}, len(group))
	for i := range group {
		id := group[i].request.ID
		if _, twice := seen[id]; twice {
			return protocolError("subscription %d twice in a group", id)
		}
		seen[id] = struct{}{}
	}
	return nil
}

// partSteps returns what an operation on all ranges of a set costs.
func partSteps(set tags.Set) int { return set.Parts() / 4 }

// check returns why a subscription cannot become active, apart from its size. It ends
// the connection after a request that no subscriber may make.
func (g *subscribing) check(w *wish) error {
	p, l := g.p, g.l
	if err := p.ownership.check(l, w); err != nil {
		errors.As(err, &g.expel)
		return err
	}
	policy, err := p.policyOf(l, w.request)
	if err == nil {
		err = p.checkRoom(l, w.request)
	}
	if errors.Is(err, ErrProtocol) {
		g.fault = err
	}
	w.policy = policy
	return err
}

// checkSteps returns the cost of check.
func (g *subscribing) checkSteps(w *wish) int {
	return partSteps(w.set) + g.p.ownership.checkSteps(w)
}

// room returns an error if the lane may not hold so many more ranges and masks, besides
// the reserved ones.
//
// Errors: subscription.ErrTooManyTags, wrapped.
func (e *entering) room(p *Publisher, parts, masks int) error {
	return p.fan.table.Room(e.lane.id, e.parts+parts, e.masks+masks)
}

// reserve keeps room for the growth of a subscription.
func (e *entering) reserve(w *wish, kept tags.Set) {
	w.parts, w.masks = w.set.Parts()-kept.Parts(), masksOf(w.set)-masksOf(kept)
	e.parts, e.masks = e.parts+w.parts, e.masks+w.masks
}

// leave is step 2. mu is held.
func (g *subscribing) leave(budget int) (steps int, done bool) {
	return g.eachLane(budget, func(e *entering, budget int) (int, bool) {
		if !e.begun {
			e.begun, e.walk = true, g.p.fan.newWalk(e.gone...)
		}
		return g.p.fan.moveOff(&e.walk, e.lane, budget)
	})
}
