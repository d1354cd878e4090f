// SPDX-License-Identifier: Apache-2.0

package tcp

import "time"

// How much an endpoint reads in a turn: the endpoints that have more to read than one
// turn allows share turnBytes. So a round of all of them is short, and a turn with a
// thousand is no longer than with 32.
const (
	// mostReadBytes is what an endpoint reads when few are busy. 1 MiB is not
	// faster, and 64 KiB not slower (adr/0017).
	mostReadBytes = 256 << 10

	// leastReadBytes is what it reads with however many others: less would cost
	// a system call for a few messages.
	leastReadBytes = 16 << 10

	// lateBytes is what may be received in a turn before the first look at the
	// clock, and between two looks from then on: a turn with less costs no more.
	lateBytes = 64 << 10
)

// turnTime is how long the callbacks for data of a turn may take, beyond those for
// lateBytes, before what has been received waits for the next turn: a posted function
// must not wait for a handler that takes long for each of many small messages. A
// variable for tests.
var turnTime = 5 * time.Millisecond

// late reports whether the turn has taken so long that what else there is to receive
// waits for the next one.
func (b *backend) late() bool {
	return (b.moved >= lateBytes || !b.began.IsZero()) && b.over()
}

// handled notes that a callback has got n bytes. Each lateBytes it is late.
func (b *backend) handled(n int) bool {
	if b.unlooked += n; b.unlooked < lateBytes {
		return false
	}
	b.unlooked = 0
	return b.over()
}

// over is late for a turn in which lateBytes were received.
func (b *backend) over() bool {
	now := time.Now()
	if b.began.IsZero() {
		b.began = now
		return turnTime == 0
	}
	return now.Sub(b.began) >= turnTime
}

// readBudget returns what an endpoint may read in this turn that is not behind.
func (b *backend) readBudget() int {
	if fixed := b.config.readBudget; fixed > 0 {
		return fixed
	}
	return min(max(turnBytes/(b.behind+1), leastReadBytes), mostReadBytes)
}

// fallBehind leaves what the endpoint has to read to its next turn.
func (e *endpoint) fallBehind() {
	if !e.behind {
		e.behind = true
		e.backend.behind++
	}
	e.Schedule(toRead)
}

// catchUp says that this turn has come, or that there is no other.
func (e *endpoint) catchUp() {
	if e.behind {
		e.behind = false
		e.backend.behind--
	}
}
