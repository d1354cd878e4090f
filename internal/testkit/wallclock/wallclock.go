// SPDX-License-Identifier: Apache-2.0

// Package wallclock makes times as programs read them when the clock of their host is set, for tests.
package wallclock

import (
	"fmt"
	"time"
	"unsafe"
)

// parts are those of a time.Time with a monotonic reading: a bit that says so, 33 bits of seconds
// since 1885, and 30 bits of nanoseconds, and then the reading.
type parts struct {
	wall uint64
	ext  int64
	loc  *time.Location
}

const (
	monotonic  = 1 << 63
	nanosBits  = 30
	nanosInSec = int64(time.Second)
)

// Set returns a time that was read at the same moment from a clock that was set by d before.
//
//   - t: as time.Now returns it.
func Set(t time.Time, d time.Duration) time.Time {
	was := t
	p := (*parts)(unsafe.Pointer(&t))
	if p.wall&monotonic == 0 {
		panic("wallclock: a time without a monotonic reading")
	}
	nanos := int64(p.wall&^monotonic>>nanosBits)*nanosInSec + int64(p.wall&(1<<nanosBits-1)) + int64(d)
	p.wall = monotonic | uint64(nanos/nanosInSec)<<nanosBits | uint64(nanos%nanosInSec)
	if moved := t.Round(0).Sub(was.Round(0)); moved != d || t.Sub(was) != 0 {
		panic(fmt.Sprintf("wallclock: package time has another form of times: %v was moved by %v, want %v", was, moved, d))
	}
	return t
}
