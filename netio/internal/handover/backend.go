// SPDX-License-Identifier: Apache-2.0

package handover

import (
	"errors"
	"net/netip"
	"sync"

	"tagbus/internal/alarm"
	"tagbus/internal/invariants"
	"tagbus/netio"
	"tagbus/netio/reactor"
)

// Backend is the part of a backend that deals with its loop. It implements some of
// netio.Backend for the backend that embeds it.
//
// Everything happens in a step: an event of a source, the end of the loop's turn
// (PrepareWait), or an alarm. Each step holds Turn, which is free except when Close
// finds that the loop does not run, and does the loop's work.
type Backend struct {
	EventLoop *reactor.EventLoop
	Handler   netio.Handler
	Counters  Counters
	List      Worklist
	config    netio.Config
	shared    *sharedSend // nil: each endpoint has its own send buffers
	transport Transport
	done      chan struct{} // closed after the last callback

	Mu        sync.Mutex // also guards what the backend shares with its users
	Closed    bool
	listening addresses
	dialed    addresses // open or being opened

	Turn sync.Mutex

	// Only in a step.
	Finished bool
	Alarms   alarm.Clock
	prepare  *reactor.Registration
	keys     []netio.Key // memory for OnConnectionClosed
}

// Transport is the part of a backend that differs between networks.
type Transport interface {
	reactor.PrepareWaiter

	// Name returns the name of the backend.
	Name() string

	// Listen opens a listen endpoint, which is enqueued next. Mu is held.
	Listen(addr netip.AddrPort, p *netio.Params) (Listener, error)

	// Dial begins to open an endpoint. Mu is held.
	Dial(addr netip.AddrPort, p *netio.Params) error

	// Resume finishes a step that a panic of a callback has interrupted.
	Resume()

	// End ends all endpoints and listen endpoints. It is called again if a
	// callback in it panics.
	End()

	// Free releases all that is left. It is called once, after End.
	Free()
}

// Open prepares b for loop and transport. It is called once. Errors: the system's.
func (b *Backend) Open(loop *reactor.EventLoop, h netio.Handler, cfg netio.Config, transport Transport) (err error) {
	b.EventLoop, b.Handler, b.config, b.transport = loop, h, cfg, transport
	b.done = make(chan struct{})
	b.listening, b.dialed = make(addresses), make(addresses)
	if err = b.shareSend(cfg.SharedSend); err != nil {
		return err
	}
	if err = alarm.Open(&b.Alarms, b.newTimer); err != nil {
		b.retireShared()
		return err
	}
	if b.prepare, err = loop.AddPrepare(transport); err != nil {
		b.retireShared()
		return errors.Join(err, b.Alarms.Close())
	}
	return nil
}

// Loop implements netio.Backend.
func (b *Backend) Loop() netio.Loop { return Loop(b.EventLoop) }

// Stats implements netio.Backend.
func (b *Backend) Stats() netio.Stats { return b.Counters.Load() }

// Enqueue schedules w for the end of the loop's turn. Threads: any.
func (b *Backend) Enqueue(w Worker) {
	if b.List.Put(w) {
		b.Wake() // false if the loop has ended: Close does the work
	}
}

// Wake makes the loop take another turn, at whose end it works off List. It returns
// false if the loop has ended. Threads: any.
func (b *Backend) Wake() bool { return b.EventLoop.Post(endTurn) }

// endTurn is posted for the end of the turn that the post brings about.
func endTurn() {}

// CheckThread panics if the backend is Unsafe and the caller of a method is not on the
// loop. It does so in a build with the tag invariants; in others it is empty.
func (b *Backend) CheckThread(method string) {
	if invariants.Enabled && b.config.ThreadSafety == netio.Unsafe {
		invariants.CheckThread(!b.EventLoop.Running() || b.EventLoop.OnLoop(), method)
	}
}

// newTimer returns the timer of Alarms, which ring in a step.
func (b *Backend) newTimer(ring func()) (netio.Timer, error) {
	return b.Loop().NewTimer(func() {
		b.Turn.Lock()
		defer b.Turn.Unlock()
		if !b.Finished {
			ring()
		}
	})
}

// Close implements netio.Backend.
func (b *Backend) Close() error {
	onLoop, onAnother := b.EventLoop.OnLoop(), b.EventLoop.OnAnyLoop()
	b.Mu.Lock()
	first := !b.Closed
	b.Closed = true
	if first {
		// Behind all work that was accepted before.
		b.Enqueue((*closing)(b))
	}
	b.Mu.Unlock()
	if onLoop { // it would wait for itself
		return nil
	}
	if b.EventLoop.Running() {
		if onAnother { // it would wait for a loop that may be waiting for its own
			return nil
		}
		select {
		case <-b.done:
			return nil
		case <-b.EventLoop.Done():
		}
	}
	b.EventLoop.OnBehalf(b.closeOnBehalf)
	return nil
}

// closeOnBehalf does the loop's work on the goroutine of Close. The loop does not run.
func (b *Backend) closeOnBehalf() {
	b.Turn.Lock()
	defer b.Turn.Unlock()
	for !b.Finished {
		b.transport.Resume()
		b.List.Refill()
		if b.List.Left() == 0 {
			b.List.Put((*closing)(b)) // the loop took it, and ended before it was done
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
	// After a panic of a callback the next turn does the rest.
	through := false
	defer func() {
		if !through {
			b.Enqueue(c)
		}
	}()
	b.transport.End()
	b.Finished = true
	_ = b.prepare.Close()
	_ = b.Alarms.Close()
	b.transport.Free()
	b.retireShared()
	through = true
	close(b.done)
}
