package bus

import (
	"cmp"
	"slices"

	"tagbus/subscription"
	"tagbus/tags"
)

// change is a subscription whose set has become another.
type change struct{ before, after tags.Set }

// joined is where the tags that a lane newly wants stand, ascending, and what
// is known to be lost of them.
type joined struct {
	positions []subscription.Position
	totals    losses
}

// reroute moves the tags that lane n no longer wants, or newly wants, by these
// changes of its subscriptions, to their new routes, and returns where those
// stand that it newly wants. The pages under construction are sealed first, so
// that the order of each tag holds: what was published before the move is queued
// before it. If tags are newly wanted the lane is corked in between: the
// acknowledgement comes behind the last message of the tags that go, and before
// the first of those that come. What is replayed of these, if replayed is not
// nil, and what was lost of them is taken at the moment of the move: before more
// can be lost. mu is held.
func (p *Publisher) reroute(n *lane, replayed *replay, changes ...change) (j joined) {
	leaving, joining := p.moves(n, changes)
	for from, entries := range leaving {
		to := p.move(from, n, entries)
		from.lock()
		for _, e := range entries {
			e.value.route.Store(to)
			from.forget(n, e.tag)
		}
		from.unlock()
	}
	if len(leaving) > 0 {
		p.roomFreed() // whoever waits for room of n need not any more
	}
	if len(joining) > 0 {
		n.cork()
	}
	replayed.plan(joining)
	for from, entries := range joining {
		to := p.move(from, n, entries)
		from.lock()
		for _, e := range entries {
			if e.value.count > 0 {
				j.positions = append(j.positions, replayed.take(e))
			}
			n.account.addTotal(&j.totals, e.tag)
			e.value.route.Store(to)
		}
		from.unlock()
	}
	if len(leaving)+len(joining) > 0 {
		p.collect()
	}
	slices.SortFunc(j.positions, comparePositions)
	return j
}

func comparePositions(a, b subscription.Position) int { return cmp.Compare(a.Tag, b.Tag) }

// move returns the route of tags that a lane joins or leaves. mu is held.
func (p *Publisher) move(from *route, n *lane, entries []*tagEntry[tagState]) *route {
	to := p.routeTo(toggled(from.lanes, n))
	to.tags += len(entries)
	return to
}

// moves takes the known tags off their routes that have lane n and must not
// have it any more, or the other way round. mu is held.
func (p *Publisher) moves(n *lane, changes []change) (leaving, joining map[*route][]*tagEntry[tagState]) {
	leaving, joining = make(map[*route][]*tagEntry[tagState]), make(map[*route][]*tagEntry[tagState])
	seen := make(map[tags.Tag]struct{}) // several subscriptions may have the same tag
	p.candidates(changes, func(e *tagEntry[tagState]) {
		r := e.value.route.Load()
		has, wants := r.has(n), p.table.Wants(n.id, e.tag)
		if has == wants {
			return
		}
		if _, twice := seen[e.tag]; len(changes) > 1 && twice {
			return
		}
		if len(changes) > 1 {
			seen[e.tag] = struct{}{}
		}
		r.tags--
		if wants {
			joining[r] = append(joining[r], e)
		} else {
			leaving[r] = append(leaving[r], e)
		}
	})
	return leaving, joining
}

// candidates calls f for the known tags that some of the changes may concern:
// looked up one by one, or if these are fewer, for all that are known. mu is
// held.
func (p *Publisher) candidates(changes []change, f func(*tagEntry[tagState])) {
	var sets []tags.Set
	left := uint64(p.tags.count)
	for _, c := range changes {
		added, removed, few := p.difference(c.before, c.after)
		more, _ := added.Count()
		less, _ := removed.Count()
		if !few || more+less > left {
			p.tags.all(f)
			return
		}
		left -= more + less
		sets = append(sets, added, removed)
	}
	for _, set := range sets {
		for tag := range set.All() {
			if e := p.tags.entry(tag); e != nil {
				f(e)
			}
		}
	}
}

// has tells whether a route leads to lane n.
func (r *route) has(n *lane) bool {
	_, found := slices.BinarySearchFunc(r.lanes, n, compareLanes)
	return found
}

func compareLanes(a, b *lane) int { return cmp.Compare(a.id, b.id) }

// difference returns what after has more and less than before, if that is
// fewer tags than are known: then it is quicker to look them up.
func (p *Publisher) difference(before, after tags.Set) (added, removed tags.Set, few bool) {
	added, err := after.Without(before)
	if err != nil {
		return added, removed, false
	}
	if removed, err = before.Without(after); err != nil {
		return added, removed, false
	}
	more, _ := added.Count()
	less, _ := removed.Count()
	known := uint64(p.tags.count)
	return added, removed, more <= known && less <= known-more
}

// toggled returns lanes with l added or, if it is there, removed.
func toggled(lanes []*lane, l *lane) []*lane {
	i, found := slices.BinarySearchFunc(lanes, l, compareLanes)
	if found {
		return slices.Delete(slices.Clone(lanes), i, i+1)
	}
	return slices.Insert(slices.Clone(lanes), i, l)
}
