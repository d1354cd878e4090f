// SPDX-License-Identifier: Apache-2.0

// Package topk keeps the first few of many elements by an order, without sorting the others.
package topk

import "slices"

// Heap has the first of the elements that were added. An element costs a comparison if it is
// none of them.
type Heap[T any] struct {
	most     int
	before   func(a, b T) int // negative if a comes first
	elements []T              // no element comes after its parent: the last one is on top
}

// New returns an empty one.
//
//   - most: elements that are kept.
//   - before: negative if a comes first.
func New[T any](most int, before func(a, b T) int) Heap[T] {
	return Heap[T]{most: most, before: before}
}

// Add adds an element.
func (h *Heap[T]) Add(x T) {
	switch {
	case len(h.elements) < h.most:
		h.elements = append(h.elements, x)
		h.up(len(h.elements) - 1)
	case h.most > 0 && h.before(x, h.elements[0]) < 0:
		h.elements[0] = x
		h.down()
	}
}

// Sorted returns the elements in their order, and forgets them.
func (h *Heap[T]) Sorted() []T {
	all := h.elements
	h.elements = nil
	slices.SortFunc(all, h.before)
	return all
}

func (h *Heap[T]) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if h.before(h.elements[i], h.elements[parent]) <= 0 {
			return
		}
		h.elements[i], h.elements[parent] = h.elements[parent], h.elements[i]
		i = parent
	}
}

func (h *Heap[T]) down() {
	for i := 0; ; {
		last := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(h.elements); child++ {
			if h.before(h.elements[child], h.elements[last]) > 0 {
				last = child
			}
		}
		if last == i {
			return
		}
		h.elements[i], h.elements[last] = h.elements[last], h.elements[i]
		i = last
	}
}
