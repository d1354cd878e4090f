// SPDX-License-Identifier: Apache-2.0

package handover

import "sync"

// Worker has work for the loop: an endpoint, a listen endpoint, a backend.
type Worker interface{ Work() }

// Worklist holds what is to be done at the end of the loop's turn, in the order in which
// it was put there. Several sends of a turn, to one endpoint or to many, wake the loop
// at most once, and reach the system together.
type Worklist struct {
	mu      sync.Mutex
	filling []Worker

	// Only on the loop.
	emptying []Worker
	next     int
}

// Put appends w, and reports whether the loop must be woken. Threads: any.
func (l *Worklist) Put(w Worker) (wake bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.filling = append(l.filling, w)
	return len(l.filling) == 1
}

// Take removes the next worker and returns it. Left is not 0.
func (l *Worklist) Take() Worker {
	w := l.emptying[l.next]
	l.emptying[l.next] = nil
	l.next++
	return w
}

// Left returns the number of workers that can be taken.
func (l *Worklist) Left() int { return len(l.emptying) - l.next }

// Waiting reports whether a worker was put since the last Refill. Threads: any.
func (l *Worklist) Waiting() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.filling) > 0
}

// Refill makes available the workers that were put since the last Refill.
func (l *Worklist) Refill() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.Left() > 0 { // after a panic, or when the turn was full
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
