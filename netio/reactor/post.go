// SPDX-License-Identifier: Apache-2.0

//go:build linux

package reactor

import (
	"reflect"
	"sync"
	"sync/atomic"
)

const (
	postsPerTurn  = 256     // run in one turn at most
	postsRetained = 1 << 16 // a longer queue is given back to the collector
)

// posts is the queue of posted functions. It has two slices that change places:
// one is filled under mu, the other one is emptied by the loop.
type posts struct {
	waiting atomic.Bool // filling is not empty

	mu      sync.Mutex
	filling []func()
	closed  bool

	// Only on the loop.
	emptying []func()
	next     int            // in emptying
	pc       atomic.Uintptr // code of the one that runs, for the watchdog
}

// Post schedules f to run on the loop, after everything that was posted before,
// and never inside Post itself.
//
//   - Result: true means that f will run, once, provided that Run is called.
//     False means that it will not: Run has returned or is about to, Close was
//     called, or f is nil.
//   - What is posted before Run runs after Config.Init.
//   - Threads: any, also callbacks. Blocks: never. Allocates: only to grow the
//     queue, which has no limit: post once per change of state, not per message.
//   - If the loop sleeps it is woken, by one system call at most; of several
//     posters one does that.
func (l *EventLoop) Post(f func()) bool {
	if f == nil {
		return false
	}
	p := &l.posts
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return false
	}
	p.filling = append(p.filling, f)
	p.waiting.Store(true)
	p.mu.Unlock()
	l.wake()
	return true
}

// refill exchanges the slices if the loop has emptied its own, and reports
// whether there is something to run.
func (p *posts) refill() bool {
	if p.next < len(p.emptying) {
		return true
	}
	if !p.waiting.Load() {
		return false
	}
	empty := p.emptying[:0]
	if cap(empty) > postsRetained {
		empty = nil
	}
	p.next = 0
	p.mu.Lock()
	p.emptying, p.filling = p.filling, empty
	p.waiting.Store(false)
	p.mu.Unlock()
	return len(p.emptying) > 0
}

// pending reports whether there is something to run.
func (p *posts) pending() bool {
	return p.next < len(p.emptying) || p.waiting.Load()
}

// close refuses further posts.
func (p *posts) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
}

// servePosts runs posted functions: those that were there when the turn came to
// them, and of these no more than the turn allows. After a panic it goes on
// where it was.
func (l *EventLoop) servePosts() {
	p := &l.posts
	for p.next < l.postsEnd {
		f := p.emptying[p.next]
		p.emptying[p.next] = nil
		p.next++
		p.pc.Store(reflect.ValueOf(f).Pointer())
		l.begin(postIndex, nil)
		f()
	}
}

// runPosts is the step of the turn.
func (l *EventLoop) runPosts() {
	if !l.posts.refill() {
		return
	}
	first := l.posts.next
	l.postsEnd = min(len(l.posts.emptying), first+postsPerTurn)
	l.guard((*EventLoop).servePosts)
	l.counters.posts.Add(uint64(l.posts.next - first))
}

// drainPosts runs all that was accepted, as the last thing that Run does.
func (l *EventLoop) drainPosts() {
	l.posts.close()
	for l.posts.pending() {
		l.runPosts()
	}
}
