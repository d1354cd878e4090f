package bus

import (
	"math"
	"math/bits"
	"sync/atomic"

	"tagbus/tags"
)

// tagMap is a hash table from tags to values that is read without a lock while
// one writer adds to it. A Go map costs twice as much per lookup and would need a
// lock here.
//
// No call of the writer costs more than it names, however many entries there are:
// when a table is full, a larger one takes the new entries, and each of these moves
// a few of the old ones, which are found in both meanwhile. move moves more of them,
// for a writer that has the time: a lookup in a map that is growing costs twice as
// much.
type tagMap[V any] struct {
	slots atomic.Pointer[tagSlots[V]]

	// Writer only.
	count int
	moved int // slots of the old table whose entries are in the new one
	work  int // slots that the writer has looked at so far, which is what its calls cost
}

// tagSlots is a table, or two of them while one is being moved. What it holds does
// not change, except the slots.
type tagSlots[V any] struct {
	shift uint8
	slots []atomic.Pointer[tagEntry[V]] // power of two, at most half full
	old   *tagSlots[V]                  // its entries are moved here; nil: nothing is moved
}

type tagEntry[V any] struct {
	tag   tags.Tag
	value V
}

const (
	minTagSlots = 64
	movedAtOnce = 1024 // slots of a table that is so small that it is moved in one step
	movedPerAdd = 4    // slots: a table that has room for as many entries as it has moves in time with 2
)

// get returns the value of a tag, or nil. A reader that runs beside the writer
// may miss the newest entries; it asks again under the writer's lock.
func (m *tagMap[V]) get(tag tags.Tag) *V {
	if e := m.entry(tag); e != nil {
		return &e.value
	}
	return nil
}

// entry returns the entry of a tag, or nil.
func (m *tagMap[V]) entry(tag tags.Tag) *tagEntry[V] {
	for t := m.slots.Load(); t != nil; t = t.old {
		for i := t.home(tag); ; i = (i + 1) & (len(t.slots) - 1) {
			e := t.slots[i].Load()
			if e == nil {
				break
			}
			if e.tag == tag {
				return e
			}
		}
	}
	return nil
}

// add makes an entry for a tag that has none and returns its zero value. init
// fills it before readers can see it. Writer only.
func (m *tagMap[V]) add(tag tags.Tag, init func(*V)) *V {
	e := &tagEntry[V]{tag: tag}
	init(&e.value)
	m.insert(e)
	return &e.value
}

// all calls f for every entry, in no order. Writer only.
func (m *tagMap[V]) all(f func(*tagEntry[V])) {
	for place, done := uint64(0), false; !done; {
		place, done = m.walk(place, math.MaxInt, f)
	}
}

// walk calls f for the next entries in an order of its own and stops after about
// budget slots. Entries that are added meanwhile may be left out; no other is, and
// none comes twice. f must not change the map. Writer only.
//
//   - place: what the last call has returned; first 0.
//   - Result: where to go on, unless done.
func (m *tagMap[V]) walk(place uint64, budget int, f func(*tagEntry[V])) (next uint64, done bool) {
	end := m.work + min(budget, math.MaxInt-m.work)
	if !m.move(budget) {
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
		case e != nil && t.hash(e.tag) >= place && t.home(e.tag) <= i:
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
		if t.home(e.tag) > i {
			f(e)
		}
	}
}

// sweep removes those of the next entries that f does not want. Otherwise it is
// walk. Writer only, and nobody reads.
func (m *tagMap[V]) sweep(place uint64, budget int, f func(*tagEntry[V]) bool) (next uint64, done bool) {
	var unwanted []tags.Tag
	next, done = m.walk(place, budget, func(e *tagEntry[V]) {
		if !f(e) {
			unwanted = append(unwanted, e.tag)
		}
	})
	for _, tag := range unwanted {
		m.remove(tag)
	}
	return next, done
}

// remove removes an entry that is there. Nothing is being moved, and nobody reads.
func (m *tagMap[V]) remove(tag tags.Tag) {
	t := m.slots.Load()
	mask := len(t.slots) - 1
	free := t.home(tag)
	for ; t.slots[free].Load().tag != tag; free = (free + 1) & mask {
		m.work++
	}
	// Those behind it move up, unless they would come before their home.
	for i := (free + 1) & mask; ; i = (i + 1) & mask {
		m.work++
		e := t.slots[i].Load()
		if e == nil {
			break
		}
		if (i-t.home(e.tag))&mask >= (i-free)&mask {
			t.slots[free].Store(e)
			free = i
		}
	}
	t.slots[free].Store(nil)
	m.count--
}

// shrink begins to move the entries to a smaller table if they would fill a small
// part of it. Writer only.
func (m *tagMap[V]) shrink() {
	t := m.slots.Load()
	if t == nil || t.old != nil || len(t.slots) <= minTagSlots || 16*m.count > len(t.slots) {
		return
	}
	n := minTagSlots
	for n < 4*m.count {
		n *= 2
	}
	m.resize(n)
}

// move moves entries to the new table, those of so many slots of the old one, and
// reports whether all are there. Writer only.
func (m *tagMap[V]) move(slots int) (done bool) {
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
	m.slots.Store(&tagSlots[V]{shift: t.shift, slots: t.slots})
	return true
}

// moving reports whether entries are being moved. Writer only.
func (m *tagMap[V]) moving() bool {
	t := m.slots.Load()
	return t != nil && t.old != nil
}

func (m *tagMap[V]) insert(e *tagEntry[V]) {
	t := m.slots.Load()
	switch {
	case t == nil:
		t = m.resize(minTagSlots)
	case 2*(m.count+1) > len(t.slots):
		m.move(math.MaxInt) // of a table that has shrunk; one that has grown is moved in time
		t = m.resize(2 * len(t.slots))
	}
	m.put(t, e)
	m.count++
	m.move(movedPerAdd)
}

// resize begins to move all entries to a table of n slots. Nothing is being moved.
func (m *tagMap[V]) resize(n int) *tagSlots[V] {
	t := &tagSlots[V]{
		shift: uint8(64 - bits.TrailingZeros(uint(n))),
		slots: make([]atomic.Pointer[tagEntry[V]], n),
		old:   m.slots.Load(),
	}
	m.slots.Store(t)
	m.moved = 0
	if t.old != nil && len(t.old.slots) <= movedAtOnce {
		m.move(movedAtOnce)
	}
	return t
}

// put puts an entry into the first free slot from its home.
func (m *tagMap[V]) put(t *tagSlots[V], e *tagEntry[V]) {
	i := t.home(e.tag)
	for m.work++; t.slots[i].Load() != nil; m.work++ {
		i = (i + 1) & (len(t.slots) - 1)
	}
	t.slots[i].Store(e)
}

// home spreads tags evenly. Detector tags differ in a few bits, often not the
// lowest, and one multiplication crowds such regular numbers: the e-links of
// 1,600 links took 7 probes on average. Two do as well as chance.
func (t *tagSlots[V]) home(tag tags.Tag) int { return int(t.hash(tag) >> t.shift) }

func (t *tagSlots[V]) hash(tag tags.Tag) uint64 {
	const odd = 0xd6e8feb86659fd93
	x := uint64(tag)
	x ^= x >> 32
	x *= odd
	x ^= x >> 32
	return x * odd
}
