// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"slices"

	"tagbus/bus/internal/positions"
	"tagbus/bus/internal/tagmap"
	"tagbus/bus/internal/workqueue"
	"tagbus/subscription"
	"tagbus/tags"
)

// Unsubscribe ends a subscription. It returns its lane, its set, and a job that takes the
// lane off the routes of the tags. When the job is done, the last pages of these are
// queued. For an unknown subscription n and job are nil. Loop only.
func (box *Outbox) Unsubscribe(id uint64) (n *Lane, set tags.Set, job workqueue.Job) {
	if n = box.subs[id]; n == nil {
		return nil, set, nil
	}
	delete(box.subs, id)
	fan := box.fan
	fan.Mu.Lock()
	set, _ = fan.table.Unsubscribe(n.id, id)
	n.cede(id, set)
	w := fan.newWalk(set)
	fan.Mu.Unlock()
	return n, set, func(budget int) (steps int, done bool) {
		fan.Mu.Lock()
		defer fan.Mu.Unlock()
		if steps, done = fan.moveOff(&w, n, budget); done {
			delete(n.ceded, id)
			fan.NotifyChanged()
		}
		return steps, done
	}
}

// AbortUnsubscribe notes that a job of Unsubscribe is not done to its end: routes may
// lead here for tags that no subscription wants. Leave then looks at all. Loop only.
func (box *Outbox) AbortUnsubscribe() { box.torn = true }

// Leave returns the job that takes the connection out of all routes, for good. From the
// call on nothing is told of what policies leave out, and each tag that moves for another
// lane leaves those of this connection, too. Behind Kill, the job does that of Bury first: it
// frees memory. The jobs begun before are done or aborted when this one begins. Loop only.
func (box *Outbox) Leave() workqueue.Job {
	box.mu.Lock()
	box.closing = true
	box.mu.Unlock()
	box.fan.Mu.Lock()
	for _, n := range box.Lanes {
		n.gone = true
	}
	box.fan.leaving += len(box.Lanes)
	box.fan.Mu.Unlock()
	var left leaving
	return func(budget int) (steps int, done bool) {
		if box.Dead() {
			if steps, done = box.Bury(budget); !done {
				return steps, false
			}
		}
		box.fan.Mu.Lock()
		defer box.fan.Mu.Unlock()
		more, done := box.leaveAll(&left, max(1, budget-steps))
		return steps + more, done
	}
}

// leaving is the progress of taking a connection out of the routes.
type leaving struct {
	lanes int  // done
	begun bool // the next one
	off   bool // no route leads to it
	walk  walk // through the tags whose routes may lead to it
}

// leaveAll takes the lanes off the next tags. Fanout.Mu is held.
func (box *Outbox) leaveAll(left *leaving, budget int) (steps int, done bool) {
	for left.lanes < len(box.Lanes) && steps < budget {
		n := box.Lanes[left.lanes]
		cost, done := box.leaveOne(left, n, budget-steps)
		if steps += max(cost, 1); done {
			left.lanes, left.begun, left.off = left.lanes+1, false, false
		}
	}
	return steps, left.lanes == len(box.Lanes)
}

// leaveOne takes a lane off the next tags. Fanout.Mu is held.
func (box *Outbox) leaveOne(left *leaving, n *Lane, budget int) (steps int, done bool) {
	switch fan := box.fan; {
	case !left.begun:
		left.begun = true
		left.walk, steps = box.unwant(n)
		return steps, false
	case !left.off:
		if n.routes > 0 { // otherwise it has left with others
			steps, left.off = fan.moveOff(&left.walk, n, budget)
		}
		if left.off = left.off || n.routes == 0; left.off {
			fan.leaving--
		}
		return steps, left.off && n.rest == nil
	}
	if steps, done = n.rest.settle(n, budget); done {
		n.rest = nil
	}
	return steps, done
}

// unwant removes a lane from the table. It returns the walk through the tags whose
// routes may lead there, and the cost so far. Tags that become known later do not lead
// there. Fanout.Mu is held.
func (box *Outbox) unwant(n *Lane) (w walk, steps int) {
	fan := box.fan
	sets := fan.table.Remove(n.id)
	fan.endTransit(n)
	n.ceded = nil
	if box.torn {
		return walk{fan: fan, all: true}, len(sets) / 2
	}
	return fan.newWalk(sets...), len(sets) / 2
}

// Farewell returns the job that sends the final positions of all lanes, and then, behind
// everything else, a goodbye. Nothing is published any more. Loop only.
func (box *Outbox) Farewell() workqueue.Job {
	fan, at := box.fan, 0
	var w *walk
	return func(budget int) (steps int, done bool) {
		for at < len(box.Lanes) && steps < budget {
			n := box.Lanes[at]
			fan.Mu.Lock()
			if w == nil {
				all := fan.newWalk(fan.table.Sets(nil, n.id)...)
				w = &all
			}
			finals, cost, done := fan.finalPositions(w, n, budget-steps)
			fan.Mu.Unlock()
			n.finals(finals)
			if steps += cost; done {
				at, w = at+1, nil
			}
		}
		if at < len(box.Lanes) {
			return steps, false
		}
		box.goodbye()
		return steps, true
	}
}

// finalPositions returns the positions of the next tags of a walk that a lane has,
// ascending. Mu is held.
func (fan *Fanout) finalPositions(w *walk, n *Lane, budget int) (finals []subscription.Position, steps int, done bool) {
	looks, done := w.visit(budget, func(e *tagmap.Entry[tagState]) bool {
		steps++
		r := e.Value.route.Load()
		if !r.has(n) {
			return steps < budget
		}
		steps++
		r.streams[0].mu.Lock()
		if count := e.Value.count; count > 0 {
			finals = append(finals, subscription.Position{Tag: e.Tag, Count: count})
		}
		r.streams[0].mu.Unlock()
		return steps < budget
	})
	slices.SortFunc(finals, positions.Compare)
	return slices.Compact(finals), max(steps, looks, 1), done
}
