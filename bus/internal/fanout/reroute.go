// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"slices"

	"tagbus/bus/internal/ledger"
	"tagbus/bus/internal/tagmap"
	"tagbus/subscription"
	"tagbus/tags"
)

// Tags move from route to route when a lane begins or stops wanting them. A few move at
// a time, so that neither the loop nor a publishing goroutine waits for long. The pages
// under construction are sealed first, so that the order of each tag holds: messages
// published before the move are queued before it.

// shift is a tag that moves.
type shift struct {
	entry    *tagmap.Entry[tagState]
	from, to *route
}

const (
	maxShifts  = 256 // tags that move together, while their streams are locked
	shiftSteps = 8   // cost of one of them, besides the lanes of its route
)

// moveOff takes lane n off the next tags of a walk that it does not want any more. The
// state of the tags of a lane that is gone goes with its stream. Mu is held.
func (fan *Fanout) moveOff(w *walk, n *Lane, budget int) (steps int, done bool) {
	steps, done = fan.shift(w, n, false, budget, func(x *shift) {
		if !n.gone {
			n.forget(x.entry.Tag)
		}
	})
	fan.roomFreed() // goroutines that wait for room of n may go on
	return steps, done
}

// joined has the positions and the known losses of tags that a lane newly wants.
type joined struct {
	positions []subscription.Position
	totals    ledger.Notice
}

// moveTo gives the corked lane n the next tags of a walk that it wants and has not. At
// the moment of the move, before more can be lost, it takes the messages to replay, if
// replayed is not nil, and the losses. It adds them to j. The caller, which holds mu,
// queues j before it releases mu.
func (fan *Fanout) moveTo(w *walk, n *Lane, replayed *replay, j *joined, budget int) (steps int, done bool) {
	return fan.shift(w, n, true, budget, func(x *shift) {
		if x.entry.Value.count > 0 {
			j.positions = append(j.positions, replayed.take(x.entry))
		}
		n.Account.AddTotals(&j.totals, x.entry.Tag)
	})
}

// shift moves the next tags of a walk to or off lane n, and calls f for each while
// their streams are locked. Mu is held.
func (fan *Fanout) shift(w *walk, n *Lane, join bool, budget int, f func(*shift)) (steps int, done bool) {
	shifts, step := fan.shifts[:0], fan.wantSteps(n)
	fan.moving++
	looks, done := w.visit(budget, func(e *tagmap.Entry[tagState]) bool {
		steps += step
		if fan.moves(n, e, join) {
			from := e.Value.route.Load()
			fan.routes.count(from, -1)
			e.Value.moving = true // a walk may come to it again
			shifts = append(shifts, shift{entry: e, from: from})
			if steps += shiftSteps; from.moved != fan.moving {
				from.moved = fan.moving
				steps += len(from.lanes)
			}
		}
		return len(shifts) < maxShifts && steps < budget
	})
	for i := range shifts {
		x := &shifts[i]
		if x.from.to == nil {
			x.from.to = fan.routeWith(x.from, n, join)
		}
		x.to = x.from.to
		fan.routes.count(x.to, 1)
	}
	fan.showStreams()
	fan.lockStreams(shifts)
	for i := range shifts {
		x := &shifts[i]
		f(x)
		x.entry.Value.moving = false
		x.entry.Value.route.Store(x.to)
	}
	fan.unlockStreams()
	for i := range shifts {
		from := shifts[i].from
		if from.to = nil; from.tags == 0 {
			from.tags = -1 // dropped
			fan.drop(from)
		}
	}
	fan.showStreams()
	clear(shifts)
	fan.shifts = shifts
	return max(steps, looks, 1), done
}

// routeWith returns the route of tags that lane n joins or leaves. All lanes that are gone
// leave them with it: if thousands go at once, each tag moves once. Mu is held.
func (fan *Fanout) routeWith(from *route, n *Lane, join bool) *route {
	if fan.leaving == 0 || fan.leaving == 1 && n.gone {
		return fan.routeToggled(from, n)
	}
	lanes := make([]*Lane, 0, len(from.lanes)+1)
	for _, other := range from.lanes {
		if other != n && !other.gone {
			lanes = append(lanes, other)
		}
	}
	if join {
		i, _ := slices.BinarySearchFunc(lanes, n, compareLanes)
		lanes = slices.Insert(lanes, i, n)
	}
	return fan.routeTo(slices.Clip(lanes))
}

// moves reports whether a tag is to move to lane n, or off it. Mu is held.
func (fan *Fanout) moves(n *Lane, e *tagmap.Entry[tagState], join bool) bool {
	return !e.Value.moving && e.Value.route.Load().has(n) != join && fan.wants(n, e.Tag) == join
}

// wants reports whether a lane wants a tag. Mu is held.
func (fan *Fanout) wants(n *Lane, tag tags.Tag) bool {
	return fan.table.Wants(n.id, tag) || n.keeps(tag)
}

// wantSteps returns the cost of wants. Mu is held.
func (fan *Fanout) wantSteps(n *Lane) int {
	_, masks := fan.table.Size(n.id)
	return 1 + (masks+len(n.transit))/8
}

// keeps reports whether a changing subscription has a tag in both its old and its new
// set. Fanout.Mu is held.
func (n *Lane) keeps(tag tags.Tag) bool {
	for _, c := range n.transit {
		if c.before.Contains(tag) && c.after.Contains(tag) {
			return true
		}
	}
	return false
}

// lockStreams locks the routes from which tags move, so that no message is published to
// them, with no page under construction. Mu is held.
func (fan *Fanout) lockStreams(shifts []shift) {
	fan.locking++
	for i := range shifts {
		fan.lockLater(shifts[i].from)
	}
	fan.lockAll((*stream).sealPage)
}

// lockLater adds the streams of a route to the next lockAll. Mu is held.
func (fan *Fanout) lockLater(r *route) {
	for _, s := range r.streams {
		if s.locking != fan.locking {
			s.locking = fan.locking
			fan.locked = append(fan.locked, s)
		}
	}
}

// lockAll locks the added streams, in the order that all callers keep, and calls f for
// each. Mu is held.
func (fan *Fanout) lockAll(f func(*stream)) {
	slices.SortFunc(fan.locked, compareStreams)
	for _, s := range fan.locked {
		s.mu.Lock()
		f(s)
	}
}

// unlockStreams undoes lockAll. Mu is held.
func (fan *Fanout) unlockStreams() {
	for _, s := range fan.locked {
		s.mu.Unlock()
	}
	clear(fan.locked)
	fan.locked = fan.locked[:0]
}
