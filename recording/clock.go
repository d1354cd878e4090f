// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"fmt"
	"math"
	"time"
)

// leastStep is how far times may go back by themselves: those of several goroutines, or of
// recordings that were merged.
const leastStep = time.Second

// Step returns how far the clock was set in a Stepped: forward, or back if it is negative.
func (e *Event) Step() time.Duration { return time.Duration(int64(e.Count)) }

// SteppedBy returns the event that says that the clock of the recorder was set.
//
//   - at: behind the step.
//   - step: forward, or back if it is negative.
func SteppedBy(at time.Time, step time.Duration) Event {
	return Event{Kind: Stepped, Time: at, Count: uint64(step), Text: "the clock of the recorder was set " + stepText(step)}
}

// stepText returns a step for people.
func stepText(d time.Duration) string {
	if d < 0 {
		return fmt.Sprintf("back by %v", (-max(d, -math.MaxInt64)).Round(time.Millisecond))
	}
	return fmt.Sprintf("forward by %v", d.Round(time.Millisecond))
}

// ClockSteps says how often the clock of a recorder was set while it recorded, as Stepped
// events tell it. A clock that was set back without one shows by the times, if it was by more
// than a second.
type ClockSteps struct {
	Count   uint64
	Largest time.Duration // forward, or back if it is negative
	At      time.Time     // of the largest, by the clock behind it

	latest int64 // time of a record so far, in ns
	begun  bool
}

// String returns a line for people.
func (c ClockSteps) String() string {
	at := c.At.UTC().Format("2006-01-02T15:04:05.000Z07:00")
	if c.Count == 1 {
		return fmt.Sprintf("the clock of the recorder was set %s at %s", stepText(c.Largest), at)
	}
	return fmt.Sprintf("the clock of the recorder was set %d times, the most %s at %s", c.Count, stepText(c.Largest), at)
}

// record follows the time of a record.
func (c *ClockSteps) record(ns int64) {
	if c.begun && ns < c.latest && uint64(c.latest)-uint64(ns) > uint64(leastStep) {
		c.add(ns, -time.Duration(min(uint64(c.latest)-uint64(ns), math.MaxInt64)))
		return
	}
	if !c.begun || ns > c.latest {
		c.begun, c.latest = true, ns
	}
}

// add counts a step.
func (c *ClockSteps) add(ns int64, step time.Duration) {
	c.begun, c.latest = true, ns
	if c.Count++; c.Count == 1 || magnitude(step) > magnitude(c.Largest) {
		c.Largest, c.At = step, timeOf(ns)
	}
}

func magnitude(d time.Duration) uint64 {
	if d < 0 {
		return -uint64(d)
	}
	return uint64(d)
}
