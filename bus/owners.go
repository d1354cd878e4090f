package bus

import (
	"tagbus/bus/internal/tagmap"
	"tagbus/tags"
)

// owner is a receiver of a sender, and the tags of which it was the last to
// subscribe. It is remembered beyond its connection, so that the cache is not
// sent to one receiver when another one has had it.
type owner struct {
	instance string
	set      tags.Set
}

// handOver notes that the receiver of a link owns sets, and returns the tags of
// which another one had some before. Of these the cache is to forget all: it has
// been handled there, or may have been. mu is held.
func (p *Publisher) handOver(l *link, sets []tags.Set) (lost []tags.Set) {
	if p.sender == nil || p.cache == nil || len(sets) == 0 {
		return nil
	}
	set := tags.Union(sets...)
	own := owner{instance: l.peer.Instance, set: set}
	others := p.sender.owners[:0]
	for _, o := range p.sender.owners {
		switch {
		case o.instance == own.instance:
			own.set = own.set.Union(o.set)
			continue
		case o.set.Intersects(set):
			both, err := intersection(set, o.set)
			if err != nil {
				both = set // more than need be
			}
			lost = append(lost, both)
			if left, err := o.set.Without(set); err == nil {
				o.set = left // otherwise it is forgotten again the next time
			}
		}
		if !o.set.IsEmpty() {
			others = append(others, o)
		}
	}
	clear(p.sender.owners[len(others):])
	p.sender.owners = append(others, own)
	return lost
}

// forgetCached empties the cache of the next tags of a walk, those in one of sets.
// mu is held.
func (p *Publisher) forgetCached(w *walk, sets []tags.Set, budget int) (steps int, done bool) {
	return p.eachLocked(w, budget, func(e *tagmap.Entry[tagState]) bool { return containsTag(sets, e.Tag) }, func(*stream) {},
		func(e *tagmap.Entry[tagState]) { p.cache.Empty(e.Value.line) })
}
