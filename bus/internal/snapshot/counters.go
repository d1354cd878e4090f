// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"tagbus/bus/state"
)

// Backends counts connections by their backends, of which a program has a few. The zero
// value has none.
//
// Threads: any, for all methods.
type Backends struct {
	mu  sync.Mutex
	all []state.BackendCount // those that there has been a connection of
}

// Add notes that there are n connections more, or less.
func (b *Backends) Add(backend string, n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	at := slices.IndexFunc(b.all, func(c state.BackendCount) bool { return c.Backend == backend })
	if at < 0 {
		at = len(b.all)
		b.all = append(b.all, state.BackendCount{Backend: backend})
	}
	b.all[at].Connected += n
}

// All returns the counts, those that are 0 now too, in the order in which they began.
func (b *Backends) All() []state.BackendCount {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.all)
}

// Connected returns the counts that are not 0, the largest first; nil: there are none.
func (b *Backends) Connected() (all []state.BackendCount) {
	for _, c := range b.All() {
		if c.Connected > 0 {
			all = append(all, c)
		}
	}
	slices.SortStableFunc(all, func(a, b state.BackendCount) int { return b.Connected - a.Connected })
	return all
}

// Endings counts the connections that have ended without goodbye. The zero value has none.
//
// Threads: any, for all methods.
type Endings struct{ all, own atomic.Uint64 }

// Add counts one.
//
//   - cause: nil: it ended in order, and does not count. What counts as this side's own is as in Past.Broke.
func (n *Endings) Add(cause error) {
	if cause == nil {
		return
	}
	n.all.Add(1)
	if errors.As(cause, new(ownStall)) {
		n.own.Add(1)
	}
}

// All returns how many there were.
func (n *Endings) All() uint64 { return n.all.Load() }

// Own returns how many of these had a cause for which this side is to blame.
func (n *Endings) Own() uint64 { return n.own.Load() }

// lowestFor is how long at least a smallest number is shown, longer than Prometheus
// usually waits between two scrapes.
const lowestFor = time.Minute

// Lowest is the smallest of the numbers of the last one or two times lowestFor. It lets
// several callers read what the levels below start again with each reading. The zero
// value is ready.
type Lowest struct {
	began           time.Time // of recent
	recent, earlier int       // earlier is of the time before
}

// Add notes the smallest number since the call before, and returns the smallest lately.
func (w *Lowest) Add(now time.Time, n int) int {
	switch age := now.Sub(w.began); {
	case age >= 2*lowestFor: // the numbers before are too old
		*w = Lowest{now, n, n}
	case age >= lowestFor:
		*w = Lowest{now, n, w.recent}
	default:
		w.recent = min(w.recent, n)
	}
	return min(w.recent, w.earlier)
}
