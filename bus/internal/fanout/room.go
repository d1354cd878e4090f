package fanout

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
)

// open begins a page of extent x in all of streams if all their lossless lanes and the
// pool have room, otherwise in none. The mutexes of the streams are held, and they have
// no page. A stream with only lossy lanes may be left without a page. Why no wake-up is
// lost: "Wake-ups" in the package comment.
//
// Errors: ErrNoRoom.
func (fan *Fanout) open(x extent, streams ...*stream) error {
	fan.openMu.Lock()
	defer fan.openMu.Unlock()
	if fan.tryOpen(x, streams) {
		return nil
	}
	// OnReady announces the room that is freed after this line. The second try finds the
	// room that was freed before it.
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
		needy := slices.DeleteFunc(slices.Clone(streams), func(s *stream) bool { return s.lossy })
		if len(needy) < len(streams) { // the lossy ones do without
			return len(needy) == 0 || fan.tryOpen(x, needy)
		}
		fan.dry.Store(true)
		if fan.taken, ok = fan.pool.GetAll(fan.taken[:0], x.buffers*len(streams)); !ok {
			return false
		}
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
// lanes as holding up those that publish.
func refused(pages int64, streams []*stream) (any bool) {
	for _, s := range streams {
		for _, n := range s.lanes {
			if n.Policy.Lossless() && !n.hasRoom(pages) {
				n.refuses.Store(true)
				any = !n.hasRoom(pages) || any
			}
		}
	}
	return any
}

// openSolo begins a page of extent x for the only lane of a solo stream, whose mutex is
// held, and reports whether there is room for it.
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

// roomFreed wakes the callers that wait for room, and announces it by OnReady.
func (fan *Fanout) roomFreed() {
	fan.waiting.wake()
	if fan.cfg.OnReady != nil && fan.wantReady.Load() && fan.wantReady.Swap(false) {
		fan.loop.Post(fan.readyFunc)
	}
}

// onReady tells the user. Loop only.
func (fan *Fanout) onReady() { fan.cfg.Call(fan.cfg.OnReady) }

// AwaitRoom calls try, and again each time that room is freed, until try reports that it
// is done. Room may be freed, and taken by others, many times before.
//
//   - Errors: the cause of the end of ctx.
//   - Threads: any except the loop, which frees the room.
func (fan *Fanout) AwaitRoom(ctx context.Context, try func() (done bool)) error {
	w := fan.waiting.enter()
	defer fan.waiting.leave(w)
	for !try() {
		if err := w.wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

// waiters wakes goroutines that wait for room. Without any, wake costs one atomic
// load.
type waiters struct {
	count atomic.Int32
	mu    sync.Mutex
	list  []*waiter
	pool  sync.Pool
}

// waiter is one registration, used again and again.
type waiter struct{ woken chan struct{} } // capacity 1

// enter registers the caller. The caller must then try once more before it waits, or it
// could miss room that was freed in between.
func (all *waiters) enter() *waiter {
	x, _ := all.pool.Get().(*waiter)
	if x == nil {
		x = &waiter{woken: make(chan struct{}, 1)}
	}
	all.mu.Lock()
	all.list = append(all.list, x)
	all.count.Store(int32(len(all.list)))
	all.mu.Unlock()
	return x
}

// leave ends the registration, woken or not.
func (all *waiters) leave(x *waiter) {
	all.mu.Lock()
	for i := range all.list {
		if all.list[i] == x {
			all.list = append(all.list[:i], all.list[i+1:]...)
			break
		}
	}
	all.count.Store(int32(len(all.list)))
	all.mu.Unlock()
	select {
	case <-x.woken:
	default:
	}
	all.pool.Put(x)
}

// wake wakes all registered waiters.
func (all *waiters) wake() {
	if all.count.Load() == 0 {
		return
	}
	all.mu.Lock()
	for _, x := range all.list {
		select {
		case x.woken <- struct{}{}:
		default:
		}
	}
	all.mu.Unlock()
}

// wait returns nil when woken, or the cause of the end of ctx.
func (one *waiter) wait(ctx context.Context) error {
	select {
	case <-one.woken:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
