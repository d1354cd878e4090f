// SPDX-License-Identifier: Apache-2.0

//go:build linux

package sealed

import (
	"math"
	"testing"
)

func TestLeft(t *testing.T) {
	for text, want := range map[string]int{
		"MemTotal: 100 kB\nMemAvailable:   30 kB\nSwapFree:  2 kB\n": 32 << 10,
		"MemAvailable: 0 kB\n":               0,
		"SwapFree: 2 kB\n":                   math.MaxInt,
		"":                                   math.MaxInt,
		"MemAvailable: 99999999999999999999": math.MaxInt,
	} {
		if got := left(text); got != want {
			t.Errorf("%q: got %d, want %d", text, got, want)
		}
	}
	if got := available(); got <= uncheckedBytes || int64(got) > 1<<50 {
		t.Errorf("memory that this system has left: got %d bytes", got)
	}
}
