// SPDX-License-Identifier: Apache-2.0

package follow_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"tagbus/bridge/durable"
	"tagbus/bridge/internal/follow"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestChains_bounds of what a log makes its reader keep.
func TestChains_bounds(t *testing.T) {
	long := strings.Repeat("x", follow.MaxNameBytes/2)
	all := follow.Chains[int]{Log: "the log", Max: 3}
	of := func(key durable.Key, want string) {
		t.Helper()
		c, err := all.Of(key)
		var many *follow.TooManyError
		switch {
		case want == "" && (err != nil || c.Key != key):
			t.Errorf("got %v, %v, want the chain", c, err)
		case want != "" && (!errors.As(err, &many) || !strings.Contains(err.Error(), want) || len(err.Error()) > 500):
			t.Errorf("got %.1000v, want a *TooManyError with %q", err, want)
		}
	}
	of(durable.Key{Tag: 1, Instance: long}, "")
	of(durable.Key{Tag: 2, Instance: long}, "") // the name is kept once
	of(durable.Key{Tag: 1, Instance: long + "y"}, "the log: more than 67108864 bytes of the names of publishers")
	of(durable.Key{Tag: 1, Instance: "a"}, "")
	of(durable.Key{Tag: 1, Instance: "a"}, "")
	of(durable.Key{Tag: 1, Instance: long + "y"}, "the log: more than 3 publishers and tags")
	if n := all.Len(); n != 3 {
		t.Errorf("got %d chains, want 3", n)
	}
	if got := follow.Sum(math.MaxUint64, 1); got != math.MaxUint64 || follow.Sum(1, 2) != 3 {
		t.Errorf("got the sum %d, want the largest number", got)
	}
}
