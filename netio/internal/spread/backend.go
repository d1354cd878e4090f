// SPDX-License-Identifier: Apache-2.0

package spread

import (
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"

	"tagbus/netio"
	"tagbus/netio/internal/handover"
	"tagbus/netio/reactor"
)

// errShared is returned for parameters that only one loop can keep to.
var errShared = fmt.Errorf("%w: Receive.Shared is true, want false: endpoints of several loops cannot share receive buffers", netio.ErrInvalidParams)

// Validate reports what several loops cannot do, joined; each error wraps netio.ErrInvalidConfig.
func Validate(c netio.Config) error {
	var errs []error
	refuse := func(field string, value any, want string) {
		errs = append(errs, fmt.Errorf("%w: %s is %v, want %s with several loops", netio.ErrInvalidConfig, field, value, want))
	}
	if c.ThreadSafety != netio.Safe {
		refuse("ThreadSafety", c.ThreadSafety, "safe")
	}
	if c.SharedReceive.Enabled() {
		refuse("SharedReceive.Buffers", c.SharedReceive.Buffers, "0")
	}
	if c.SharedSend.Enabled() {
		refuse("SharedSend.Buffers", c.SharedSend.Buffers, "0")
	}
	return errors.Join(errs...)
}

// Backend implements netio.Backend with several others.
type Backend struct {
	main        *reactor.EventLoop // of the callbacks
	handler     netio.Handler
	panicCause  error
	workers     []*worker
	queue       queue
	deliverFunc func()

	mu              sync.Mutex // of dialed, and of the decision to close
	dialed          map[netip.AddrPort]struct{}
	closing         atomic.Bool   // written under mu
	turn            sync.Mutex    // held while events are handed over; contended only if Close does the work of main
	workersClosed   chan struct{} // closed when the last event is in the queue
	done            chan struct{} // closed after the last callback
	failure         error         // of closing; before workersClosed
	untold          untold
	messages, bytes atomic.Uint64 // that the handler got

	// Only on main.
	batch      []event // being handed over, from at
	at         int
	current    event
	endpoints  map[*endpoint]struct{} // reported, and not ended
	delivering *endpoint              // whose OnData runs
	kept       netio.Retained
	cost       int
	retained   bool // by the user
	ended      bool
}

// Open opens a backend for each of workers, and makes one of them that reports to h
// on main. The first one listens, and shares out what it accepts. The workers are Safe,
// and what their endpoints retain is a Retainer. The loops of the workers outlive the
// backend. panicCause is the cause with which an endpoint ends after a panic of its
// handler.
//
// Errors: those of the openers.
func Open(main *reactor.EventLoop, h netio.Handler, workers []netio.Opener, panicCause error) (*Backend, error) {
	b := &Backend{
		main: main, handler: h, panicCause: panicCause,
		dialed: make(map[netip.AddrPort]struct{}), endpoints: make(map[*endpoint]struct{}),
		workersClosed: make(chan struct{}), done: make(chan struct{}),
	}
	b.deliverFunc = b.deliver
	for _, open := range workers {
		w := &worker{spread: b}
		var err error
		if w.backend, err = open(w); err != nil {
			for _, w := range b.workers {
				err = errors.Join(err, w.backend.Close())
			}
			return nil, err
		}
		b.workers = append(b.workers, w)
	}
	return b, nil
}

// Name implements netio.Backend and reactor.Named.
func (b *Backend) Name() string { return b.workers[0].backend.Name() }

// Loop implements netio.Backend.
func (b *Backend) Loop() netio.Loop { return handover.Loop(b.main) }

// Workers returns the backends. For tests: those of other packages have no other way to
// them.
func (b *Backend) Workers() []netio.Backend {
	all := make([]netio.Backend, len(b.workers))
	for i, w := range b.workers {
		all[i] = w.backend
	}
	return all
}

// Stats implements netio.Backend.
func (b *Backend) Stats() netio.Stats {
	var sum netio.Stats
	b.untold.leaveOut(&sum) // first, as these grow only behind the others
	for _, w := range b.workers {
		sum.Add(w.backend.Stats())
	}
	sum.MessagesReceived, sum.BytesReceived = b.messages.Load(), b.bytes.Load()
	return sum
}

// untold counts events that workers have counted but that never reached the handler,
// because Close came first.
type untold struct{ opened, closed, refused atomic.Uint64 }

// leaveOut subtracts them from a sum to which the workers' counts are still to be added;
// until then it is modulo 2^64.
func (u *untold) leaveOut(s *netio.Stats) {
	s.Opened -= u.opened.Load()
	s.Closed -= u.closed.Load()
	s.Refused -= u.refused.Load()
}

// OpenListenEndpoint implements netio.Backend.
func (b *Backend) OpenListenEndpoint(addr netip.AddrPort, p netio.Params) (netio.ListenEndpoint, error) {
	if p.Receive.Shared {
		return nil, &netio.OpError{Op: "open listen endpoint", Addr: addr, Err: errShared}
	}
	b.mu.Lock() // Close comes before or after
	defer b.mu.Unlock()
	if b.closing.Load() {
		return nil, &netio.OpError{Op: "open listen endpoint", Addr: addr, Err: netio.ErrClosed}
	}
	return b.workers[0].backend.OpenListenEndpoint(addr, p)
}

// OpenEndpoint implements netio.Backend.
func (b *Backend) OpenEndpoint(addr netip.AddrPort, p netio.Params) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	refuse := func(err error) error { return &netio.OpError{Op: "open endpoint", Addr: addr, Err: err} }
	if b.closing.Load() {
		return refuse(netio.ErrClosed)
	}
	key := handover.Canonical(addr)
	if _, exists := b.dialed[key]; exists {
		return refuse(netio.ErrEndpointExists)
	}
	p.Context = &dialed{addr: addr, context: p.Context}
	w := b.least()
	w.load.Add(1)
	if err := w.backend.OpenEndpoint(addr, p); err != nil {
		w.load.Add(-1)
		return err
	}
	b.dialed[key] = struct{}{}
	return nil
}

// least returns the worker with the fewest endpoints, of those whose loops have not
// ended if there are any.
func (b *Backend) least() *worker {
	for {
		var best *worker
		for _, w := range b.workers {
			if !w.gone.Load() && (best == nil || w.load.Load() < best.load.Load()) {
				best = w
			}
		}
		if best == nil {
			return b.workers[0]
		}
		if best.backend.Loop().Post(func() {}) {
			return best
		}
		best.gone.Store(true)
	}
}

// undial frees the address to which an endpoint was opened that has ended.
func (b *Backend) undial(addr netip.AddrPort) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.dialed, handover.Canonical(addr))
}

// push reports an event. Threads: any.
func (b *Backend) push(e event) {
	if b.queue.push(e) {
		b.deliverMore()
	}
}

// Close implements netio.Backend.
func (b *Backend) Close() error {
	onLoop := b.main.OnAnyLoop()
	b.mu.Lock()
	first := !b.closing.Swap(true)
	b.mu.Unlock()
	if first {
		go b.closeWorkers(onLoop) // a callback cannot wait for them
	}
	if onLoop { // it would wait for itself, or for one that may wait for it
		return nil
	}
	<-b.workersClosed
	b.await()
	if first {
		return b.failure
	}
	return nil
}

// await waits for the last callback, and makes the callbacks that are missing if the
// loop of the callbacks does not run. The last event must be in the queue before.
func (b *Backend) await() {
	if b.main.Running() {
		select {
		case <-b.done:
			return
		case <-b.main.Done():
		}
	}
	b.main.OnBehalf(b.deliverOnBehalf)
}

// closeWorkers closes all workers and queues the last event. With wait it also waits for
// the last callback, in place of a Close that must not wait.
func (b *Backend) closeWorkers(wait bool) {
	var errs []error
	for _, w := range b.workers {
		errs = append(errs, w.backend.Close())
	}
	b.failure = errors.Join(errs...)
	b.push(event{kind: finished})
	close(b.workersClosed)
	if wait {
		b.await()
	}
}

// deliverOnBehalf does the loop's work on the goroutine of Close. The loop does not run.
func (b *Backend) deliverOnBehalf() {
	b.run(func() bool { return !b.ended })
}
