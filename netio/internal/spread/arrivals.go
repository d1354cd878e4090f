// SPDX-License-Identifier: Apache-2.0

package spread

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Arrivals are connections on their way to the loop of a worker, which another worker has
// accepted. The zero value is ready to use. Threads: any.
type Arrivals[T comparable] struct {
	mu      sync.Mutex
	waiting []T
	closed  atomic.Bool // written under mu
}

// Put adds a connection, and calls wake if it is the only one. It returns false if the worker has ended:
// wake has returned false, or Close was called.
func (a *Arrivals[T]) Put(c T, wake func() bool) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed.Load() {
		return false
	}
	if len(a.waiting) == 0 && !wake() {
		a.closed.Store(true)
		return false
	}
	a.waiting = append(a.waiting, c)
	return true
}

// Closed reports whether Put returns false.
func (a *Arrivals[T]) Closed() bool { return a.closed.Load() }

// Take returns the connections, the oldest first, which wait no longer.
func (a *Arrivals[T]) Take() []T {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := a.waiting
	a.waiting = nil
	return all
}

// Waiting returns the connections, the oldest first. They wait on, so Put does not call wake.
func (a *Arrivals[T]) Waiting() []T {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.waiting)
}

// Remove takes a connection out. It returns false if another caller was faster.
func (a *Arrivals[T]) Remove(c T) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	i := slices.Index(a.waiting, c)
	if i >= 0 {
		a.waiting = slices.Delete(a.waiting, i, i+1)
	}
	return i >= 0
}

// Close makes Put return false.
func (a *Arrivals[T]) Close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed.Store(true)
}
