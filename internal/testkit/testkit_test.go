// SPDX-License-Identifier: Apache-2.0

package testkit_test

import (
	"testing"

	"tagbus/internal/testkit"
)

func TestAll(t *testing.T) {
	for value, want := range map[string]bool{"": false, "all": true} {
		t.Setenv("TAGBUS_TESTS", value)
		if got := testkit.All(); got != want {
			t.Errorf("All with TAGBUS_TESTS=%s: got %t, want %t", value, got, want)
		}
	}
}

func TestAnExtentThatDoesNotExistPanics(t *testing.T) {
	t.Setenv("TAGBUS_TESTS", "yes")
	defer func() {
		if recover() == nil {
			t.Errorf("All with TAGBUS_TESTS=yes: got no panic, want one")
		}
	}()
	testkit.All()
}

func TestSaid(t *testing.T) {
	out := "one\ntime=now level=WARN msg=\"event loop is blocked\" stack=\"goroutine 1\"\ntwo"
	if got := testkit.Said([]byte(out)); got != "one\ntwo" {
		t.Errorf("got %q, want what is not of the watchdog", got)
	}
}

func TestFewer(t *testing.T) {
	want := 400
	if testkit.Race {
		want = 100
	}
	if got := testkit.Fewer(400); got != want {
		t.Errorf("Fewer(400): got %d, want %d", got, want)
	}
}
