// SPDX-License-Identifier: Apache-2.0

package tcp

import (
	"time"

	"tagbus/netio"
)

// Trouble is a trouble with a clock of the test.
type Trouble struct{ t trouble }

// NewTrouble returns a trouble that has not begun.
func NewTrouble(now func() time.Time) *Trouble { return &Trouble{trouble{clock: now}} }

// Fail counts a failure.
func (t *Trouble) Fail() (failed uint64, tell bool) { return t.t.fail() }

// End ends it.
func (t *Trouble) End() (failed uint64, lasted time.Duration, tell bool) { return t.t.end() }

// SetClock sets the clock of a listen endpoint. Threads: the loop.
func SetClock(l netio.ListenEndpoint, now func() time.Time) {
	l.(*listenEndpoint).trouble.clock = now
}
