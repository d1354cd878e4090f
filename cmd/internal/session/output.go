// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"
	"time"
)

// Pieces hands what is written on in pieces and counts the bytes, so that a slow output can be told from one that takes
// nothing.
type Pieces struct {
	To    io.Writer
	Most  int            // bytes of a piece
	Taken *atomic.Uint64 // bytes that To has taken
}

// Write writes all of b, or returns an error.
func (p Pieces) Write(b []byte) (n int, err error) {
	for n < len(b) && err == nil {
		var m int
		m, err = p.To.Write(b[n:min(len(b), n+p.Most)])
		n += m
		p.Taken.Add(uint64(m))
	}
	return n, err
}

const (
	// outputPatience is how long an output may take at the end before that is said.
	outputPatience = time.Second

	// outputInterval is the time between two looks at what it has taken.
	outputInterval = 50 * time.Millisecond
)

// AwaitOutput waits until what has arrived is written, while the output takes some of it and no signal asks for haste.
//
//   - hurry: ends at a second signal; nil: the first one asks for haste, too.
//   - written: closed when all is written.
//   - taken: bytes by the output.
//   - busy: reports whether it takes none for a good reason; nil: there is none.
//   - grace: how long it may take nothing.
//   - slow: is called once if it takes longer than a second.
//   - Result: why the rest is given up; "": all is written.
func (e *Ending) AwaitOutput(ctx, hurry context.Context, written <-chan struct{}, taken *atomic.Uint64, busy func() bool, grace time.Duration, slow func()) (why string) {
	haste := ctx.Done()
	if e.Reason() == "signal" && hurry != nil {
		haste = hurry.Done() // that was the first one
	}
	tick := time.NewTicker(outputInterval)
	defer tick.Stop()
	late := time.NewTimer(outputPatience)
	defer late.Stop()
	for before, since := taken.Load(), time.Now(); ; {
		select {
		case <-written:
			return ""
		case <-haste:
			return "a signal ended the wait"
		case <-late.C:
			slow()
		case <-tick.C:
		}
		if n := taken.Load(); n != before || busy != nil && busy() {
			before, since = n, time.Now()
		} else if time.Since(since) >= grace {
			return fmt.Sprintf("nothing was taken for %v", grace)
		}
	}
}
