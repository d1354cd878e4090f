package bus

import (
	"slices"

	"tagbus/bus/internal/ledger"
	"tagbus/bus/internal/tagmap"
	"tagbus/subscription"
	"tagbus/tags"
)

// Tags move from route to route when a lane begins or ceases to want them: a few at
// a time, so that neither the loop nor a publishing goroutine waits for long. The
// pages under construction are sealed first, so that the order of each tag holds:
// what was published before the move is queued before it.

// shift is a tag that moves.
type shift struct {
	entry    *tagmap.Entry[tagState]
	from, to *route
}

const (
	maxShifts  = 256 // tags that move together, while their streams are locked
	shiftSteps = 8   // what one of them costs, beside the lanes of its route
)

// moveOff takes lane n off the next tags of a walk that it does not want any more.
// mu is held.
func (p *Publisher) moveOff(w *walk, n *lane, budget int) (steps int, done bool) {
	steps, done = p.shift(w, n, false, budget, func(x *shift) {
		x.from.forget(n, x.entry.Tag)
	})
	p.roomFreed() // what waits for room of n need not any more
	return steps, done
}

// joined is where tags that a lane newly wants stand, and what is known to be lost of
// them.
type joined struct {
	positions []subscription.Position
	totals    ledger.Notice
}

// moveTo gives lane n, which is corked, the next tags of a walk that it wants and has
// not. What is replayed of these, if replayed is not nil, and what was lost of them
// is taken at the moment of the move: before more can be lost. It is added to j,
// which is to be told before mu, which is held, is given up.
func (p *Publisher) moveTo(w *walk, n *lane, replayed *replay, j *joined, budget int) (steps int, done bool) {
	return p.shift(w, n, true, budget, func(x *shift) {
		if x.entry.Value.count > 0 {
			j.positions = append(j.positions, replayed.take(x.entry))
		}
		n.account.AddTotals(&j.totals, x.entry.Tag)
	})
}

// shift moves the next tags of a walk to or off lane n, and calls f for each while
// their streams are locked. mu is held.
func (p *Publisher) shift(w *walk, n *lane, join bool, budget int, f func(*shift)) (steps int, done bool) {
	shifts, step := p.shifts[:0], p.wantSteps(n)
	looks, done := w.visit(budget, func(e *tagmap.Entry[tagState]) bool {
		steps += step
		if p.moves(n, e, join) {
			from := e.Value.route.Load()
			p.routes.count(from, -1)
			e.Value.moving = true // a walk may come to it again
			shifts = append(shifts, shift{entry: e, from: from})
			steps += shiftSteps + len(from.lanes)/2
		}
		return len(shifts) < maxShifts && steps < budget
	})
	for i := range shifts {
		x := &shifts[i]
		x.to = p.routeToggled(x.from, n)
		p.routes.count(x.to, 1)
	}
	p.showStreams()
	p.lockStreams(shifts)
	for i := range shifts {
		x := &shifts[i]
		f(x)
		x.entry.Value.moving = false
		x.entry.Value.route.Store(x.to)
	}
	p.unlockStreams()
	for i := range shifts {
		if from := shifts[i].from; from.tags == 0 {
			from.tags = -1 // dropped
			p.drop(from)
		}
	}
	p.showStreams()
	clear(shifts)
	p.shifts = shifts
	return max(steps, looks, 1), done
}

// moves reports whether a tag is to move to lane n, or off it. mu is held.
func (p *Publisher) moves(n *lane, e *tagmap.Entry[tagState], join bool) bool {
	return !e.Value.moving && e.Value.route.Load().has(n) != join && p.wants(n, e.Tag) == join
}

// wants reports whether a lane wants a tag. mu is held.
func (p *Publisher) wants(n *lane, tag tags.Tag) bool {
	return p.table.Wants(n.id, tag) || n.keeps(tag)
}

// wantSteps returns what it costs to find that out.
func (p *Publisher) wantSteps(n *lane) int {
	_, masks := p.table.Size(n.id)
	return 1 + (masks+len(n.transit))/8
}

// keeps reports whether a subscription that changes from one set to another has a
// tag in both.
func (n *lane) keeps(tag tags.Tag) bool {
	for _, c := range n.transit {
		if c.before.Contains(tag) && c.after.Contains(tag) {
			return true
		}
	}
	return false
}

// lockStreams keeps publishers off the routes from which tags move, with no page
// under construction. mu is held.
func (p *Publisher) lockStreams(shifts []shift) {
	p.locking++
	for i := range shifts {
		p.lockLater(shifts[i].from)
	}
	p.lockAll((*stream).sealPage)
}

// lockLater adds the streams of a route to those that are going to be locked.
func (p *Publisher) lockLater(r *route) {
	for _, s := range r.streams {
		if s.locking != p.locking {
			s.locking = p.locking
			p.locked = append(p.locked, s)
		}
	}
}

// lockAll locks the streams that were added, in the order in which all lock them,
// and calls f for each.
func (p *Publisher) lockAll(f func(*stream)) {
	slices.SortFunc(p.locked, compareStreams)
	for _, s := range p.locked {
		s.mu.Lock()
		f(s)
	}
}

func (p *Publisher) unlockStreams() {
	for _, s := range p.locked {
		s.mu.Unlock()
	}
	clear(p.locked)
	p.locked = p.locked[:0]
}

// has reports whether a route leads to lane n.
func (r *route) has(n *lane) bool {
	_, found := slices.BinarySearchFunc(r.lanes, n, compareLanes)
	return found
}
