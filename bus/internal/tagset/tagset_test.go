// SPDX-License-Identifier: Apache-2.0

package tagset_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"tagbus/bus/internal/tagset"
	"tagbus/subscription"
	"tagbus/tags"
)

// every returns the set of the first n tags whose number is a multiple of step.
func every(step, n int) tags.Set {
	list := make([]tags.Tag, n)
	for i := range list {
		list[i] = tags.Tag(i * step)
	}
	return tags.Of(list...)
}

// masked returns a set of n masks, and of ranges.
func masked(n, ranges int) tags.Set {
	all := []tags.Set{every(2, ranges)}
	for i := range n {
		all = append(all, tags.Match(1<<40+tags.Tag(i)<<8, tags.MaxTag&^0x81)) // open: a bit in the middle too
	}
	return tags.Union(all...)
}

func TestFew(t *testing.T) {
	for _, test := range []struct {
		name string
		set  tags.Set
		want bool
	}{
		{"none", tags.Set{}, true},
		{"as many as may be, one by one", every(2, tagset.FewTags), true},
		{"as many as may be, in a range", every(1, tagset.FewTags), true},
		{"one more, one by one", every(2, tagset.FewTags+1), false},
		{"one more, in a range", every(1, tagset.FewTags+1), false},
		{"a mask of four tags", masked(1, 0), true},
		{"masks of twenty tags", masked(5, 0), false},
		{"everything", tags.Everything(), false},
	} {
		if got := tagset.Few(test.set); got != test.want {
			t.Errorf("%s: got %v, want %v", test.name, got, test.want)
		}
	}
}

func TestMasks(t *testing.T) {
	for _, n := range []int{0, 1, 5} {
		set := masked(n, 3)
		if got, has := tagset.Masks(set), tagset.HasMasks(set); got != n || has != (n > 0) {
			t.Errorf("got %d masks, %v, want %d, %v", got, has, n, n > 0)
		}
	}
}

func TestFits(t *testing.T) {
	for _, test := range []struct {
		name          string
		masks, ranges int
		want          bool
	}{
		{"nothing", 0, 0, true},
		{"as many ranges as may be", 0, subscription.MaxParts, true},
		{"a range more", 0, subscription.MaxParts + 1, false},
		{"as many masks as may be", subscription.MaxMasks, 1, true},
		{"a mask more", subscription.MaxMasks + 1, 1, false},
		{"a mask among as many ranges as may be", 1, subscription.MaxParts, false},
	} {
		if got := tagset.Fits(masked(test.masks, test.ranges)); got != test.want {
			t.Errorf("%s: got %v, want %v", test.name, got, test.want)
		}
	}
}

func TestTooMany(t *testing.T) {
	for _, err := range []error{tagset.TooMany(131073), tagset.TooMany(uint64(131073))} {
		if !errors.Is(err, subscription.ErrTooManyTags) || !strings.Contains(err.Error(), "131073 ranges and masks, limit 131072") {
			t.Errorf("got %v, want ErrTooManyTags with both numbers", err)
		}
	}
}

func TestMissing(t *testing.T) {
	tests := []struct {
		name     string
		all, set tags.Set
		want     []tags.Tag // one of them; empty: none
	}{
		{"nothing is asked for", tags.Of(1), tags.Set{}, nil},
		{"all are there", tags.Of(1, 2, 3), tags.Of(1, 3), nil},
		{"one is not there", tags.Of(1, 3), tags.Of(1, 2, 3), []tags.Tag{2}},
		{"none is there", tags.Set{}, tags.Of(1, 3, 5), []tags.Tag{3}},
		{"a mask is not there", tags.Of(1), tags.Everything(), []tags.Tag{0, 2}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := tagset.Missing(test.all, test.set)
			if err != nil {
				t.Fatal(err)
			}
			if got == nil && len(test.want) == 0 {
				return
			}
			if got == nil || !slices.Contains(test.want, *got) {
				t.Errorf("got %v, want one of %v", got, test.want)
			}
		})
	}
}
