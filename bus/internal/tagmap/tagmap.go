// SPDX-License-Identifier: Apache-2.0

// Package tagmap is a hash table from tags to values that many goroutines read without
// a lock while one writer changes it.
package tagmap

import (
	"math"
	"math/bits"
	"sync/atomic"

	"tagbus/tags"
)

// Map is a hash table from tags to values that is read without a lock while
// one writer adds to it. A Go map costs twice as much per lookup and would need a
// lock here.
//
// No call of the writer costs more than it names, however many entries there are:
// when a table is full, a larger one takes the new entries, and each of these moves
// a few of the old ones, which are found in both meanwhile. Move moves more of them,
// for a writer that has the time: a lookup in a map that is growing costs twice as
// much.
type Map[V any] struct {
	slots atomic.Pointer[table[V]]

	// Writer only.
	count int
	moved int // slots of the old table whose entries are in the new one
	work  int // slots that the writer has looked at so far
}

// table is a table of slots, or two of them while one is being moved. What it holds does
// not change, except the slots.
type table[V any] struct {
	shift uint8
	slots []atomic.Pointer[Entry[V]] // power of two, at most half full
	old   *table[V]                  // its entries are moved here; nil: nothing is moved
}

// Entry is what a map holds for a tag. It stays where it is when the map grows.
type Entry[V any] struct {
	Tag   tags.Tag // does not change
	Value V
}

const (
	minSlots    = 64
	movedAtOnce = 1024 // slots of a table that is so small that it is moved in one step
	movedPerAdd = 4    // slots: a table that has room for as many entries as it has moves in time with 2
)

// Len returns how many entries there are. Writer only.
func (m *Map[V]) Len() int { return m.count }

// Cost returns how many slots the writer has looked at so far, which is what its calls
// have cost. Writer only.
func (m *Map[V]) Cost() int { return m.work }

// Get returns the value of a tag, or nil. A reader that runs beside the writer
// may miss the newest entries; it asks again under the writer's lock.
func (m *Map[V]) Get(tag tags.Tag) *V {
	if e := m.Entry(tag); e != nil {
		return &e.Value
	}
	return nil
}

// Entry returns the entry of a tag, or nil.
func (m *Map[V]) Entry(tag tags.Tag) *Entry[V] {
	for t := m.slots.Load(); t != nil; t = t.old {
		for i := t.home(tag); ; i = (i + 1) & (len(t.slots) - 1) {
			e := t.slots[i].Load()
			if e == nil {
				break
			}
			if e.Tag == tag {
				return e
			}
		}
	}
	return nil
}

// Add makes an entry for a tag that has none and returns its zero value. init
// fills it before readers can see it. Writer only.
func (m *Map[V]) Add(tag tags.Tag, init func(*V)) *V {
	e := &Entry[V]{Tag: tag}
	init(&e.Value)
	m.insert(e)
	return &e.Value
}

// All calls f for every entry, in no order. Writer only.
func (m *Map[V]) All(f func(*Entry[V])) {
	for place, done := uint64(0), false; !done; {
		place, done = m.Walk(place, math.MaxInt, f)
	}
}

// Walk calls f for the next entries in an order of its own and stops after about
// budget slots. Entries that are added meanwhile may be left out; no other is, and
// none comes twice. f must not change the map. Writer only.
//
//   - place: what the last call has returned; first 0.
//   - Result: where to go on, unless done.
func (m *Map[V]) Walk(place uint64, budget int, f func(*Entry[V])) (next uint64, done bool) {
	end := m.work + min(budget, math.MaxInt-m.work)
	if !m.Move(budget) {
		return place, false
	}
	t := m.slots.Load()
	if t == nil {
		return 0, true
	}
	// The order is that of the hashes, so that it holds when the table grows. In
	// front of an empty slot stand all entries whose home is there, and no others,
	// except those from the last slots that have wrapped around to the first.
	first := int(place >> t.shift)
	for i := first; i < len(t.slots); i++ {
		m.work++
		e := t.slots[i].Load()
		switch {
		case e != nil && t.hash(e.Tag) >= place && t.home(e.Tag) <= i:
			f(e)
		case e == nil && m.work >= end && i > first:
			return uint64(i) << t.shift, false
		}
	}
	for i := 0; ; i++ {
		m.work++
		e := t.slots[i].Load()
		if e == nil {
			return 0, true
		}
		if t.home(e.Tag) > i {
			f(e)
		}
	}
}

// sweep removes those of the next entries that f does not want. Otherwise it is
// Walk. Writer only, and only without readers.
func (m *Map[V]) sweep(place uint64, budget int, f func(*Entry[V]) bool) (next uint64, done bool) {
	var unwanted []tags.Tag
	next, done = m.Walk(place, budget, func(e *Entry[V]) {
		if !f(e) {
			unwanted = append(unwanted, e.Tag)
		}
	})
	for _, tag := range unwanted {
		m.remove(tag)
	}
	return next, done
}

// remove removes an entry that is there. Nothing is being moved, and there is no reader.
func (m *Map[V]) remove(tag tags.Tag) {
	t := m.slots.Load()
	mask := len(t.slots) - 1
	free := t.home(tag)
	for ; t.slots[free].Load().Tag != tag; free = (free + 1) & mask {
		m.work++
	}
	// Those behind it move up, unless they would come before their home.
	for i := (free + 1) & mask; ; i = (i + 1) & mask {
		m.work++
		e := t.slots[i].Load()
		if e == nil {
			break
		}
		if (i-t.home(e.Tag))&mask >= (i-free)&mask {
			t.slots[free].Store(e)
			free = i
		}
	}
	t.slots[free].Store(nil)
	m.count--
}

// shrink begins to move the entries to a smaller table if they would fill a small
// part of it. Writer only.
func (m *Map[V]) shrink() {
	t := m.slots.Load()
	if t == nil || t.old != nil || len(t.slots) <= minSlots || 16*m.count > len(t.slots) {
		return
	}
	n := minSlots
	for n < 4*m.count {
		n *= 2
	}
	m.resize(n)
}

// Move moves entries to the new table, those of so many slots of the old one, and
// reports whether all are there. Writer only.
func (m *Map[V]) Move(slots int) (done bool) {
	t := m.slots.Load()
	if t == nil || t.old == nil {
		return true
	}
	old := t.old.slots
	end := m.moved + min(slots, len(old)-m.moved)
	for ; m.moved < end; m.moved++ {
		m.work++
		if e := old[m.moved].Load(); e != nil {
			m.put(t, e)
		}
	}
	if m.moved < len(old) {
		return false
	}
	// A reader may still look into the old table, so t stays as it is.
	m.slots.Store(&table[V]{shift: t.shift, slots: t.slots})
	return true
}

// Moving reports whether entries are being moved. Writer only.
func (m *Map[V]) Moving() bool {
	t := m.slots.Load()
	return t != nil && t.old != nil
}

func (m *Map[V]) insert(e *Entry[V]) {
	t := m.slots.Load()
	switch {
	case t == nil:
		t = m.resize(minSlots)
	case 2*(m.count+1) > len(t.slots):
		m.Move(math.MaxInt) // of a table that has shrunk; one that has grown is moved in time
		t = m.resize(2 * len(t.slots))
	}
	m.put(t, e)
	m.count++
	m.Move(movedPerAdd)
}

// resize begins to move all entries to a table of n slots. Nothing is being moved.
func (m *Map[V]) resize(n int) *table[V] {
	t := &table[V]{
		shift: uint8(64 - bits.TrailingZeros(uint(n))),
		slots: make([]atomic.Pointer[Entry[V]], n),
		old:   m.slots.Load(),
	}
	m.slots.Store(t)
	m.moved = 0
	if t.old != nil && len(t.old.slots) <= movedAtOnce {
		m.Move(movedAtOnce)
	}
	return t
}

// put puts an entry into the first free slot from its home.
func (m *Map[V]) put(t *table[V], e *Entry[V]) {
	i := t.home(e.Tag)
	for m.work++; t.slots[i].Load() != nil; m.work++ {
		i = (i + 1) & (len(t.slots) - 1)
	}
	t.slots[i].Store(e)
}

// home spreads tags evenly. Detector tags differ in a few bits, often not the
// lowest, and one multiplication crowds such regular numbers: the e-links of
// 1,600 links took 7 probes on average. Two do as well as chance.
func (t *table[V]) home(tag tags.Tag) int { return int(t.hash(tag) >> t.shift) }

func (t *table[V]) hash(tag tags.Tag) uint64 {
	const odd = 0xd6e8feb86659fd93
	x := uint64(tag)
	x ^= x >> 32
	x *= odd
	x ^= x >> 32
	return x * odd
}
