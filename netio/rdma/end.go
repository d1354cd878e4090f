// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package rdma

import (
	"io"
	"time"

	"tagbus/netio/internal/handover"
)

// brokenTime is how long a connection that has failed is given to show what was
// received before, and that it has ended.
const brokenTime = 300 * time.Millisecond

// breakDown notes that the connection has failed. It ends when the end shows,
// or after brokenTime.
func (e *endpoint) breakDown(op string, err error) {
	if e.broken != nil || e.peerGone || e.state != reported {
		return // what was received before the end may wait for the user
	}
	e.broken = e.OpError(op, err)
	e.endAfter(brokenTime, e.broken)
}

// endAfter ends e after some time, and not while it keeps messages that the user is to get first.
func (e *endpoint) endAfter(d time.Duration, cause error) {
	e.limit.F = func() {
		if e.keeps() {
			e.endAfter(d, cause)
			return
		}
		e.end(cause)
	}
	e.backend.Alarms.Set(&e.limit, d)
}

// keeps reports whether there are messages that come before the end: another loop holds them back, or the user has
// paused and the peer has closed in order. A connection that breaks takes them from a user that has paused.
func (e *endpoint) keeps() bool {
	hold := e.Hold()
	if len(e.held)+len(e.early) == 0 || hold&handover.Closed != 0 {
		return false
	}
	return hold&handover.Suspended != 0 || hold&handover.Paused != 0 && e.allRead && e.broken == nil
}

// tryEnd ends the endpoint if the other side has ended the connection, and all
// that it has sent was delivered.
func (e *endpoint) tryEnd() {
	if !e.peerGone || !e.allRead || e.state != reported || len(e.held) > 0 || e.IsClosed() {
		return
	}
	if e.hub != nil && e.queue.Head.Load() != e.queue.posted {
		return // so that they are reported as sent
	}
	if e.broken != nil && !isPipe(e.broken) {
		e.end(e.broken)
		return
	}
	e.end(io.EOF) // also if we were still sending
}
