// SPDX-License-Identifier: Apache-2.0

package group_test

import (
	"fmt"
	"slices"
	"testing"

	"tagbus/bus/internal/group"
	"tagbus/subscription"
	"tagbus/tags"
)

func TestPartsFitControlMessages(t *testing.T) {
	for _, n := range []int{0, 1, 1000, 40_000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			set := single(n)
			m := subscription.Subscribe{
				ID: 1<<64 - 1, Lane: 1<<16 - 1, Policy: "sample:1000000000", Replay: 1<<64 - 1, BacklogBytes: 1<<64 - 1, Resume: true, WithNext: true,
			}
			parts, err := group.Parts(m, set)
			if err != nil {
				t.Fatal(err)
			}
			var all []byte
			for i, part := range parts {
				last := i == len(parts)-1
				if part.ID != m.ID || part.Lane != m.Lane || part.Policy != m.Policy || part.More == last || part.WithNext != last {
					t.Errorf("part %d of %d: got %+v", i, len(parts), part)
				}
				if b, err := subscription.Append(nil, part); err != nil || len(b) > subscription.MaxControlBytes {
					t.Errorf("part %d: got %d bytes, %v", i, len(b), err)
				}
				all = append(all, part.Set...)
			}
			if !slices.Equal(all, binary(t, set)) {
				t.Error("the parts do not make the set")
			}
		})
	}
}

func TestDenied(t *testing.T) {
	for _, n := range []int{1, subscription.MaxDenied, subscription.MaxDenied + 1, 5 * subscription.MaxDenied} {
		m, err := group.DeniedOf(single(n))
		if err != nil {
			t.Fatal(err)
		}
		if b, err := subscription.Append(nil, m); err != nil || len(b) > subscription.MaxControlBytes {
			t.Errorf("%d ranges: got %d bytes, %v", n, len(b), err)
		}
		if got, err := group.Denied(m); err != nil || !got.Equal(single(min(n, subscription.MaxDenied))) {
			t.Errorf("%d ranges: got %d, %v, want the first ones", n, got.Parts(), err)
		}
	}
	if _, err := group.Denied(&subscription.Denied{Set: binary(t, single(subscription.MaxDenied+1))}); err == nil {
		t.Error("got a set with too many ranges")
	}
}

// Of rights that are too large for the protocol a subscriber is told those that are served, or all.
func TestRightsParts_ofALargeSet(t *testing.T) {
	large := single(subscription.MaxParts + 1)
	var first tags.Tag
	for first = range large.All() {
		break
	}
	for _, test := range []struct {
		name              string
		set, served, want tags.Set
	}{
		{"a small one", tags.Of(1, 9), tags.Of(1), tags.Of(1, 9)},
		{"served in part", large, tags.Of(first, 1<<50), tags.Of(first)},
		{"served as a whole", large, tags.Everything(), tags.Everything()},
	} {
		parts, err := group.RightsParts(test.set, test.served)
		if err != nil {
			t.Fatal(err)
		}
		var rights group.Rights
		for i, m := range parts {
			got, complete, err := rights.Add(m)
			if err != nil || complete != (i == len(parts)-1) || complete && !got.Equal(test.want) {
				t.Errorf("%s: got %d parts, %v, want %v", test.name, got.Parts(), err, test.want)
			}
		}
	}
}
