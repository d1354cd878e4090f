package fanout

import (
	"tagbus/bus/internal/tagmap"
	"tagbus/bus/internal/tagset"
	"tagbus/tags"
)

// walk visits the known tags that may be in one of some sets, in any number of pieces.
// It may or may not visit tags that become known meanwhile. It looks up each tag of the
// sets. If the known tags are fewer, or the sets have masks, it visits all known tags
// instead. A tag of several sets may come several times.
//
// Guarded by fanout.mu.
type walk struct {
	fan  *Fanout
	sets []tags.Set // not done; the first from next on
	next tags.Tag
	all  bool
	at   int // of all: in Publisher.known
}

// newWalk returns a walk at its beginning. mu is held.
func (fan *Fanout) newWalk(sets ...tags.Set) walk {
	left := uint64(len(fan.known))
	for _, set := range sets {
		for lo, hi := range set.Ranges() {
			if uint64(hi-lo) >= left {
				return walk{fan: fan, all: true}
			}
			left -= uint64(hi-lo) + 1
		}
		if tagset.HasMasks(set) {
			return walk{fan: fan, all: true}
		}
	}
	return walk{fan: fan, sets: sets}
}

// visit calls f for the next tags, as long as it wants more and for at most budget
// steps. A step takes about as long as a look into a large map: steps counts those
// too that find nothing, of which f does not hear.
func (w *walk) visit(budget int, f func(*tagmap.Entry[tagState]) (more bool)) (steps int, done bool) {
	defer func() { w.fan.walked += uint64(steps) }()
	if w.all {
		for more := true; more && w.at < len(w.fan.known) && steps < budget; steps++ {
			e := w.fan.known[w.at]
			w.at++
			more = f(e)
		}
		return steps, w.at == len(w.fan.known)
	}
	for len(w.sets) > 0 {
		for tag := range w.sets[0].AllFrom(w.next) {
			steps++
			e := w.fan.tags.Entry(tag)
			if more := e == nil || f(e); !more || steps >= budget {
				if w.next = tag + 1; tag == tags.MaxTag {
					w.sets, w.next = w.sets[1:], 0
				}
				return steps, len(w.sets) == 0
			}
		}
		w.sets, w.next = w.sets[1:], 0
		if steps++; steps >= budget {
			break
		}
	}
	return steps, len(w.sets) == 0
}
