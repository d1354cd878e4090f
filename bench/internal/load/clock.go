// SPDX-License-Identifier: Apache-2.0

package load

import (
	"time"

	"golang.org/x/sys/unix"
)

// start is a moment on both clocks: that of the process, which is read without
// a system call, and CLOCK_MONOTONIC, which all processes share.
var start, startNS = synchronise()

// synchronise reads both clocks one after the other, several times, and keeps
// the reading with the shortest time between.
func synchronise() (time.Time, int64) {
	var at time.Time
	var ns int64
	best := time.Duration(1<<63 - 1)
	for range 16 {
		before := time.Now()
		var ts unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
			Fail(err)
		}
		if took := time.Since(before); took < best {
			at, ns, best = before.Add(took/2), ts.Nano(), took
		}
	}
	return at, ns
}

// Now returns nanoseconds of CLOCK_MONOTONIC, the same in all processes.
func Now() int64 { return startNS + int64(time.Since(start)) }
