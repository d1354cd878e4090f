//go:build libfabric && cgo

package rdma

import "sync"

// worker is something that has work for the loop: an endpoint, a listen
// endpoint, a backend.
type worker interface{ work() }

// worklist is what has to be done at the end of the loop's turn, in the order
// in which it was put there. So several sends of a turn, to one endpoint or to
// many, wake the loop once at most, and go to the system together.
type worklist struct {
	mu      sync.Mutex
	filling []worker

	// Only on the loop.
	emptying []worker
	next     int
}

// put appends w. Threads: any. It tells whether the loop must be told.
func (l *worklist) put(w worker) (tell bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.filling = append(l.filling, w)
	return len(l.filling) == 1
}

// take returns what is next, nil if there is nothing.
func (l *worklist) take() worker {
	w := l.emptying[l.next]
	l.emptying[l.next] = nil
	l.next++
	return w
}

// left returns how many can be taken.
func (l *worklist) left() int { return len(l.emptying) - l.next }

// waiting tells whether something was put since the last refill.
func (l *worklist) waiting() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.filling) > 0
}

// refill makes available what was put since the last refill.
func (l *worklist) refill() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.left() > 0 { // after a panic, or when the turn was full
		n := copy(l.emptying, l.emptying[l.next:])
		clear(l.emptying[n:])
		l.emptying, l.next = append(l.emptying[:n], l.filling...), 0
		clear(l.filling)
		l.filling = l.filling[:0]
		return
	}
	l.next = 0
	l.emptying, l.filling = l.filling, l.emptying[:0]
}
