package bus

import (
	"slices"

	"tagbus/bus/internal/positions"
	"tagbus/bus/internal/tagmap"
	"tagbus/subscription"
)

// unsubscribe ends a subscription and acknowledges that. It acknowledges an unknown one
// too, since the peer must not wait for ever. Loop only.
func (l *link) unsubscribe(id uint64) {
	n := l.subs[id]
	if n == nil {
		l.out.send(nil, &subscription.Unsubscribed{ID: id})
		return
	}
	delete(l.subs, id)
	p := l.pub
	p.fan.mu.Lock()
	set, _ := p.fan.table.Unsubscribe(n.id, id)
	w := p.fan.newWalk(set)
	p.fan.mu.Unlock()
	l.begin(linkJob{run: func(budget int) (steps int, done bool) {
		p.fan.mu.Lock()
		if steps, done = p.fan.moveOff(&w, n, budget); done {
			p.fan.notifyChanged()
		}
		p.fan.mu.Unlock()
		if done {
			l.out.send(n, &subscription.Unsubscribed{ID: id})
			l.event(Event{Kind: Unsubscribed, Peer: l.peer, Tags: set})
		}
		return steps, done
	}, abort: func() {}})
}

// unroute takes a subscriber out of all routes, for good, and then calls f. Loop
// only.
func (p *Publisher) unroute(l *link, f func()) {
	if !l.unrouting {
		l.owed = len(l.subs) > 0
	}
	if l.unrouted || p.chores.Ended() { // if the publisher has ended, nothing is published any more
		f()
		return
	}
	l.afterwards = append(l.afterwards, f)
	if l.unrouting {
		return
	}
	l.unrouting = true
	l.out.mu.Lock()
	l.out.closing = true
	l.out.mu.Unlock()
	var left leaving
	l.begin(linkJob{run: func(budget int) (steps int, done bool) {
		p.fan.mu.Lock()
		steps, done = p.fan.leaveAll(l, &left, budget)
		p.fan.mu.Unlock()
		if done {
			l.wasUnrouted()
		}
		return steps, done
	}})
}

// leaving is the progress of taking a link out of the routes.
type leaving struct {
	lanes int  // done
	begun bool // the next one
	walk  walk // through the tags whose routes may lead to it
}

// unwant removes a lane of a link from the table. It returns the walk through the tags
// whose routes may lead there, and the cost so far. Tags that become known later do not
// lead there. mu is held.
func (fan *fanout) unwant(l *link, n *lane) (w walk, steps int) {
	sets := fan.table.Remove(n.id)
	fan.endTransit(n)
	if l.torn {
		return walk{p: fan, all: true}, len(sets) / 2
	}
	return fan.newWalk(sets...), len(sets) / 2
}

// leaveAll takes the lanes of a link off the next tags. mu is held.
func (fan *fanout) leaveAll(l *link, left *leaving, budget int) (steps int, done bool) {
	for left.lanes < len(l.out.lanes) && steps < budget {
		n := l.out.lanes[left.lanes]
		if !left.begun {
			w, cost := fan.unwant(l, n)
			left.begun, left.walk = true, w
			steps += cost
			continue
		}
		cost, done := fan.moveOff(&left.walk, n, budget-steps)
		if steps += cost; done {
			left.lanes, left.begun = left.lanes+1, false
		}
	}
	return steps, left.lanes == len(l.out.lanes)
}

// wasUnrouted calls the functions that wait for the end of unrouting.
func (l *link) wasUnrouted() {
	l.unrouted = true
	for len(l.afterwards) > 0 {
		f := l.afterwards[0]
		l.afterwards = l.afterwards[1:]
		f()
	}
}

// sayGoodbye sends a subscriber the final positions when the publisher drains. Loop
// only.
func (l *link) sayGoodbye() {
	p, at := l.pub, 0
	var w *walk
	l.begin(linkJob{run: func(budget int) (steps int, done bool) {
		for at < len(l.out.lanes) && steps < budget {
			n := l.out.lanes[at]
			p.fan.mu.Lock()
			if w == nil {
				all := p.fan.newWalk(p.fan.table.Sets(nil, n.id)...)
				w = &all
			}
			finals, cost, done := p.fan.finalPositions(w, n, budget-steps)
			p.fan.mu.Unlock()
			n.finals(finals)
			if steps += cost; done {
				at, w = at+1, nil
			}
		}
		if at < len(l.out.lanes) {
			return steps, false
		}
		l.out.goodbye()
		return steps, true
	}, abort: func() {}})
}

// finalPositions returns the positions of the next tags of a walk that a lane has,
// ascending. mu is held.
func (fan *fanout) finalPositions(w *walk, n *lane, budget int) (finals []subscription.Position, steps int, done bool) {
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
