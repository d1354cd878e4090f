// SPDX-License-Identifier: Apache-2.0

//go:build linux

package mutual

import (
	"time"

	"tagbus/netio"
)

// Waiter makes the goroutine of a handshake wait for its socket, which the loop watches.
type Waiter struct {
	Deadline time.Time // of the handshake
	Yield    func()    // called when the peer is silent for a while
	Work     *Work     // ends while the goroutine waits

	kicks chan struct{} // something may have changed: of one element
}

// Open prepares w.
func (w *Waiter) Open() { w.kicks = make(chan struct{}, 1) }

// Await waits until the loop has seen an event of the socket.
//
// Errors: netio.ErrTimeout at the deadline.
func (w *Waiter) Await() error {
	w.Work.End()
	defer w.Work.Begin()
	timer := time.NewTimer(min(YieldAfter, time.Until(w.Deadline)))
	defer timer.Stop()
	for {
		select {
		case <-w.kicks:
			return nil
		case <-timer.C:
		}
		left := time.Until(w.Deadline)
		if left <= 0 {
			return netio.ErrTimeout
		}
		w.Yield()
		timer.Reset(min(YieldAfter, left))
	}
}

// Kick makes a goroutine that waits look again. Threads: any.
func (w *Waiter) Kick() {
	select {
	case w.kicks <- struct{}{}:
	default:
	}
}
