// SPDX-License-Identifier: Apache-2.0

package topk_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"tagbus/bus/internal/topk"
)

// The first of many are those that a sort would find, whatever their order.
func TestTheFirstAreThoseOfASort(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for most := range 20 {
		first := topk.New(most, cmp.Compare[int])
		var all []int
		for range random.IntN(100) {
			x := random.IntN(50)
			all = append(all, x)
			first.Add(x)
		}
		slices.Sort(all)
		if got, want := first.Sorted(), all[:min(most, len(all))]; !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
}
