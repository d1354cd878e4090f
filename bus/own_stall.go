// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"errors"
	"io"
	"sync/atomic"
	"syscall"
	"time"

	"tagbus/internal/sanitize"
	"tagbus/netio"
)

// OwnStallError is the cause of a Lost event if the other side has ended the connection after this program had taken
// and sent nothing for a while: the program was stopped, its callbacks took long, or it
// had paused reading because a queue of its own was full. The fault is likely to be here, unless the other side was
// stopped or killed, which looks the same.
type OwnStallError struct {
	For time.Duration // to within a tick
	Err error         // how the connection has ended
}

// Error names the time and what to do.
func (e *OwnStallError) Error() string {
	return sanitize.Linef("bus: this program took nothing for %v before the other side ended the connection (%v): unless that side died, make handlers and readers here faster",
		e.For.Round(time.Millisecond), e.Err)
}

// Unwrap returns how the connection has ended.
func (e *OwnStallError) Unwrap() error { return e.Err }

// OwnStall returns For.
func (e *OwnStallError) OwnStall() time.Duration { return e.For }

// endings counts the connections that have ended without goodbye.
type endings struct {
	all atomic.Uint64
	own atomic.Uint64 // those with an *OwnStallError
}

// add counts one.
//
//   - cause: nil: it ended in order, and does not count.
func (n *endings) add(cause error) {
	if cause == nil {
		return
	}
	n.all.Add(1)
	if errors.As(cause, new(*OwnStallError)) {
		n.own.Add(1)
	}
}

// blame returns a cause of the end of a connection as an *OwnStallError, if it was the other side that ended it and
// this side took nothing just before.
//
//   - held: for how long; 0: it did not stand still.
func blame(cause error, held time.Duration) error {
	if held > 0 && (errors.Is(cause, io.EOF) || errors.Is(cause, ErrNoGoodbye) || errors.Is(cause, syscall.ECONNRESET) || errors.Is(cause, syscall.EPIPE) || errors.Is(cause, netio.ErrTruncated)) {
		return &OwnStallError{For: held, Err: cause}
	}
	return cause
}
