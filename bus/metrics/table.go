// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"cmp"
	"slices"
)

// table keeps sums by labels: those that are in use, and as many others as most says.
// The zero value needs most.
//
// Threads: one at a time.
type table[K comparable, V any] struct {
	most int // rows that may be out of use
	rows map[K]*row[V]
	look uint64 // that is being made
}

type row[V any] struct {
	value V
	used  uint64 // look at which it was in use last
}

// begin begins a new look: no row is in use.
func (t *table[K, V]) begin() {
	if t.rows == nil {
		t.rows = make(map[K]*row[V])
	}
	t.look++
}

// row returns a row, and makes it if it does not exist.
func (t *table[K, V]) row(k K) *row[V] {
	r := t.rows[k]
	if r == nil {
		r = &row[V]{used: t.look - 1}
		t.rows[k] = r
	}
	return r
}

// use notes that a row is in use, and reports whether that is new in this look.
func (t *table[K, V]) use(r *row[V]) (first bool) {
	first = r.used != t.look
	r.used = t.look
	return first
}

// inUse reports whether a row is in use.
func (t *table[K, V]) inUse(r *row[V]) bool { return r.used == t.look }

// trim drops the rows beyond most that have been out of use for the longest time.
func (t *table[K, V]) trim() {
	var idle []K
	for k, r := range t.rows {
		if !t.inUse(r) {
			idle = append(idle, k)
		}
	}
	if len(idle) <= t.most {
		return
	}
	slices.SortFunc(idle, func(a, b K) int { return cmp.Compare(t.rows[a].used, t.rows[b].used) })
	for _, k := range idle[:len(idle)-t.most] {
		delete(t.rows, k)
	}
}
