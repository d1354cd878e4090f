// SPDX-License-Identifier: Apache-2.0

//go:build linux

package reactor

import (
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// token is what the kernel keeps for a descriptor and returns with each event.
// The generation tells apart the registrations that have had the same index,
// one after the other, so that an event that was fetched for one is never
// delivered to the next.
type token struct {
	index      uint32
	generation uint32
}

func tokenOf(e *unix.EpollEvent) token { return token{uint32(e.Fd), uint32(e.Pad)} }

// Indices that are no place in the table.
const (
	wakeIndex  = 1<<24 - 1 - iota // the eventfd of a waker
	initIndex                     // Config.Init, for the watchdog
	postIndex                     // a posted function, for the watchdog
	maxIndices                    // how many places there can be
)

// table finds the registration of a token. The loop looks up without a lock;
// everything else holds mu.
type table struct {
	slots atomic.Pointer[[]atomic.Pointer[Registration]]

	mu          sync.Mutex
	closed      bool
	free        []uint32 // indices of empty slots
	generations []uint32 // of each slot: how often it was emptied
	used        int      // length of the slots in use, free or not
	byFD        map[int]*Registration
	live        int
}

func (t *table) init() {
	t.byFD = make(map[int]*Registration)
	t.slots.Store(new(make([]atomic.Pointer[Registration], 64)))
}

// lookup returns the registration of a token, or nil if it is closed. Threads:
// any.
func (t *table) lookup(of token) *Registration {
	r := t.at(of.index)
	if r == nil || r.generation != of.generation || r.closed.Load() {
		return nil
	}
	return r
}

// at returns the registration at an index, or nil.
func (t *table) at(index uint32) *Registration {
	slots := *t.slots.Load()
	if int(index) >= len(slots) {
		return nil
	}
	return slots[index].Load()
}

// insert gives r a place. mu is held.
func (t *table) insert(r *Registration) error {
	switch n := len(t.free); {
	case n > 0:
		r.index = t.free[n-1]
		t.free = t.free[:n-1]
	case t.used == maxIndices:
		return ErrTooMany
	default:
		t.grow(t.used + 1)
		r.index = uint32(t.used)
		t.generations = append(t.generations, 0)
		t.used++
	}
	r.generation = t.generations[r.index]
	(*t.slots.Load())[r.index].Store(r)
	t.live++
	return nil
}

// grow makes room for n slots. A lookup that still uses the old slots finds
// there what was registered before; what was closed since says so itself.
func (t *table) grow(n int) {
	old := *t.slots.Load()
	if n <= len(old) {
		return
	}
	slots := make([]atomic.Pointer[Registration], 2*len(old))
	for i := range old {
		slots[i].Store(old[i].Load())
	}
	t.slots.Store(&slots)
}

// remove takes r from the table, and reports whether it was in it. mu is held.
func (t *table) remove(r *Registration) bool {
	if r.closed.Swap(true) {
		return false
	}
	(*t.slots.Load())[r.index].Store(nil)
	t.generations[r.index]++
	t.free = append(t.free, r.index)
	if t.byFD[r.fd] == r {
		delete(t.byFD, r.fd)
	}
	t.live--
	return true
}
