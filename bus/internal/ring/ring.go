// SPDX-License-Identifier: Apache-2.0

// Package ring is a queue that grows as needed and allocates nothing after that.
package ring

// Ring is a queue that grows as needed and then stays: pushing and popping
// allocate nothing in the long run. The zero value is empty.
type Ring[T any] struct {
	items []T // power of two
	head  int
	n     int
}

const minItems = 4

// Len returns how many items the ring has.
func (r *Ring[T]) Len() int { return r.n }

// Room returns how many items the ring holds without growing.
func (r *Ring[T]) Room() int { return len(r.items) }

// Push adds an item behind the newest.
func (r *Ring[T]) Push(v T) {
	if r.n == len(r.items) {
		r.grow()
	}
	r.items[(r.head+r.n)&(len(r.items)-1)] = v
	r.n++
}

// Front returns the oldest item; the ring must not be empty. The pointer is
// valid until the next push or pop.
func (r *Ring[T]) Front() *T { return &r.items[r.head] }

// Back returns the newest item; the ring must not be empty. The pointer is valid
// until the next push or pop.
func (r *Ring[T]) Back() *T { return r.At(r.n - 1) }

// At returns item i, from 0 for the oldest. The pointer is valid until the next
// push or pop.
func (r *Ring[T]) At(i int) *T { return &r.items[(r.head+i)&(len(r.items)-1)] }

// PushFront adds an item before the oldest.
func (r *Ring[T]) PushFront(v T) {
	if r.n == len(r.items) {
		r.grow()
	}
	r.head = (r.head - 1) & (len(r.items) - 1)
	r.items[r.head] = v
	r.n++
}

// Remove takes item i out. It costs a move of each older one, or of each newer one if
// these are fewer.
func (r *Ring[T]) Remove(i int) {
	if i < r.n/2 {
		for ; i > 0; i-- {
			*r.At(i) = *r.At(i - 1)
		}
		r.Pop()
		return
	}
	for ; i < r.n-1; i++ {
		*r.At(i) = *r.At(i + 1)
	}
	var zero T
	*r.Back() = zero
	r.n--
}

// Pop removes and returns the oldest item; the ring must not be empty.
func (r *Ring[T]) Pop() T {
	var zero T
	v := r.items[r.head]
	r.items[r.head] = zero
	r.head = (r.head + 1) & (len(r.items) - 1)
	r.n--
	return v
}

func (r *Ring[T]) grow() {
	items := make([]T, max(minItems, 2*len(r.items)))
	for i := range r.n {
		items[i] = r.items[(r.head+i)&(len(r.items)-1)]
	}
	r.items, r.head = items, 0
}
