// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"slices"
	"testing"

	"tagbus/test/faults/internal/bed"
	"tagbus/test/faults/internal/pki"
)

// TestSite_plan: each tag goes out with all policies, to one subscriber each, on both halves.
func TestSite_plan(t *testing.T) {
	s := &site{Bed: &bed.Bed{}, ca: &pki.Authority{}}
	s.plan()
	for p, pub := range s.publishers {
		for tag := first(p); tag < first(p+1); tag++ {
			var got []string
			for _, sub := range s.subscribers {
				if takes(sub, pub) {
					got = append(got, sub.policy(uint64(tag)))
				}
				if takes(sub, pub) && sub.tls != pub.tls {
					t.Fatalf("%s takes tags of %s, which is on the other bus", sub.name, pub.name)
				}
			}
			if slices.Sort(got); !slices.Equal(got, slices.Sorted(slices.Values(policies[:]))) {
				t.Fatalf("tag %#x of %s goes out with %v, want each policy once", tag, pub.name, got)
			}
		}
	}
	if n := first(publishers) - first(0); n < 5000 {
		t.Errorf("got %d tags, want 5,000", n)
	}
}

// TestSite_plan_keepsSome: of publishers and subscribers some stay, and others end.
func TestSite_plan_keepsSome(t *testing.T) {
	s := &site{Bed: &bed.Bed{}, ca: &pki.Authority{}}
	s.plan()
	for _, all := range [][]*station{s.publishers, s.subscribers} {
		stays := 0
		for _, st := range all {
			if st.stays {
				stays++
			}
		}
		if stays < len(all)/4 || stays > len(all)/2 {
			t.Errorf("%d of %d stay, want about a third", stays, len(all))
		}
	}
}
