// SPDX-License-Identifier: Apache-2.0

package portrait

import "slices"

// First keeps the first of many elements by an order, without sorting the others. An
// element costs a comparison if it is none of them.
type First[T any] struct {
	most   int
	before func(a, b T) int // negative if a comes first
	heap   []T              // no element comes after its parent: the last one is on top
}

// NewFirst returns an empty one.
//
//   - most: elements that are kept.
//   - before: negative if a comes first.
func NewFirst[T any](most int, before func(a, b T) int) First[T] {
	return First[T]{most: most, before: before}
}

// Add adds an element.
func (f *First[T]) Add(x T) {
	switch {
	case len(f.heap) < f.most:
		f.heap = append(f.heap, x)
		f.up(len(f.heap) - 1)
	case f.most > 0 && f.before(x, f.heap[0]) < 0:
		f.heap[0] = x
		f.down()
	}
}

// Sorted returns the elements in their order, and forgets them.
func (f *First[T]) Sorted() []T {
	all := f.heap
	f.heap = nil
	slices.SortFunc(all, f.before)
	return all
}

func (f *First[T]) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if f.before(f.heap[i], f.heap[parent]) <= 0 {
			return
		}
		f.heap[i], f.heap[parent] = f.heap[parent], f.heap[i]
		i = parent
	}
}

func (f *First[T]) down() {
	for i := 0; ; {
		last := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(f.heap); child++ {
			if f.before(f.heap[child], f.heap[last]) > 0 {
				last = child
			}
		}
		if last == i {
			return
		}
		f.heap[i], f.heap[last] = f.heap[last], f.heap[i]
		i = last
	}
}
