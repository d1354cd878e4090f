// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package rdma

import (
	"errors"
	"fmt"
	"sync/atomic"

	"tagbus/netio"
	"tagbus/netio/internal/spread"
	"tagbus/netio/rdma/internal/fi"
	"tagbus/netio/reactor"
)

// OpenerOn returns an opener of RDMA backends whose endpoints are shared out among
// the loops of workers, so that more than one processor serves them. All callbacks
// come on loop, one at a time, as with Opener. The loops need not run yet. A backend
// is closed before any of them is.
//
// Each loop opens a device for itself, with a registration of its own of each region that its
// endpoints send from. A connection is of one loop for all its life. Without connections
// the endpoints that are dialed are shared out, and those of a listen endpoint are of the first loop, as
// they have one address. The rest is as with tcp.OpenerOn: what is received crosses from loop to loop, and
// what a send takes may be free before OnSendCompleted says so.
//
// The errors of the opener: as with Opener; netio.ErrInvalidConfig for an Unsafe
// backend, for shared buffers, which are of one loop, and for the provider shm. Its backends refuse
// ReceiveParams.Shared for the same reason.
func OpenerOn(loop *reactor.EventLoop, workers []*reactor.EventLoop, cfg Config) netio.Opener {
	if len(workers) == 0 {
		return Opener(loop, cfg)
	}
	return func(h netio.Handler) (netio.Backend, error) {
		if err := errors.Join(spread.Validate(cfg.Config), cfg.validateSpread()); err != nil {
			return nil, errors.Join(cfg.Validate(), err)
		}
		cfg, at, info, err := prepare(cfg)
		if err != nil {
			return nil, err
		}
		defer info.Free()
		all := &siblings{spread: true}
		openers := make([]netio.Opener, len(workers))
		for i, w := range workers {
			openers[i] = func(h netio.Handler) (netio.Backend, error) { return open(w, cfg, at, h, info, all) }
		}
		b, err := spread.Open(loop, h, openers, ErrCallbackPanicked)
		if err != nil {
			return nil, err // not b: it would be a Backend that is not nil
		}
		return b, nil
	}
}

// validateSpread reports that several loops do not suit the provider.
func (c Config) validateSpread() error {
	if c.provider() == providerSHM {
		return fmt.Errorf("%w: Provider is %s, want another one with several loops: libfabric's crashes when one of two in a process closes", netio.ErrInvalidConfig, providerSHM)
	}
	return nil
}

// siblings are the backends that share what the first of them accepts: mostly one.
type siblings struct {
	spread   bool         // they are those of a spread.Backend
	backends []*backend   // fixed before anything is accepted
	accepted atomic.Int64 // endpoints of all, down to the last callback
}

// arrival is a request to connect that came on another loop.
type arrival struct {
	listener *listenEndpoint
	info     *fi.Info
	peer     greeting
}

// assign gives a request to the backend with the fewest endpoints, of several to l's
// own if it is among them.
func (all *siblings) assign(l *listenEndpoint, i *fi.Info, peer greeting) {
	all.accepted.Add(1)
	for {
		b := l.backend
		for _, other := range all.backends {
			if other.load.Load() < b.load.Load() && !other.arrivals.Closed() {
				b = other
			}
		}
		if b == l.backend {
			b.accept(l, i, peer)
			return
		}
		b.load.Add(1) // before its loop has it
		if b.arrivals.Put(&arrival{l, i, peer}, func() bool { return b.EventLoop.Post(b.arrived) }) {
			return
		}
		b.load.Add(-1)
	}
}

// arrived schedules the work on what has arrived.
func (b *backend) arrived() { b.Enqueue((*arriving)(b)) }

// arriving is the work of a backend on what other loops have accepted for it.
type arriving backend

// Work implements handover.Worker: it answers one request, so that others have their turn.
func (a *arriving) Work() {
	b := (*backend)(a)
	if all := b.arrivals.Waiting(); len(all) > 0 {
		b.answer(all[0], b.accept)
		b.arrived() // there may be more
	}
}

// answer answers a request with answer, unless its listen endpoint has ended meanwhile.
func (b *backend) answer(a *arrival, answer func(*listenEndpoint, *fi.Info, greeting)) {
	l := a.listener
	l.answering.RLock()
	defer l.answering.RUnlock()
	if b.arrivals.Remove(a) {
		b.load.Add(-1)
		answer(l, a.info, a.peer)
	}
}

// takeBack refuses the requests of l that are on their way to other loops. answering is held.
func (all *siblings) takeBack(l *listenEndpoint) {
	for _, b := range all.backends {
		for _, a := range b.arrivals.Waiting() {
			if a.listener == l && b.arrivals.Remove(a) {
				b.load.Add(-1)
				all.refuse(l, a.info, a.peer)
			}
		}
	}
}

// refuse refuses a request that counts as accepted.
func (all *siblings) refuse(l *listenEndpoint, i *fi.Info, _ greeting) {
	all.accepted.Add(-1)
	_ = l.pep.Reject(i) // fails only if the other side has gone
}

// declineArrivals refuses what was on its way when the backend ended, and what comes after it.
func (b *backend) declineArrivals() {
	b.arrivals.Close()
	for _, a := range b.arrivals.Waiting() {
		b.answer(a, b.siblings.refuse)
	}
}

// others has f run in a step of each other backend, if there are any and their loops run.
func (all *siblings) others(b *backend, f func(*backend)) {
	for _, other := range all.backends {
		if other != b {
			other.EventLoop.Post(func() {
				other.Turn.Lock()
				defer other.Turn.Unlock()
				if !other.Finished {
					f(other)
				}
			})
		}
	}
}

// closeAccepted closes what l has accepted, on all loops.
func (all *siblings) closeAccepted(l *listenEndpoint) {
	l.backend.closeAccepted(l)
	all.others(l.backend, func(b *backend) { b.closeAccepted(l) })
}

// closeAccepted closes what l has accepted and this backend serves.
func (b *backend) closeAccepted(l *listenEndpoint) {
	for at := b.endpoints.Front(); at != nil; at = at.Next() {
		if e := at.Value.(*endpoint); e.listener == l {
			_ = e.Close()
		}
	}
}
