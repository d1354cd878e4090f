// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"slices"
	"sync"

	"tagbus/bus/state"
)

// BackendCount is how many connections go by one backend.
type BackendCount struct {
	Backend     string // "tcp", "shm"
	Connections int    // open now
}

// backendCounts counts connections by their backends, of which a program has a few. The zero
// value has none.
//
// Threads: any.
type backendCounts struct {
	mu  sync.Mutex
	all []BackendCount // those that there has been a connection of
}

// add notes that there are n connections more, or less.
func (c *backendCounts) add(backend string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := slices.IndexFunc(c.all, func(b BackendCount) bool { return b.Backend == backend })
	if at < 0 {
		at = len(c.all)
		c.all = append(c.all, BackendCount{Backend: backend})
	}
	c.all[at].Connections += n
}

// stats returns the counts, those that are 0 now too.
func (c *backendCounts) stats() []BackendCount {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.all)
}

// portray returns the counts that are not 0, the largest first.
func (c *backendCounts) portray() (all []state.BackendCount) {
	for _, b := range c.stats() {
		if b.Connections > 0 {
			all = append(all, state.BackendCount{Backend: b.Backend, Connected: b.Connections})
		}
	}
	slices.SortStableFunc(all, func(a, b state.BackendCount) int { return b.Connected - a.Connected })
	return all
}
