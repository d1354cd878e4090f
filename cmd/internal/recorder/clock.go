// SPDX-License-Identifier: Apache-2.0

//go:build linux

package recorder

import "time"

// A difference between the clock of the host and the time that has passed is a step of the
// clock from leastStep on. Clocks that are disciplined go wrong by less than slew of a time.
const (
	leastStep = 100 * time.Millisecond
	slew      = 1000 // 1 ms in a second; Linux allows half of it
)

// clock notices that the clock of the host was set, for the times of a recording are its.
type clock struct {
	wall    time.Time     // at the last look; zero: there was none
	elapsed time.Duration // since the program began, then
}

// step returns how far the clock was set since the last look; 0: it was not.
//
//   - now: of the clock. elapsed: on one that is never set.
func (c *clock) step(now time.Time, elapsed time.Duration) time.Duration {
	now = now.Round(0) // without what time.Time knows of the time that has passed
	before := *c
	*c = clock{now, elapsed}
	if before.wall.IsZero() {
		return 0
	}
	passed := elapsed - before.elapsed
	step := now.Sub(before.wall) - passed
	if step.Abs() < leastStep+passed/slew {
		return 0
	}
	return step
}
