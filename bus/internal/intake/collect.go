// SPDX-License-Identifier: Apache-2.0

package intake

import (
	"cmp"
	"context"
	"slices"

	"tagbus/bus/internal/tagmap"
	"tagbus/bus/internal/workqueue"
	"tagbus/tags"
)

// mostCollected is the length of a slice that Collect tells at most: growing a large one takes
// long.
const mostCollected = 1024

// Collect returns the job that tells the values of the tags of some publishers, unless ctx
// ends. They come in slices, each of one lane of a publisher, in any order; Join joins them.
//
//   - in: returns what takes what arrives of a publisher.
//   - value: returns that of a tag; ok is false if it has none.
func Collect[P comparable, T, G, V any](ctx context.Context, all []P, in func(P) *Intake[T, G], value func(Part[P], *tagmap.Entry[Tag[T, G]]) (v V, ok bool), tell func([][]V)) workqueue.Job {
	var parts [][]V
	var of Part[P] // the last one of parts
	return Walk(ctx, all, in, func(at Part[P], e *tagmap.Entry[Tag[T, G]]) (steps int) {
		v, ok := value(at, e)
		if !ok {
			return 0
		}
		if n := len(parts); n == 0 || at != of || len(parts[n-1]) == mostCollected {
			of, parts = at, append(parts, nil)
		}
		last := &parts[len(parts)-1]
		*last = append(*last, v)
		return StepsPerTag
	}, func() { tell(parts) })
}

// Join joins what Collect has told.
//
//   - order: compares the publishers and lanes of two values. It decides first.
//   - tag: of a value. It decides between those of the same publisher and lane.
func Join[V any](parts [][]V, order func(a, b V) int, tag func(V) tags.Tag) (all []V) {
	slices.SortStableFunc(parts, func(a, b []V) int { return order(a[0], b[0]) })
	for begin := 0; len(parts) > 0; begin = len(all) {
		for first := parts[0][0]; len(parts) > 0 && order(first, parts[0][0]) == 0; parts = parts[1:] {
			all = append(all, parts[0]...)
		}
		slices.SortStableFunc(all[begin:], func(a, b V) int { return cmp.Compare(tag(a), tag(b)) })
	}
	return all
}
