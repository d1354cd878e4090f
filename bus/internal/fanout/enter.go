// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"tagbus/bus/internal/ring"
	"tagbus/bus/internal/tagmap"
	"tagbus/bus/internal/tagset"
	"tagbus/subscription"
)

// The second half of a group: the steps after the old sets are gone.

// enter is step 3. Mu is held.
func (g *Group) enter(budget int) (steps int, done bool) {
	if g.at == 0 {
		for _, e := range g.lanes {
			e.begin()
		}
	}
	steps, done = g.each(budget, func(w *Wish) (steps int) {
		if w.lane == nil { // it is new
			steps = g.checkSteps(w)
			if w.Err = g.check(w); w.Err == nil {
				g.newLane(w)
			}
		}
		if w.Err == nil {
			g.enterOne(w)
		}
		if w.lane != nil {
			delete(w.lane.ceded, w.Request.ID)
		}
		g.claim(w)
		if w.Err == nil {
			if e := g.of(w.lane); e.id == 0 {
				e.id = w.Request.ID
			}
		}
		return steps + 2*partSteps(w.Set)
	})
	if done {
		for _, e := range g.lanes { // only now: subscriptions that have yet to enter keep their tags through it
			g.fan.endTransit(e.lane)
		}
	}
	return steps, done
}

// newLane finds or makes the lane of a new subscription. Mu is held.
func (g *Group) newLane(w *Wish) {
	if w.lane = g.box.Lane(w.Request.Lane); w.lane == nil {
		w.lane = g.box.open(w.Request.Lane, w.Policy, w.Request.BacklogBytes, g.terms.Account(w))
	}
	before := len(g.lanes)
	if e := g.of(w.lane); len(g.lanes) > before {
		e.begin()
	}
}

// begin holds back the lane's pages until the group is acknowledged.
func (e *entering) begin() {
	e.lane.entering = true
	e.lane.cork()
}

// enterOne puts a subscription into the table. Mu is held.
func (g *Group) enterOne(w *Wish) {
	e := g.of(w.lane)
	known := g.box.subs[w.Request.ID] != nil
	e.parts, e.masks = e.parts-w.parts, e.masks-w.masks // what was reserved
	if !known {
		w.Err = e.room(w.Set.Parts(), tagset.Masks(w.Set))
		e.comes = append(e.comes, w.Set)
	}
	if w.Err == nil {
		w.Err = g.fan.table.Subscribe(w.lane.id, w.Request.ID, w.Set)
	}
	if w.Err == nil {
		g.box.subs[w.Request.ID] = w.lane
		g.owned = append(g.owned, w.Set)
	}
}

// claim notes the replay that a subscription asks for.
func (g *Group) claim(w *Wish) {
	n := g.box.Lane(w.Request.Lane)
	if n == nil || g.fan.cache == nil || len(w.stands) == 0 && w.Request.Replay == 0 && !w.Request.Resume {
		return
	}
	e := g.of(n)
	if e.replay == nil {
		e.replay = &replay{fan: g.fan, lane: n}
	}
	e.replay.claims.add(w)
}

// forget empties the cache of tags that had another owner. Mu is held.
func (g *Group) forget(budget int) (steps int, done bool) {
	if g.at == 0 {
		g.lost = g.terms.HandOver(g.owned)
		g.at, g.walk = 1, g.fan.newWalk(g.lost...)
	}
	if len(g.lost) == 0 {
		return 1, true
	}
	return g.fan.eachLocked(&g.walk, budget, func(e *tagmap.Entry[tagState]) bool { return containsTag(g.lost, e.Tag) }, func(*stream) {},
		func(e *tagmap.Entry[tagState]) { g.fan.cache.Empty(e.Value.line) })
}

// join is step 4. Mu is held.
func (g *Group) join(budget int) (steps int, done bool) {
	defer g.tell()
	return g.eachLane(budget, func(e *entering, budget int) (int, bool) {
		if !e.begun {
			e.begun, e.walk = true, g.fan.newWalk(e.comes...)
		}
		if e.replay != nil && !e.planned {
			steps, done := g.measure(e, budget)
			if e.planned = done; done {
				e.replay.plan()
				e.begun = false
			}
			return steps, false
		}
		steps, done := g.fan.moveTo(&e.walk, e.lane, e.replay, &e.joined, budget)
		if e.replay != nil {
			steps += int(e.replay.copied()) + steps*e.replay.claims.steps()
		}
		return steps, done
	})
}

// tell queues the positions of the moved tags for the subscriber, before Mu is released.
func (g *Group) tell() {
	for _, e := range g.lanes {
		e.lane.told(g.queue(e.lane), e.id, e.joined)
		e.joined = joined{}
	}
}

// measure determines the replay of the next tags. Mu is held.
func (g *Group) measure(e *entering, budget int) (steps int, done bool) {
	looks, done := e.walk.visit(budget, func(entry *tagmap.Entry[tagState]) bool {
		if steps++; g.fan.moves(e.lane, entry, true) {
			steps += e.replay.measure(entry)
		}
		return steps < budget
	})
	return max(steps, looks), done
}

// queue returns the queue of the answers for a lane. If nothing else is on its way, it
// is the one before all pages of any lane.
func (g *Group) queue(n *Lane) *ring.Ring[item] {
	if g.first {
		return &g.box.control
	}
	return &n.queue
}

// answer is the first part of step 5. Mu is held.
func (g *Group) answer(budget int) (steps int, done bool) {
	return g.each(budget, func(w *Wish) int {
		if w.Err != nil {
			g.box.Send(nil, g.terms.Refusal(w))
		} else {
			g.box.sendIn(g.queue(w.lane), w.lane, &subscription.Subscribed{ID: w.Request.ID})
		}
		return answerSteps
	})
}

const answerSteps = 8 // cost of a control message

// uncork is the last part of step 5. Mu is held.
func (g *Group) uncork(int) (steps int, done bool) {
	for _, e := range g.lanes {
		e.lane.entering = false
		e.lane.uncork(e.replay.finish())
	}
	g.terms.Entered()
	g.fan.NotifyChanged()
	return len(g.lanes), true
}
