// SPDX-License-Identifier: Apache-2.0

package closer

import (
	"time"

	"tagbus/netio"
)

// Parting is the close of what says goodbye to its peers before its backend closes.
type Parting struct {
	Shutdown func()          // ends everything above the backend. On the loop, as long as that runs
	Farewell func()          // says goodbye, after Shutdown. Loop only
	Said     <-chan struct{} // closed when goodbye is said
	Patience time.Duration   // how long to wait for that
	Wait     func()          // waits for what else is to end before the backend closes. It is not called on a loop
}

// Part is the work of a Close. From inside a callback it returns at once, and the loop
// completes the close.
//
//   - Errors: the backend's. Its results are those of the function that Close calls.
//   - Threads: any.
func (c *Closer) Part(b netio.Backend, p Parting) (later bool, err error) {
	loop := b.Loop()
	switch {
	case loop.OnLoop():
		if c.soon(b, p) {
			return true, nil
		}
		return false, b.Close()
	case loop.OnAnyLoop(): // this loop must not wait for the other one
		if loop.Post(func() {
			if !c.soon(b, p) {
				_ = b.Close()
				c.End()
			}
		}) {
			return true, nil
		}
		p.Shutdown() // the loop has ended
		return false, b.Close()
	}
	if !loop.Post(func() {
		p.Shutdown()
		p.Farewell()
	}) {
		p.Shutdown()
		return false, b.Close()
	}
	patience := time.NewTimer(p.Patience)
	defer patience.Stop()
	select {
	case <-p.Said:
	case <-patience.C:
	}
	p.Wait()
	return false, b.Close()
}

// soon is Part inside a callback. The loop sends at the end of a turn, so the backend is
// closed one turn later, after the last messages. soon returns false if the loop has no
// further turn. Loop only.
func (c *Closer) soon(b netio.Backend, p Parting) bool {
	p.Shutdown()
	p.Farewell()
	last := func() {
		_ = b.Close()
		c.End()
	}
	return b.Loop().Post(func() {
		if !b.Loop().Post(last) {
			last()
		}
	})
}
