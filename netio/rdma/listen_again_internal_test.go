// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package rdma

import (
	"fmt"
	"testing"
	"time"
)

// TestThePausesOfADeviceThatIsAway grow up to a minute, also where it is back in between, and no longer when it has
// stayed.
func TestThePausesOfADeviceThatIsAway(t *testing.T) {
	now, a, got := time.Now(), &absence{}, []time.Duration(nil)
	a.begin(now)
	for range 9 {
		got = append(got, a.next())
	}
	if want := "[1ms 1s 2s 4s 8s 16s 32s 1m0s 1m0s]"; fmt.Sprint(got) != want {
		t.Errorf("pauses: got %v, want %s", got, want)
	}
	a = &absence{}
	got = nil
	for range 4 { // it is back at the first try, and gone at once
		a.begin(now)
		got = append(got, a.next())
		a.end(now)
	}
	if want := "[1ms 1s 2s 4s]"; fmt.Sprint(got) != want {
		t.Errorf("pauses of one that comes and goes: got %v, want %s", got, want)
	}
	a.begin(now.Add(lastRenewalPause + 1))
	if got := a.next(); got != time.Millisecond {
		t.Errorf("pause after a minute without trouble: got %v, want 1ms", got)
	}
}
