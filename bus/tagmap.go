package bus

import (
	"math/bits"
	"sync/atomic"

	"tagbus/tags"
)

// tagMap is a hash table from tags to values that is read without a lock while
// one writer adds to it. Entries are never removed but by keep. A Go map costs
// twice as much per lookup and would need a lock here.
type tagMap[V any] struct {
	slots atomic.Pointer[tagSlots[V]]
	count int // writer only
}

type tagSlots[V any] struct {
	shift uint8
	slots []atomic.Pointer[tagEntry[V]] // power of two, at most half full
}

type tagEntry[V any] struct {
	tag   tags.Tag
	value V
}

const minTagSlots = 64

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
	t := m.slots.Load()
	if t == nil {
		return nil
	}
	for i := t.home(tag); ; i = (i + 1) & (len(t.slots) - 1) {
		e := t.slots[i].Load()
		if e == nil {
			return nil
		}
		if e.tag == tag {
			return e
		}
	}
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
	t := m.slots.Load()
	if t == nil {
		return
	}
	for i := range t.slots {
		if e := t.slots[i].Load(); e != nil {
			f(e)
		}
	}
}

// keep removes the entries that f does not want. Writer only, and nobody reads.
func (m *tagMap[V]) keep(f func(*tagEntry[V]) bool) {
	var kept []*tagEntry[V]
	m.all(func(e *tagEntry[V]) {
		if f(e) {
			kept = append(kept, e)
		}
	})
	m.slots.Store(nil)
	m.count = 0
	for _, e := range kept {
		m.insert(e)
	}
}

func (m *tagMap[V]) insert(e *tagEntry[V]) {
	t := m.slots.Load()
	if t == nil || 2*(m.count+1) > len(t.slots) {
		t = m.grow(t)
	}
	t.put(e)
	m.count++
}

func (m *tagMap[V]) grow(old *tagSlots[V]) *tagSlots[V] {
	n := minTagSlots
	if old != nil {
		n = 2 * len(old.slots)
	}
	t := &tagSlots[V]{
		shift: uint8(64 - bits.TrailingZeros(uint(n))),
		slots: make([]atomic.Pointer[tagEntry[V]], n),
	}
	if old != nil {
		for i := range old.slots {
			if e := old.slots[i].Load(); e != nil {
				t.put(e)
			}
		}
	}
	m.slots.Store(t)
	return t
}

func (t *tagSlots[V]) put(e *tagEntry[V]) {
	i := t.home(e.tag)
	for t.slots[i].Load() != nil {
		i = (i + 1) & (len(t.slots) - 1)
	}
	t.slots[i].Store(e)
}

// home spreads tags evenly. Detector tags differ in a few bits, often not the
// lowest, and one multiplication crowds such regular numbers: the e-links of
// 1,600 links took 7 probes on average. Two do as well as chance.
func (t *tagSlots[V]) home(tag tags.Tag) int {
	const odd = 0xd6e8feb86659fd93
	x := uint64(tag)
	x ^= x >> 32
	x *= odd
	x ^= x >> 32
	return int(x * odd >> t.shift)
}
