// SPDX-License-Identifier: Apache-2.0

package offers_test

import (
	"context"
	"fmt"
	"testing"

	"tagbus/bus/internal/offers"
	"tagbus/tags"
)

// TestSearch finds those that serve a wanted tag, and otherwise the nearest, the first of those
// that are equally near.
func TestSearch(t *testing.T) {
	for name, test := range map[string]struct {
		peers  []tags.Set
		wanted tags.Set
		steps  int
		want   string
	}{
		"none":                    {nil, tags.Of(1), 1000, "0 serving, 0 unseen, near"},
		"two of three":            {[]tags.Set{tags.Of(1), tags.Of(5), tags.Of(1, 9)}, tags.Of(1), 1000, "2 serving, 0 unseen, near 1"},
		"none of five":            {[]tags.Set{tags.Of(90), tags.Of(13), tags.Of(50), tags.Of(7), tags.Of(11)}, tags.Of(10), 1000, "0 serving, 0 unseen, near 4 1 3"},
		"one without tags":        {[]tags.Set{{}, tags.Of(50)}, tags.Of(10), 1000, "0 serving, 0 unseen, near 1 0"},
		"more than the steps are": {[]tags.Set{tags.Of(1), tags.Of(1), tags.Of(1)}, tags.Of(1), 0, "1 serving, 2 unseen, near"},
	} {
		t.Run(name, func(t *testing.T) {
			search := offers.Search[int]{Wanted: test.wanted, Tags: func(i int) tags.Set { return test.peers[i] }, MaxSteps: test.steps}
			for i := range test.peers {
				search.Peers = append(search.Peers, i)
			}
			got := ""
			job := search.Job(t.Context(), func(f offers.Found[int]) {
				got = fmt.Sprintf("%d serving, %d unseen, near", f.Serving, f.Unseen)
				for _, near := range f.Nearest {
					got += fmt.Sprint(" ", near.Peer)
				}
			})
			slices := 0
			for done := false; !done; slices++ {
				_, done = job(1)
			}
			if got != test.want || slices < min(len(test.peers), 2) {
				t.Errorf("got %q in %d slices, want %q", got, slices, test.want)
			}
		})
	}
}

// TestSearch_thatIsGivenUp tells nothing.
func TestSearch_thatIsGivenUp(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	search := offers.Search[int]{Peers: []int{0}, Tags: func(int) tags.Set { t.Error("it looks on"); return tags.Set{} }}
	if _, done := search.Job(ctx, func(offers.Found[int]) { t.Error("it tells") })(1); !done {
		t.Error("the job goes on")
	}
}
