// SPDX-License-Identifier: Apache-2.0

// Package coarseclock tells the time to the second, for what happens millions of times in one:
// reading it costs a load. It is that of the steady clock (package steady).
//
// The first call in a second reads the clock of the system. At the end of the second an
// alarm on the loop makes the next call read it again. When there was no call in a whole
// second, the alarm rests until there is one. So an idle process is not woken.
package coarseclock

import (
	"sync/atomic"
	"time"

	"tagbus/bus/internal/steady"
	"tagbus/internal/alarm"
)

// Clock tells seconds since 1970. The zero value reads the clock of the system once; Start
// makes it go.
//
// Threads: any, after Start.
type Clock struct {
	now    atomic.Uint32 // 0: to be read
	awake  atomic.Bool   // the alarm is set, or is going to be
	post   func(func()) bool
	alarms *alarm.Clock
	alarm  alarm.Alarm // loop only
	arm    func()      // as a value made once
}

// Start makes the clock go.
//
//   - alarms: of a loop.
//   - post: runs a function on that loop, and returns false if the loop has ended.
//   - Threads: one, before all other use.
func (c *Clock) Start(alarms *alarm.Clock, post func(func()) bool) {
	c.alarms, c.post = alarms, post
	c.alarm.F = c.ring
	c.arm = func() { c.alarms.Set(&c.alarm, untilNext()) }
}

// Known returns the second if a call of Now in it has read it, or else 0.
func (c *Clock) Known() uint32 { return c.now.Load() }

// Now returns the second. It may be that of up to a second before if the loop is late. A
// nil Clock reads the clock of the system.
func (c *Clock) Now() uint32 {
	if c == nil {
		return Of(time.Now())
	}
	if now := c.now.Load(); now != 0 {
		return now
	}
	now := Of(time.Now())
	c.now.Store(now)
	if c.post != nil && !c.awake.Swap(true) && !c.post(c.arm) {
		c.awake.Store(false)
		c.now.Store(0) // the loop has ended: each call reads it
	}
	return now
}

// ring is called by the alarm. It says that it rests before it looks for calls, and Now
// does both in the other order, so that one of them sets the alarm again.
func (c *Clock) ring() {
	c.awake.Store(false)
	if c.now.Swap(0) != 0 && !c.awake.Swap(true) {
		c.arm()
	}
}

// untilNext returns the time until the next second begins.
func untilNext() time.Duration {
	now := steady.Time(time.Now())
	return now.Truncate(time.Second).Add(time.Second).Sub(now)
}

// Of returns the second of a time; 0 for the zero time.
func Of(at time.Time) uint32 {
	if at.IsZero() {
		return 0
	}
	return uint32(steady.Time(at).Unix())
}

// Time returns the time of a second; the zero time for 0.
func Time(at uint32) time.Time {
	if at == 0 {
		return time.Time{}
	}
	return time.Unix(int64(at), 0).UTC()
}
