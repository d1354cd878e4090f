package bus

import (
	"sync"
	"sync/atomic"

	"tagbus/netio"
)

// closer orders the end of a publisher or subscriber. Close does its work once, from
// any goroutine and however often it is called. No callback of the user runs after a
// Close that could wait.
type closer struct {
	begun atomic.Bool
	ended chan struct{} // closed when close has returned
	later bool          // end completes the close

	// calling is held while a callback of the user runs. Only a Close that is
	// not itself inside a callback takes it.
	calling sync.Mutex
	silent  bool
}

// close runs f, which closes the backend b, in the first call; b is nil if there is
// none. Later calls wait for the first, and for the callbacks that it could not wait
// for. On a loop, where they could wait for ever, they return at once.
func (c *closer) close(b netio.Backend, f func() error) error {
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
	err := f()
	if !onLoop {
		c.silence()
	}
	if !c.later {
		close(c.ended)
	}
	return err
}

// silence waits for the running callback, and lets no other begin.
func (c *closer) silence() {
	c.calling.Lock()
	defer c.calling.Unlock()
	c.silent = true
}

// end completes a close on the loop. The first Close has returned by then, and cannot
// return an error any more.
func (c *closer) end() { close(c.ended) }

// call runs a callback of the user, unless Close has returned. Loop only.
func (c *closer) call(f func()) {
	c.calling.Lock()
	defer c.calling.Unlock()
	if !c.silent {
		f()
	}
}
