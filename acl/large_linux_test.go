// SPDX-License-Identifier: Apache-2.0

package acl_test

import (
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tagbus/acl"
	"tagbus/internal/testkit"
)

// TestPolicy_thatIsLargeDecidesAtOnce makes the decision of BenchmarkSubscription, which takes under
// 5 ms. It measures the processor time of its thread, so that other work on the host does
// not count, and its limit has room for processors that are shared.
func TestPolicy_thatIsLargeDecidesAtOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: an emulated processor is too slow")
	}
	if testkit.Race {
		t.Skip("the race detector takes most of the time")
	}
	text, all := large(t)
	const limit = 100 * time.Millisecond
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var best time.Duration
	for range 5 {
		p := parse(t, string(text))
		begin := spent(t)
		may, _ := p.Split(who(t, "cn:all"), acl.Subscribe, all)
		if took := spent(t) - begin; best == 0 || took < best {
			best = took
		}
		if !may.Equal(all) {
			t.Fatalf("got %d parts, want all %d", may.Parts(), all.Parts())
		}
	}
	if best > limit {
		t.Errorf("the first decision took %v of a processor at best, want at most %v", best, limit)
	}
}

// spent returns the processor time of the thread so far.
func spent(t *testing.T) time.Duration {
	t.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
