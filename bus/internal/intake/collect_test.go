// SPDX-License-Identifier: Apache-2.0

package intake

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"testing"

	"tagbus/bus/internal/tagmap"
	"tagbus/tags"
)

// valued is what a test collects of a tag.
type valued struct {
	of   Part[string]
	tag  tags.Tag
	many uint64
}

// Values are collected in slices of one lane, and joined in the order of publishers, lanes and
// tags.
func TestCollect(t *testing.T) {
	const known = mostCollected + 10
	beds := map[string]*bed{"a": newBed(), "b": newBed(), "none": newBed()}
	var want []valued
	for _, name := range []string{"a", "b"} {
		for lane := range uint16(2) {
			for n := range tag(known) {
				beds[name].asked[n] = false
				if err := beds[name].in.Positions(lane, list(at(n, uint64(n)))); err != nil {
					t.Fatal(err)
				}
				if n%2 == 0 || lane == 1 {
					want = append(want, valued{Part[string]{name, int(lane)}, n, uint64(n)})
				}
			}
		}
	}
	collect := func(ctx context.Context) (parts [][]valued, told bool) {
		job := Collect(ctx, []string{"b", "none", "a"}, func(name string) *Intake[string, int] { return &beds[name].in },
			func(at Part[string], e *tagmap.Entry[Tag[string, int]]) (valued, bool) {
				return valued{at, e.Tag, e.Value.Tally.Position}, e.Tag%2 == 0 || at.Lane == 1
			}, func(all [][]valued) { parts, told = all, true })
		for done := false; !done; {
			_, done = job(50)
		}
		return parts, told
	}
	parts, told := collect(t.Context())
	if !told || len(parts) != 6 {
		t.Errorf("told %v, %d slices; want one of each lane, and another one of the full ones", told, len(parts))
	}
	for _, part := range parts {
		if len(part) > mostCollected || slices.ContainsFunc(part, func(v valued) bool { return v.of != part[0].of }) {
			t.Errorf("a slice has %d values, of lanes such as %v", len(part), part[0].of)
		}
	}
	got := Join(parts, func(a, b valued) int {
		return cmp.Or(strings.Compare(a.of.Of, b.of.Of), cmp.Compare(a.of.Lane, b.of.Lane))
	}, func(v valued) tags.Tag { return v.tag })
	if !slices.Equal(got, want) {
		t.Errorf("got %d values, want %d in order", len(got), len(want))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, told := collect(ctx); told {
		t.Error("told after the end of the context")
	}
}
