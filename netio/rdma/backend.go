//go:build libfabric && cgo

package rdma

import (
	"errors"
	"net/netip"
	"sync"
	"time"

	"tagbus/netio"
	"tagbus/netio/internal/invariants"
	"tagbus/netio/rdma/internal/fi"
	"tagbus/netio/reactor"
)

const (
	// ringOps and so on are what crosses to C at once.
	ringOps    = 256
	ringDrains = 64
	ringDone   = 1024
	drainEach  = 64 // completions of one queue

	// endCheck is how often a waiting Close makes sure that the loop still
	// runs.
	endCheck = 50 * time.Millisecond
)

// backend implements netio.Backend.
//
// Everything happens in a step: the end of the loop's turn (PrepareWait) or a
// time (alarms.ring). Each takes turn first. It is always free but when Close
// finds that the loop does not run, and takes the part of the loop.
type backend struct {
	loop    *reactor.EventLoop
	config  Config
	handler netio.Handler
	stats   counters
	list    worklist
	tell    func()        // posted to the loop to get its turn to an end
	done    chan struct{} // closed after the last callback
	devices devices

	mu        sync.Mutex
	closed    bool
	listening map[netip.AddrPort]struct{}
	active    map[netip.AddrPort]struct{} // open or being opened

	turn sync.Mutex

	// Only in a step.
	finished  bool
	prepare   *reactor.Registration
	alarms    alarms
	crossing  crossing
	keys      []netio.Key // memory for OnConnectionClosed
	endpoints endpointList
	byContext map[uint64]*endpoint // those that libfabric knows
	contexts  uint64               // given out
	accepted  int                  // of endpoints
	listeners []*listenEndpoint

	shared *sharedSend // nil: each endpoint has its own send buffers
}

func open(loop *reactor.EventLoop, cfg Config, h netio.Handler) (netio.Backend, error) {
	b := &backend{
		loop:      loop,
		config:    cfg,
		handler:   h,
		tell:      func() {},
		done:      make(chan struct{}),
		listening: make(map[netip.AddrPort]struct{}),
		active:    make(map[netip.AddrPort]struct{}),
		byContext: make(map[uint64]*endpoint),
	}
	b.devices.init(b)
	var err error
	if b.shared, err = newSharedSend(b, cfg.SharedSend); err != nil {
		return nil, err
	}
	if b.alarms.timer, err = b.Loop().NewTimer(b.ring); err != nil {
		b.retireShared()
		return nil, err
	}
	b.crossing.init()
	if b.prepare, err = loop.AddPrepare(b); err != nil {
		b.crossing.free()
		b.retireShared()
		return nil, errors.Join(err, b.alarms.timer.Close())
	}
	return b, nil
}

// retireShared gives up the send buffers that all share, when the last is back.
func (b *backend) retireShared() {
	if b.shared != nil {
		b.shared.pool.Retire()
	}
}

// Name implements netio.Backend and reactor.Named.
func (b *backend) Name() string { return b.config.name() }

// Loop implements netio.Backend.
func (b *backend) Loop() netio.Loop { return eventLoop{b.loop} }

// Stats implements netio.Backend.
func (b *backend) Stats() netio.Stats { return b.stats.load() }

// enqueue has w work at the end of the loop's turn. Threads: any.
func (b *backend) enqueue(w worker) {
	if b.list.put(w) {
		b.loop.Post(b.tell) // false if the loop has ended: Close will do it
	}
}

// ring is called by the timer.
func (b *backend) ring() {
	b.turn.Lock()
	defer b.turn.Unlock()
	if !b.finished {
		b.alarms.ring()
	}
}

// Close implements netio.Backend.
func (b *backend) Close() error {
	onLoop := b.loop.OnLoop()
	b.mu.Lock()
	first := !b.closed
	b.closed = true
	if first {
		// Behind all that was accepted before.
		b.enqueue((*closing)(b))
	}
	b.mu.Unlock()
	if onLoop { // a callback cannot wait for itself
		return nil
	}
	for {
		if !b.loop.Running() {
			b.loop.OnBehalf(b.closeApart)
		}
		select {
		case <-b.done:
			return nil
		case <-time.After(endCheck): // the loop may end meanwhile
		}
	}
}

// closeApart does what the loop would do, on the goroutine of Close, if the
// loop does not run.
func (b *backend) closeApart() {
	b.turn.Lock()
	defer b.turn.Unlock()
	for !b.finished {
		b.serve() // what a panic has left
		b.list.refill()
		if b.list.left() == 0 {
			b.list.put((*closing)(b)) // a panic has ended the loop in the middle of it
			continue
		}
		b.list.take().work()
	}
}

// closing is the work that Close leaves to the loop.
type closing backend

func (c *closing) work() {
	b := (*backend)(c)
	if b.finished {
		return
	}
	// What is left after a panic of a callback is done in the next turn.
	through := false
	defer func() {
		if !through {
			b.enqueue(c)
		}
	}()
	for len(b.listeners) > 0 {
		b.listeners[0].stop()
	}
	for e := b.endpoints.first; e != nil; e = b.endpoints.first {
		e.end(nil)
	}
	b.finished = true
	_ = b.prepare.Close()
	_ = b.alarms.timer.Close()
	b.devices.close()
	b.crossing.free()
	b.retireShared()
	through = true
	close(b.done)
}

// warn logs what has no callback.
func (b *backend) warn(text string, args ...any) { b.config.Logger.Warn("rdma: "+text, args...) }

// getInfo asks libfabric for endpoints. Errors: ErrNoDevice, wrapped, and
// *fi.Error. Threads: any.
func (b *backend) getInfo(addr netip.AddrPort, listen bool, s sizes) (*fi.Info, error) {
	info, err := fi.GetInfo(fi.Hints{Provider: b.config.Provider, Addr: addr, Listen: listen, TxSize: s.tx, RxSize: s.rx})
	if err != nil {
		return nil, noDevice(err, b.config.Provider, addr)
	}
	return info, nil
}

// checkThread panics, in a build with the tag invariants, if the backend is
// Unsafe and the caller of a method is not on the loop. The constant is for the
// caller to ask, so that other builds do not even call this.
func (b *backend) checkThread(method string) {
	if b.config.ThreadSafety == netio.Unsafe {
		invariants.CheckThread(!b.loop.Running() || b.loop.OnLoop(), method)
	}
}
