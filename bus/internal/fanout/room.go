// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"context"
	"sync"
	"sync/atomic"

	"tagbus/bus/internal/wire"
	"tagbus/subscription"
)

// ask is what a message needs of a page that is being opened for it.
type ask struct {
	memory  int   // bytes of the arena, at most
	counted int64 // bytes on the wire, at most
	alone   bool  // no message follows in the page
}

// askFor returns what a message of n bytes needs.
func askFor(n int) ask {
	return ask{memory: wire.MaxOverhead + n, counted: int64(wire.HeaderBytes + wire.MaxOverhead + n)}
}

// open begins a page in all of streams if all their lossless lanes have room for the
// message and there is memory, otherwise in none. The mutexes of the streams are held, and
// they have no page. A stream with only lossy lanes may be left without a page. Why no
// wake-up is lost: "Wake-ups" in the package comment.
//
// Errors: ErrNoRoom.
func (fan *Fanout) open(x ask, streams ...*stream) error {
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

// tryOpen looks before it takes. A failed try must never hold room of a lane, even
// briefly: another publishing goroutine could be refused because of it and never be woken.
// openMu, held, keeps others from taking in between.
func (fan *Fanout) tryOpen(x ask, streams []*stream) bool {
	if refused(x, streams) {
		return false
	}
	if !fan.takeMemory(x, streams) {
		fan.dry.Store(true)
		if !fan.takeMemory(x, streams) {
			return false
		}
	}
	for _, s := range streams {
		if s.page != nil {
			s.begin(x)
		}
	}
	return true
}

// takeMemory gives all of streams a page, or none. Those with only lossy lanes do without
// if there is no memory.
func (fan *Fanout) takeMemory(x ask, streams []*stream) bool {
	for i, s := range streams {
		if !s.lossy && !s.takePage(x.memory) {
			for _, s := range streams[:i] {
				s.undoPage()
			}
			return false
		}
	}
	for _, s := range streams {
		if s.lossy {
			s.takePage(x.memory)
		}
	}
	return true
}

// refused reports whether a lossless lane of streams has no room. It marks all such
// lanes as holding up those that publish.
func refused(x ask, streams []*stream) (any bool) {
	for _, s := range streams {
		want := s.want(x)
		for _, n := range s.lanes {
			if n.Policy.Lossless() && !n.hasRoom(x.counted, want) {
				n.refuses.Store(true)
				any = !n.hasRoom(x.counted, want) || any
			}
		}
	}
	return any
}

// openSolo begins a page for the only lane of a solo stream, whose mutex is held, or returns
// what it lacks (shortOf).
func (fan *Fanout) openSolo(x ask, s *stream) (short subscription.Cause) {
	fan.openMu.Lock()
	defer fan.openMu.Unlock()
	if short = s.lanes[0].shortOf(x.counted, s.want(x)); short != 0 {
		return short
	}
	if !s.takePage(x.memory) {
		return subscription.CauseMemory
	}
	s.begin(x)
	return 0
}

// extend takes more room for the page of s at all lanes that are going to get it: most
// bytes, or as many as there are. It takes none if these are fewer than least. The mutex
// of s is held.
func (fan *Fanout) extend(s *stream, least, most int64) int64 {
	fan.openMu.Lock()
	defer fan.openMu.Unlock()
	lossy := int64(0)
	for i, n := range s.lanes {
		if s.held[i] > 0 {
			most = min(most, n.room())
			if !n.Policy.Lossless() {
				lossy++
			}
		}
	}
	if lossy > 0 {
		most = min(most, fan.lossyRoom()/lossy)
	}
	if most < least {
		return 0
	}
	for i, n := range s.lanes {
		if s.held[i] > 0 {
			s.held[i] += most
			n.pin(most)
		}
	}
	return most
}

// lossyRoom returns how many bytes of pages the lossy lanes together may hold further.
// Half of the pool is beyond their reach, so that they cannot starve the others.
func (fan *Fanout) lossyRoom() int64 { return fan.lossyBytes - fan.lossyPinned.Load() }

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
