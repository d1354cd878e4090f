// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"sync/atomic"

	"tagbus/bus/internal/tagmap"
	"tagbus/bus/internal/tagset"
	"tagbus/bus/internal/wire"
	"tagbus/tags"
)

// tagState is what the fanout knows of one tag. count, bytes and last, and what the cache
// has in the line, are guarded by the mutexes of the streams of the tag's route.
type tagState struct {
	route   atomic.Pointer[route]
	count   uint64
	bytes   uint64 // of payload
	last    uint32 // second in which the last message was accepted
	line    uint32 // of the cache
	number  uint32 // in topology.known
	removed bool   // by Retire; written with Mu held too
	moving  bool   // to another route; Fanout.Mu
}

// addTag makes a tag known, at its first message.
//
// Errors: ErrStopped, ErrUnknownTag.
func (fan *Fanout) addTag(tag tags.Tag) (*tagState, error) {
	fan.Mu.Lock()
	defer fan.Mu.Unlock()
	if fan.stopped {
		return nil, ErrStopped
	}
	if t := fan.tags.Get(tag); t != nil {
		return t, nil
	}
	if !fan.served.Contains(tag) {
		return nil, ErrUnknownTag
	}
	r := fan.routeTo(fan.lanesOf(tag))
	fan.routes.count(r, 1)
	fan.showStreams()
	t := fan.tags.Add(tag, func(t *tagState) {
		t.route.Store(r)
		t.number = uint32(len(fan.known))
		if fan.cache != nil {
			t.line = fan.cache.NewLine()
		}
	})
	fan.known = append(fan.known, fan.tags.Entry(tag))
	fan.knownTags.Add(1)
	fan.cfg.First(tag)
	fan.finishGrowing()
	return t, nil
}

// accepted counts a published message, and keeps it in the cache. The mutexes of the
// route are held.
func (t *tagState) accepted(fan *Fanout, status wire.Status, data []byte) {
	t.took(fan, 1, len(data))
	if c := fan.cache; c != nil {
		c.Add(t.line, uint16(status), data)
	}
}

// took counts published messages with so many bytes. The mutexes of the route are held.
func (t *tagState) took(fan *Fanout, messages, bytes int) {
	t.count += uint64(messages)
	t.bytes += uint64(bytes)
	t.last = fan.Second.Now()
}

// Count returns how many messages of a tag were published: the position of the last one.
// Loop only.
func (fan *Fanout) Count(tag tags.Tag) uint64 {
	t := fan.tags.Get(tag)
	if t == nil { // a reader without the lock may not find a new tag yet
		fan.Mu.Lock()
		t = fan.tags.Get(tag)
		fan.Mu.Unlock()
	}
	for t != nil {
		r := t.route.Load()
		s := r.streams[0]
		s.mu.Lock()
		n, current := t.count, t.route.Load() == r
		s.mu.Unlock()
		if current {
			return n
		}
	}
	return 0
}

// movedPerTurn is the number of slots that one turn of the loop moves when the map of
// the tags has grown: some tenths of a millisecond with Mu held.
const movedPerTurn = 4096

// finishGrowing makes the loop move the map of the tags that has just grown. Without
// further tags it could stay half moved for ever, and until then each message costs a
// second lookup. Mu is held.
func (fan *Fanout) finishGrowing() {
	if fan.growing || !fan.tags.Moving() {
		return
	}
	fan.growing = fan.loop.Post(func() {
		fan.Mu.Lock()
		defer fan.Mu.Unlock()
		fan.growing = false
		fan.tags.Move(movedPerTurn)
		fan.finishGrowing()
	})
}

// walk visits the known tags that may be in one of some sets, in any number of pieces.
// It may or may not visit tags that become known meanwhile. It looks up each tag of the
// sets. If the known tags are fewer, or the sets have masks, it visits all known tags
// instead. A tag of several sets may come several times.
//
// Guarded by Fanout.Mu.
type walk struct {
	fan  *Fanout
	sets []tags.Set // not done; the first from next on
	next tags.Tag
	all  bool
	at   int // of all: in topology.known
}

// newWalk returns a walk at its beginning. Mu is held.
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
