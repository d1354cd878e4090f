package tcp

import (
	"errors"
	"fmt"
	"net/netip"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"tagbus/netio"
	"tagbus/netio/internal/spread"
	"tagbus/netio/reactor"
)

// OpenerOn returns an opener of TCP backends whose endpoints are shared out among
// the loops of workers, for more than one processor can send and receive. All
// callbacks come on loop, one at a time, as with Opener. The loops need not run
// yet. A backend is closed before any of them is.
//
// What is received crosses from one loop to another: with few connections, or few
// processors, one loop is faster. A connection is of one loop for all its life.
//
// The errors of the opener: as with Opener; netio.ErrInvalidConfig for an Unsafe
// backend or for shared buffers, which are of one loop. Its backends refuse
// ReceiveParams.Shared for the same reason. Each takes two descriptors per worker.
func OpenerOn(loop *reactor.EventLoop, workers []*reactor.EventLoop, cfg Config) netio.Opener {
	if len(workers) == 0 {
		return Opener(loop, cfg)
	}
	return func(h netio.Handler) (netio.Backend, error) {
		if err := cfg.validateSpread(); err != nil {
			return nil, err
		}
		cfg := cfg.withDefaults()
		cfg.warn()
		f := new(family)
		openers := make([]netio.Opener, len(workers))
		for i, w := range workers {
			openers[i] = func(h netio.Handler) (netio.Backend, error) { return open(w, cfg, h, f) }
		}
		b, err := spread.Open(loop, h, openers, ErrCallbackPanicked)
		if err != nil {
			return nil, err // not b: it would be a Backend that is not nil
		}
		return b, nil
	}
}

// validateSpread reports what several loops cannot do, too.
func (c Config) validateSpread() error {
	errs := []error{c.Validate()}
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

// family are the backends that share what the first of them accepts: mostly one.
type family struct {
	backends []*backend   // fixed before anything is accepted
	accepted atomic.Int64 // endpoints of all
}

// least returns the backend with the fewest endpoints, of several b if it is among
// them, and adds one to its load.
func (f *family) least(b *backend) *backend {
	for _, other := range f.backends {
		if other.load.Load() < b.load.Load() {
			b = other
		}
	}
	b.load.Add(1)
	return b
}

// take serves a connection that another backend's l may have accepted.
func (b *backend) take(l *listenEndpoint, fd int, remote netip.AddrPort) {
	if b == l.backend {
		b.serve(l, fd, remote)
		return
	}
	if !b.EventLoop.Post(func() { b.takeOver(l, fd, remote) }) {
		b.decline(fd)
	}
}

// takeOver serves a connection that was accepted on another loop.
func (b *backend) takeOver(l *listenEndpoint, fd int, remote netip.AddrPort) {
	b.Turn.Lock()
	defer b.Turn.Unlock()
	if b.Finished {
		b.decline(fd)
		return
	}
	b.serve(l, fd, remote)
}

// decline closes a connection that nobody serves any more.
func (b *backend) decline(fd int) {
	b.family.accepted.Add(-1)
	b.load.Add(-1)
	_ = unix.Close(fd)
}

// leave closes what l has accepted, on all loops.
func (f *family) leave(l *listenEndpoint) {
	for _, b := range f.backends {
		if b == l.backend {
			b.closeAccepted(l)
			continue
		}
		// Behind what was accepted and is still on its way.
		b.EventLoop.Post(func() {
			b.Turn.Lock()
			defer b.Turn.Unlock()
			b.closeAccepted(l)
		})
	}
}

// closeAccepted closes what l has accepted and this backend serves.
func (b *backend) closeAccepted(l *listenEndpoint) {
	for at := b.endpoints.Front(); at != nil; at = at.Next() {
		if e := at.Value.(*endpoint); e.listener == l {
			_ = e.Close()
		}
	}
}
