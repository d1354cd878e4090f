// SPDX-License-Identifier: Apache-2.0

package workqueue

import (
	"cmp"
	"slices"
)

// List has values in the ascending order of their ids. A job can walk it in slices, even
// if it changes between two of them. The zero value is empty.
type List[V any] struct {
	order []listed[V]
	gone  int // of those
}

type listed[V any] struct {
	id    uint64
	value V
	gone  bool // value is zero
}

// minListed is the length below which a list keeps the places of values that are gone.
const minListed = 64

// Has reports whether the list has a value with an id.
func (l *List[V]) Has(id uint64) bool {
	i := l.find(id)
	return i < len(l.order) && l.order[i].id == id && !l.order[i].gone
}

// Add adds a value, whose id the list has never had. It costs little if the id is above
// nearly all others.
func (l *List[V]) Add(id uint64, v V) {
	i := len(l.order)
	for i > 0 && l.order[i-1].id > id {
		i--
	}
	l.order = slices.Insert(l.order, i, listed[V]{id: id, value: v})
}

// Remove removes a value, if the list has it.
func (l *List[V]) Remove(id uint64) {
	if !l.Has(id) {
		return
	}
	l.order[l.find(id)] = listed[V]{id: id, gone: true}
	if l.gone++; 2*l.gone > len(l.order)+minListed {
		l.order, l.gone = slices.DeleteFunc(l.order, func(x listed[V]) bool { return x.gone }), 0
	}
}

// find returns the place of the first value whose id is not below id.
func (l *List[V]) find(id uint64) int {
	i, _ := slices.BinarySearchFunc(l.order, id, func(x listed[V], id uint64) int { return cmp.Compare(x.id, id) })
	return i
}

// All yields every value, at once. The list must not change meanwhile.
func (l *List[V]) All(yield func(V) bool) {
	for _, x := range l.order {
		if !x.gone && !yield(x.value) {
			return
		}
	}
}

// Each returns a job that calls f for every value, except those with ids above all that
// are there now. f returns the steps that it has taken. It may change the list.
func (l *List[V]) Each(f func(V) (steps int)) Job {
	next, end := uint64(0), uint64(0)
	if n := len(l.order); n > 0 {
		end = l.order[n-1].id + 1
	}
	return func(budget int) (steps int, done bool) {
		for i := l.find(next); i < len(l.order) && next < end; i++ {
			x := l.order[i]
			if x.id >= end {
				break
			}
			if steps >= budget {
				return steps, false
			}
			steps++
			if next = x.id + 1; !x.gone {
				steps += f(x.value)
				if i >= len(l.order) || l.order[i].id != x.id { // f has removed some
					i = l.find(next) - 1
				}
			}
		}
		return steps, true
	}
}
