// SPDX-License-Identifier: Apache-2.0

// Package stall finds out that a subscriber takes nothing of the messages that wait for it: whether
// its connection has to end for that, and whether its publisher is held up meanwhile.
//
// It looks once per tick, and counts in ticks as package heartbeat does. Everything here runs
// on the loop, except Since.
package stall

import (
	"sync/atomic"
	"time"

	"tagbus/bus/internal/heartbeat"
	"tagbus/bus/internal/steady"
	"tagbus/subscription"
)

// Limits say how long subscribers may take nothing.
type Limits struct {
	MaxStall time.Duration // of a lane that loses no messages; 0: for ever
	Patience time.Duration // until a publisher that is held up tells of it
}

// Of returns how long a lane with a policy may have messages waiting of which its subscriber takes
// none; 0: for ever.
func (l *Limits) Of(policy subscription.Policy) time.Duration {
	switch most := l.MaxStall; {
	case !policy.Lossless():
		return 0
	case policy.Kind == subscription.Disconnect && (most == 0 || policy.After < most):
		return policy.After
	default:
		return most
	}
}

// Lane is a queue of messages to one subscriber.
type Lane interface {
	StuckFor(now time.Time) time.Duration // how long something waits and nothing of it is taken
	HoldsUp() bool                        // the publisher waits for it
}

// Watch watches the lanes of one subscriber. The zero value has not looked.
type Watch[L Lane] struct {
	told  bool          // that the publisher is held up
	limit time.Duration // the shortest of the lanes; 0: none
	since atomic.Int64  // steady time in nanoseconds since 1970 since which it takes nothing of what waits; 0: it does, or not for long
}

// Found is what a look has found: nothing, or several things at a time.
type Found struct {
	Resumed bool          // it takes messages again, after Stalled was told
	Stalled time.Duration // the publisher is held up for so long; 0: it is not, or that was told
	Over    time.Duration // nothing is taken for so long, which is more than Limit; 0: it is not
	Limit   time.Duration
}

// Told reports whether it was told that the publisher is held up.
func (w *Watch[L]) Told() bool { return w.told }

// Limit returns the shortest limit of the lanes at the last look; 0: there is none.
func (w *Watch[L]) Limit() time.Duration { return w.limit }

// Since returns since when, by the steady clock, the subscriber takes nothing; zero: it does, or not for long. Threads: any.
func (w *Watch[L]) Since() (at time.Time) {
	if n := w.since.Load(); n != 0 {
		at = time.Unix(0, n).UTC()
	}
	return at
}

// Look looks at the lanes.
//
//   - policy: of a lane.
//   - moved: something was taken since the last look.
//   - clock: that ticks. It is kept frequent enough for the limits.
func (w *Watch[L]) Look(now time.Time, lanes []L, policy func(L) subscription.Policy, moved bool, limits *Limits, clock *heartbeat.Clock) (f Found) {
	if moved && w.told {
		w.told, f.Resumed = false, true
	}
	w.limit = 0
	longest := time.Duration(0)
	for _, n := range lanes {
		stuck := n.StuckFor(now)
		longest = max(longest, stuck)
		limit := limits.Of(policy(n))
		clock.Need(limit)
		if w.limit == 0 || limit > 0 && limit < w.limit {
			w.limit = limit
		}
		switch {
		case limit > 0 && clock.Over(stuck, limit):
			f.Over, f.Limit = max(stuck, limit), limit
			return f
		case !w.told && clock.Over(stuck, limits.Patience) && n.HoldsUp():
			w.told, f.Stalled = true, max(stuck, limits.Patience)
		}
	}
	switch {
	case clock.Over(longest, limits.Patience): // whether that holds up the publisher or loses messages
		w.since.Store(steady.Time(now.Add(-longest)).UnixNano())
	case !w.told:
		w.since.Store(0)
	}
	return f
}
