// SPDX-License-Identifier: Apache-2.0

package intake

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"tagbus/bus/internal/tagmap"
)

// TestWalk visits each tag of each lane of all publishers once, a few in a slice.
func TestWalk(t *testing.T) {
	beds := map[string]*bed{"a": newBed(), "b": newBed(), "none": newBed()}
	var want []string
	for name, lanes := range map[string]uint16{"a": 1, "b": 2} {
		for lane := range lanes {
			for n := range tag(100) {
				beds[name].asked[n] = false
				if err := beds[name].in.Positions(lane, list(at(n, 1))); err != nil {
					t.Fatal(err)
				}
				want = append(want, fmt.Sprint(name, lane, n))
			}
		}
	}
	walk := func(ctx context.Context) (got []string, slices int, ended bool) {
		job := Walk(ctx, []string{"a", "none", "b"}, func(name string) *Intake[string, int] { return &beds[name].in },
			func(at Part[string], e *tagmap.Entry[Tag[string, int]]) (steps int) {
				got = append(got, fmt.Sprint(at.Of, at.Lane, e.Tag))
				return StepsPerTag
			}, func() { ended = true })
		for done := false; !done; slices++ {
			_, done = job(50)
		}
		return got, slices, ended
	}
	got, n, ended := walk(t.Context())
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) || n < 10 || !ended {
		t.Errorf("visited %d tags in %d slices, ended %v; want each of %d once, in some", len(got), n, ended, len(want))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, _, ended = walk(ctx); len(got) > 0 || ended {
		t.Errorf("given up: visited %d tags, ended %v", len(got), ended)
	}
}
