package fanout

import (
	"context"
	"sync"
	"sync/atomic"
)

// waiters wakes goroutines that wait for room. Without any, wake costs one atomic
// load.
type waiters struct {
	count atomic.Int32
	mu    sync.Mutex
	list  []*waiter
	pool  sync.Pool
}

type waiter struct{ woken chan struct{} } // capacity 1

// enter registers the caller. The caller must then try once more before it waits, or it
// could miss room that was freed in between.
func (w *waiters) enter() *waiter {
	x, _ := w.pool.Get().(*waiter)
	if x == nil {
		x = &waiter{woken: make(chan struct{}, 1)}
	}
	w.mu.Lock()
	w.list = append(w.list, x)
	w.count.Store(int32(len(w.list)))
	w.mu.Unlock()
	return x
}

// leave ends the registration, woken or not.
func (w *waiters) leave(x *waiter) {
	w.mu.Lock()
	for i := range w.list {
		if w.list[i] == x {
			w.list = append(w.list[:i], w.list[i+1:]...)
			break
		}
	}
	w.count.Store(int32(len(w.list)))
	w.mu.Unlock()
	select {
	case <-x.woken:
	default:
	}
	w.pool.Put(x)
}

// wake wakes all registered waiters.
func (w *waiters) wake() {
	if w.count.Load() == 0 {
		return
	}
	w.mu.Lock()
	for _, x := range w.list {
		select {
		case x.woken <- struct{}{}:
		default:
		}
	}
	w.mu.Unlock()
}

// wait returns nil when woken, or the cause of the end of ctx.
func (x *waiter) wait(ctx context.Context) error {
	select {
	case <-x.woken:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
