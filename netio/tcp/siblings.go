// SPDX-License-Identifier: Apache-2.0

package tcp

import (
	"errors"
	"net/netip"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"tagbus/netio"
	"tagbus/netio/internal/mutual"
	"tagbus/netio/internal/spread"
	"tagbus/netio/reactor"
)

// OpenerOn returns an opener of TCP backends whose endpoints are shared out among
// the loops of workers, for more than one processor can send and receive. All
// callbacks come on loop, one at a time, as with Opener. The loops need not run
// yet. A backend is closed before any of them is.
//
// Two things differ, because calls are made on one loop and carried out on another.
// A send has its place free, and its buffer, when the system has taken it, which can
// be before OnSendCompleted says so: more completions than Params.ZeroCopy.Outstanding
// can be on their way. And a connection that has ended has no room (ErrNoResources)
// until OnConnectionClosed says that it has.
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
		if err := errors.Join(cfg.Validate(), spread.Validate(cfg.Config)); err != nil {
			return nil, err
		}
		cfg := cfg.withDefaults()
		cfg.warn()
		all := newSiblings(&cfg, true)
		openers := make([]netio.Opener, len(workers))
		for i, w := range workers {
			openers[i] = func(h netio.Handler) (netio.Backend, error) { return open(w, cfg, h, all) }
		}
		b, err := spread.Open(loop, h, openers, ErrCallbackPanicked)
		if err != nil {
			return nil, err // not b: it would be a Backend that is not nil
		}
		return b, nil
	}
}

// siblings are the backends that share what the first of them accepts: mostly one.
type siblings struct {
	spread   bool         // they are those of a spread.Backend
	backends []*backend   // fixed before anything is accepted
	accepted atomic.Int64 // endpoints of all, down to the last callback
	accepts  mutual.Desk  // the handshakes of these
	dials    mutual.Desk
	ration   *mutual.Ration // of both; nil: without TLS

	strangers strangers
}

// newSiblings returns those of backends with this configuration.
func newSiblings(c *Config, several bool) *siblings {
	all := &siblings{spread: several}
	if c.TLS != nil {
		all.ration = mutual.NewRation(runtime.GOMAXPROCS(0), time.Now)
		all.accepts = mutual.Desk{Places: c.TLS.MaxHandshakes, Ration: all.ration, Accepts: true}
		all.dials = mutual.Desk{Places: c.TLS.MaxHandshakes, Ration: all.ration}
	}
	return all
}

// assign gives a connection that l has accepted to the backend with the fewest
// endpoints, of several to l's own if it is among them.
func (all *siblings) assign(l *listenEndpoint, fd int, remote netip.AddrPort) {
	all.accepted.Add(1)
	for {
		b := l.backend
		for _, other := range all.backends {
			if other.load.Load() < b.load.Load() && !other.arrivals.Closed() {
				b = other
			}
		}
		if b == l.backend {
			b.serve(l, fd, remote)
			return
		}
		if b.take(arrival{l, fd, remote}) {
			return
		}
	}
}

// arrival is a connection that was accepted on another loop.
type arrival struct {
	listener *listenEndpoint
	fd       int
	remote   netip.AddrPort
}

// take schedules a connection for the backend's loop. It returns false if the loop or
// the backend has ended. Threads: any.
func (b *backend) take(c arrival) bool {
	b.load.Add(1) // before the loop has it
	taken := b.arrivals.Put(c, func() bool { return b.EventLoop.Post(b.arrive) })
	if !taken {
		b.load.Add(-1)
	}
	return taken
}

// arrive serves what has arrived. Threads: the loop.
func (b *backend) arrive() {
	b.Turn.Lock()
	defer b.Turn.Unlock()
	for _, c := range b.arrivals.Take() {
		b.load.Add(-1)
		b.serve(c.listener, c.fd, c.remote)
	}
}

// declineArrivals closes the connections that were on their way when the backend ended,
// and refuses further ones.
func (b *backend) declineArrivals() {
	b.arrivals.Close()
	for _, c := range b.arrivals.Take() {
		b.siblings.accepted.Add(-1)
		_ = unix.Close(c.fd)
	}
}

// closeAccepted closes what l has accepted, on all loops.
func (all *siblings) closeAccepted(l *listenEndpoint) {
	for _, b := range all.backends {
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
