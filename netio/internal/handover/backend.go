package handover

import (
	"errors"
	"net/netip"
	"sync"

	"tagbus/netio"
	"tagbus/netio/internal/invariants"
	"tagbus/netio/reactor"
)

// Backend is the part of a backend that is about its loop. It implements some of
// netio.Backend for the backend that embeds it.
//
// Everything happens in a step: an event of a source, the end of the loop's turn
// (PrepareWait), or a time. Each takes Turn first. It is always free but when
// Close finds that the loop does not run, and takes the part of the loop.
type Backend struct {
	EventLoop *reactor.EventLoop
	Handler   netio.Handler
	Counters  Counters
	List      Worklist
	Tell      func() // posted to the loop to get its turn to an end
	config    netio.Config
	shared    *sharedSend // nil: each endpoint has its own send buffers
	rest      Rest
	done      chan struct{} // closed after the last callback

	Mu        sync.Mutex // also of what the backend shares with its users
	Closed    bool
	listening addresses
	dialed    addresses // open or being opened

	Turn sync.Mutex

	// Only in a step.
	Finished bool
	Alarms   Alarms
	prepare  *reactor.Registration
	keys     []netio.Key // memory for OnConnectionClosed
}

// Rest is what a backend has of its own.
type Rest interface {
	reactor.PrepareWaiter

	// Listen opens a listen endpoint, whose work is enqueued. Mu is held.
	Listen(addr netip.AddrPort, p *netio.Params) (Listener, error)

	// Dial begins to open an endpoint. Mu is held.
	Dial(addr netip.AddrPort, p *netio.Params) error

	// Resume does what a callback that panicked has left of its step.
	Resume()

	// End ends all endpoints and listen endpoints. After a callback that
	// panicked it is called again.
	End()

	// Free gives up all that is left. It comes once, after End.
	Free()
}

// Open begins, and is called once. Errors: the system's.
func (b *Backend) Open(loop *reactor.EventLoop, h netio.Handler, cfg netio.Config, rest Rest) (err error) {
	b.EventLoop, b.Handler, b.config, b.rest = loop, h, cfg, rest
	b.Tell = func() {}
	b.done = make(chan struct{})
	b.listening, b.dialed = make(addresses), make(addresses)
	if err = b.shareSend(cfg.SharedSend); err != nil {
		return err
	}
	if b.Alarms.timer, err = b.Loop().NewTimer(b.ring); err != nil {
		b.retireShared()
		return err
	}
	if b.prepare, err = loop.AddPrepare(rest); err != nil {
		b.retireShared()
		return errors.Join(err, b.Alarms.timer.Close())
	}
	return nil
}

// Loop implements netio.Backend.
func (b *Backend) Loop() netio.Loop { return Loop(b.EventLoop) }

// Stats implements netio.Backend.
func (b *Backend) Stats() netio.Stats { return b.Counters.Load() }

// Enqueue has w work at the end of the loop's turn. Threads: any.
func (b *Backend) Enqueue(w Worker) {
	if b.List.Put(w) {
		b.EventLoop.Post(b.Tell) // false if the loop has ended: Close will do it
	}
}

// CheckThread panics if the backend is Unsafe and the caller of a method is not on the
// loop. It does so in a build with the tag invariants; in others it is empty.
func (b *Backend) CheckThread(method string) {
	if invariants.Enabled && b.config.ThreadSafety == netio.Unsafe {
		invariants.CheckThread(!b.EventLoop.Running() || b.EventLoop.OnLoop(), method)
	}
}

// ring is called by the timer.
func (b *Backend) ring() {
	b.Turn.Lock()
	defer b.Turn.Unlock()
	if !b.Finished {
		b.Alarms.ring()
	}
}

// Close implements netio.Backend.
func (b *Backend) Close() error {
	onLoop, onAnother := b.EventLoop.OnLoop(), b.EventLoop.OnAnyLoop()
	b.Mu.Lock()
	first := !b.Closed
	b.Closed = true
	if first {
		// Behind all that was accepted before.
		b.Enqueue((*closing)(b))
	}
	b.Mu.Unlock()
	if onLoop { // a callback cannot wait for itself
		return nil
	}
	if b.EventLoop.Running() {
		if onAnother { // nor for one that may wait for this
			return nil
		}
		select {
		case <-b.done:
			return nil
		case <-b.EventLoop.Done():
		}
	}
	b.EventLoop.OnBehalf(b.closeApart)
	return nil
}

// closeApart does what the loop would do, on the goroutine of Close, if the
// loop does not run.
func (b *Backend) closeApart() {
	b.Turn.Lock()
	defer b.Turn.Unlock()
	for !b.Finished {
		b.rest.Resume()
		b.List.Refill()
		if b.List.Left() == 0 {
			b.List.Put((*closing)(b)) // a panic has ended the loop in the middle of it
			continue
		}
		b.List.Take().Work()
	}
}

// closing is the work that Close leaves to the loop.
type closing Backend

// Work implements Worker.
func (c *closing) Work() {
	b := (*Backend)(c)
	if b.Finished {
		return
	}
	// What is left after a panic of a callback is done in the next turn.
	through := false
	defer func() {
		if !through {
			b.Enqueue(c)
		}
	}()
	b.rest.End()
	b.Finished = true
	_ = b.prepare.Close()
	_ = b.Alarms.timer.Close()
	b.rest.Free()
	b.retireShared()
	through = true
	close(b.done)
}
