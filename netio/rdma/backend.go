// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package rdma

import (
	"container/list"
	"net/netip"
	"sync"
	"sync/atomic"

	"tagbus/netio"
	"tagbus/netio/internal/handover"
	"tagbus/netio/internal/spread"
	"tagbus/netio/rdma/internal/fi"
	"tagbus/netio/reactor"
)

const (
	// ringOps and so on are what crosses to C at once.
	ringOps    = 256
	ringDrains = 64
	ringDone   = 1024
	drainEach  = 64 // completions of one queue
)

// backend implements netio.Backend. Its steps are the end of the loop's turn
// (PrepareWait), and times.
type backend struct {
	handover.Backend
	config  Config
	place   place
	devices devices

	siblings *siblings    // of those that share what one accepts
	load     atomic.Int64 // endpoints, and requests on their way here
	arrivals spread.Arrivals[*arrival]

	resolving sync.WaitGroup
	resolvers chan struct{} // as many as resolve

	// Only in a step.
	crossing  crossing
	endpoints list.List            // of *endpoint, the oldest first
	byContext map[uint64]*endpoint // those that libfabric knows
	contexts  uint64               // given out
	listeners []*listenEndpoint
	refusals  refusals
	hubs      []*hub

	rdm     bool // endpoints have no connections of libfabric's
	sockets bool // and their addresses are those of the internet
}

func open(loop *reactor.EventLoop, cfg Config, at place, h netio.Handler, i *fi.Info, all *siblings) (netio.Backend, error) {
	b := &backend{
		place:     at,
		siblings:  all,
		rdm:       i.EPType() == fi.EPRDM,
		sockets:   i.HasSocketAddrs(),
		config:    cfg,
		byContext: make(map[uint64]*endpoint),
		resolvers: make(chan struct{}, maxResolving),
	}
	b.devices.init(b)
	b.crossing.init()
	if err := b.Open(loop, h, cfg.Config, b); err != nil {
		b.crossing.free()
		return nil, err
	}
	all.backends = append(all.backends, b)
	return b, nil
}

// Name implements netio.Backend and reactor.Named.
func (b *backend) Name() string { return b.config.name() }

// Resume implements handover.Transport.
func (b *backend) Resume() { b.serve() }

// End implements handover.Transport.
func (b *backend) End() {
	b.declineArrivals()
	for len(b.listeners) > 0 {
		b.listeners[0].stop()
	}
	for at := b.endpoints.Front(); at != nil; {
		e := at.Value.(*endpoint)
		at = at.Next()
		e.end(nil)
	}
	b.endBonds()
}

// Free implements handover.Transport.
func (b *backend) Free() {
	b.resolving.Wait() // 2 s at most: what waits for its turn is useless
	b.devices.close()
	b.crossing.free()
}

// warn logs what has no callback.
func (b *backend) warn(text string, args ...any) { b.config.Logger.Warn("rdma: "+text, args...) }

// getInfo asks libfabric for endpoints. Errors: ErrNoDevice, wrapped, and
// *fi.Error. Threads: any.
func (b *backend) getInfo(addr netip.AddrPort, listen bool, s sizes) (*fi.Info, error) {
	hints := fi.Hints{Provider: b.config.Provider, Domain: b.place.domain, Addr: addr, Listen: listen, TxSize: s.tx, RxSize: s.rx}
	if !listen {
		var err error
		if hints.From, err = b.place.from(addr.Addr()); err != nil {
			return nil, err
		}
	}
	info, err := fi.GetInfo(hints)
	if err != nil {
		return nil, b.noDevice(err, addr)
	}
	return info, nil
}
