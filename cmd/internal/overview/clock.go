// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"time"

	"tagbus/bus/state"
)

// What an instance tells has times by the clock of its host, which may be another one than ours and
// may be set between two answers. How long ago something was is told by the time of its answer.

// Passed returns how long an instance has run between two answers.
func Passed(before, now *state.State) time.Duration {
	return now.Time.Sub(before.Time) - moved(before, now)
}

// moved returns by how much the clock of an instance was set between two answers: when it has begun
// is the same time, by another clock. What is put together of several answers has not begun.
func moved(before, now *state.State) time.Duration {
	if now.Since.IsZero() || before.Since.IsZero() {
		return 0
	}
	return now.Since.Sub(before.Since)
}

// Clock returns what the clock of the host of the row showed when it was looked at, or else that of
// the look: it has not told it.
func (r *Row) Clock(look time.Time) time.Time {
	if r.State == nil || r.State.Since.IsZero() {
		return look
	}
	return r.State.Time
}

// ByClockOf returns another answer of an instance with its times moved to the clock of one that OneClock may have moved.
func ByClockOf(of *state.State, answer state.State) state.State {
	return answer.Moved(moved(&answer, of))
}

// SameConnection returns what an answer before says of the connection of a peer; nil if it is another
// connection, or before is nil.
func SameConnection(before *state.Peer, by *state.State, p *state.Peer, now *state.State) *state.Peer {
	if before == nil || p.Since.Sub(before.Since) != moved(by, now) {
		return nil
	}
	return before
}

// synced is by how much the clock of an instance may seem to be ahead that is not: it has answered
// some time after the look has begun.
const synced = 3 * time.Second

// OneClock moves the times of all answers to the clock of this host, where that of theirs differs from
// it by more than an answer takes.
func (o *Overview) OneClock() {
	for i := range o.Rows {
		r := &o.Rows[i]
		ahead := r.Clock(o.Time).Sub(o.Time).Round(time.Second)
		if ahead.Abs() <= synced {
			continue
		}
		now := r.State.Moved(-ahead)
		r.State, r.peersBefore = &now, nil
		if r.Before != nil {
			before := r.Before.Moved(-ahead)
			r.Before = &before
		}
	}
}
