package fanout

import (
	"slices"
)

// open begins a page of extent x in all of streams if all their lossless lanes and the
// pool have room, otherwise in none. The mutexes of the streams are held, and they have
// no page. A stream with only lossy lanes may be left without a page.
//
// Errors: ErrNoRoom.
func (fan *Fanout) open(x extent, streams ...*stream) error {
	fan.openMu.Lock()
	defer fan.openMu.Unlock()
	if fan.tryOpen(x, streams) {
		return nil
	}
	// OnReady announces room that is freed after this line. The second try finds room
	// that was freed before it.
	fan.refused()
	if fan.tryOpen(x, streams) {
		return nil
	}
	return ErrNoRoom
}

// tryOpen looks before it takes. A failed try must never hold room, even briefly:
// another publishing goroutine could be refused because of it and never be woken.
// openMu, held, keeps others from taking in between.
func (fan *Fanout) tryOpen(x extent, streams []*stream) bool {
	if refused(x.counted, streams) {
		return false
	}
	var ok bool
	if fan.taken, ok = fan.pool.GetAll(fan.taken[:0], x.buffers*len(streams)); !ok {
		// The lossy ones do without.
		needy := slices.DeleteFunc(slices.Clone(streams), func(s *stream) bool { return s.lossy })
		if len(needy) == len(streams) {
			fan.dry.Store(true)
		}
		return len(needy) == 0 || len(needy) < len(streams) && fan.tryOpen(x, needy)
	}
	for i, s := range streams {
		buffers := fan.taken[i*x.buffers : (i+1)*x.buffers]
		for i, n := range s.lanes {
			s.skip[i] = !n.reserve(x.counted)
		}
		s.begin(fan.newPage(x, buffers))
	}
	return true
}

// refused reports whether a lossless lane of streams has no room. It marks all such
// lanes as holding up the publisher.
func refused(pages int64, streams []*stream) (any bool) {
	for _, s := range streams {
		for _, n := range s.lanes {
			if n.Policy.Lossless() && !n.hasRoom(pages) {
				n.refuses.Store(true)
				any = true
			}
		}
	}
	return any
}

// openSolo begins a page of extent x for the only lane of a stream, whose
// mutex is held, if there is room for it.
func (fan *Fanout) openSolo(x extent, s *stream) bool {
	fan.openMu.Lock()
	defer fan.openMu.Unlock()
	if !s.lanes[0].hasRoom(x.counted) {
		return false
	}
	var ok bool
	if fan.taken, ok = fan.pool.GetAll(fan.taken[:0], x.buffers); !ok {
		return false
	}
	s.skip[0] = !s.lanes[0].reserve(x.counted)
	s.begin(fan.newPage(x, fan.taken))
	return true
}

// lossyFull reports whether the lossy lanes together have no room for more pages.
// Half of the pool is beyond their reach, so that they cannot starve the others.
func (fan *Fanout) lossyFull(pages int64) bool {
	now := fan.lossyPinned.Load()
	return now > 0 && now+pages > fan.lossyPages
}

// refused notes that a publishing call was refused, so that the next room is announced.
func (fan *Fanout) refused() {
	fan.refusals.Add(1)
	fan.wantReady.Store(true)
}

// roomFreed wakes the callers that wait for room.
func (fan *Fanout) roomFreed() {
	fan.waiting.wake()
	if fan.cfg.OnReady != nil && fan.wantReady.Load() && fan.wantReady.Swap(false) {
		fan.loop.Post(fan.readyFunc)
	}
}

func (fan *Fanout) onReady() { fan.cfg.Call(fan.cfg.OnReady) }
