// SPDX-License-Identifier: Apache-2.0

// Package closer orders the end of what has callbacks: a Close that may be called from
// any goroutine, any number of times, and inside a callback.
package closer

import (
	"sync"
	"sync/atomic"

	"tagbus/netio"
)

// Closer orders the end of a publisher or subscriber. Close does its work once. No
// callback of the user runs after a Close that could wait.
type Closer struct {
	begun atomic.Bool
	ended chan struct{} // closed when the close is complete

	// calling is held while a callback of the user runs. Only a Close that is not
	// itself inside a callback takes it.
	calling sync.Mutex
	silent  bool
}

// New returns a Closer of what is open.
func New() *Closer { return &Closer{ended: make(chan struct{})} }

// Begun reports whether Close was called. Threads: any.
func (c *Closer) Begun() bool { return c.begun.Load() }

// Ended returns a channel that is closed when the close is complete. Threads: any.
func (c *Closer) Ended() <-chan struct{} { return c.ended }

// Close runs f, which closes the backend b, in the first call; b is nil if there is
// none. Later calls wait for the first, and for the callbacks that it could not wait
// for. On a loop, where they could wait for ever, they return at once. Threads: any.
//
//   - f: returns later if the loop completes the close, by End.
//   - Errors: that of f. Later calls return nil.
func (c *Closer) Close(b netio.Backend, f func() (later bool, err error)) error {
	onLoop := b != nil && b.Loop().OnAnyLoop()
	if c.begun.Swap(true) {
		if !onLoop {
			<-c.ended
			if b != nil {
				_ = b.Close() // nil, since it is not the first Close
			}
			c.silence()
		}
		return nil
	}
	later, err := f()
	if !onLoop {
		c.silence()
	}
	if !later {
		close(c.ended)
	}
	return err
}

// silence waits for the running callback, and lets no other begin.
func (c *Closer) silence() {
	c.calling.Lock()
	defer c.calling.Unlock()
	c.silent = true
}

// End completes a close on the loop. The first Close may have returned by then, and
// cannot return an error any more.
func (c *Closer) End() { close(c.ended) }

// Call runs a callback of the user, unless a Close that could wait has returned. Loop
// only.
func (c *Closer) Call(f func()) {
	c.calling.Lock()
	defer c.calling.Unlock()
	if !c.silent {
		f()
	}
}
