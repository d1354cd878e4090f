// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package rdma

import (
	"fmt"
	"time"

	"tagbus/netio"
	"tagbus/netio/rdma/internal/fi"
)

const (
	// maxDepth is how many sends of an endpoint the device is given at once.
	maxDepth = 256

	// creditSends is the room for empty messages beside them.
	creditSends = 4

	// acceptTimeout is how long the other side of an accepted connection may
	// take to finish connecting.
	acceptTimeout = 10 * time.Second
)

// sizes are how many sends and receives a device is to take of an endpoint.
type sizes struct{ tx, rx int }

// sizesOf returns what an endpoint with params p needs.
func (b *backend) sizesOf(p *netio.Params) sizes {
	s := sizes{tx: min(p.ZeroCopy.Outstanding+p.Buffered.Buffers, maxDepth) + creditSends, rx: b.ownReceives(p)}
	if s.rx == 0 {
		s.rx = 1 // what it says of the shared ones does not matter
	}
	return s
}

// ownReceives returns how many receive buffers an endpoint has of its own.
func (b *backend) ownReceives(p *netio.Params) int {
	switch {
	case b.config.SharedReceive.Enabled() || p.Receive.Shared:
		return 0
	case p.Receive.Buffers == 0:
		return b.config.ReceiveBuffers + creditReceives
	default:
		return p.Receive.Buffers + creditReceives
	}
}

// open makes the endpoint of libfabric and posts its receives, so that connect
// or accept may follow. shared: the buffers to receive into, nil: its own. What
// was made is closed by closeConnection, also after an error.
func (e *endpoint) open(d *device, i *fi.Info, shared *receivePool) error {
	b := e.backend
	b.crossing.moved += connectBytes
	e.device = d
	d.endpoints++
	s := b.sizesOf(&e.params)
	if err := e.openReceive(shared, s); err != nil {
		return err
	}
	if err := e.openSend(); err != nil {
		return err
	}
	var err error
	if e.cq, err = d.domain.OpenCQ(s.tx + s.rx + e.receive.count); err != nil {
		return err
	}
	e.drain = e.cq.Drain()
	b.contexts++
	e.number = b.contexts
	b.byContext[e.number] = e
	limits := i.Limits()
	e.inject = limits.InjectBytes
	e.depth = uint64(max(1, min(s.tx, limits.TxSize)-creditSends))
	if err := e.openEP(i); err != nil {
		return err
	}
	if err := e.ep.Enable(); err != nil {
		return err
	}
	if e.receive.srx == nil {
		for slot := range e.receive.count {
			e.postReceive(uint32(slot))
		}
	}
	b.post()
	if n := len(e.unposted); n > 0 {
		return fmt.Errorf("%w: the device takes %d receive buffers, want %d", netio.ErrNoResources, e.receive.count-n, e.receive.count)
	}
	return nil
}

// openEP makes the endpoint of libfabric, and binds it to its queues. Meanwhile the queue is not read in which the
// request was: with verbs events of the endpoint come there until it is bound.
func (e *endpoint) openEP(i *fi.Info) (err error) {
	if e.listener != nil {
		e.listener.events.reading.Lock()
		defer e.listener.events.reading.Unlock()
	}
	if e.ep, err = e.device.domain.OpenEP(i, e.number, e.receive.srx != nil); err != nil {
		return err
	}
	e.handle = e.ep.Handle()
	return e.ep.Bind(e.device.events.eq, e.cq, e.receive.srx)
}

// openReceive finds or makes the buffers to receive into.
func (e *endpoint) openReceive(shared *receivePool, s sizes) (err error) {
	if e.receive = shared; shared != nil {
		shared.join(e)
	} else if e.receive, err = newReceivePool(e.device, s.rx, e.params.Receive.MaxMessageBytes); err != nil {
		return err
	}
	if e.Capability.Retain {
		e.receive.loan.buffers = make([]lent, e.receive.count)
	}
	e.window = e.receive.window()
	e.ownQuantum = quantumOf(e.window)
	return nil
}

// openSend registers what is sent from.
func (e *endpoint) openSend() (err error) {
	d := e.device
	switch {
	case e.backend.SharedPool() != nil:
		if e.bufferDesc, err = d.sendDesc(); err != nil {
			return err
		}
	case e.Pool != nil:
		if e.bufferMR, err = d.registerMemory(e.Pool.Region()); err != nil {
			return err
		}
		e.bufferDesc = e.bufferMR.Desc()
	}
	if e.region != nil {
		if e.regionDesc, err = d.register(e.region); err != nil {
			return err
		}
		e.registered = true
	} else if e.hub == nil {
		return nil
	}
	if e.headers, err = netio.AllocRegion(e.queue.Places * e.queue.headerStride()); err != nil {
		return err
	}
	e.headerMR, err = d.registerMemory(e.headers)
	return err
}

// greeting returns what the other side must know.
func (e *endpoint) greeting() greeting {
	p := &e.params.Receive
	return greeting{uint32(p.MaxMessageBytes), uint32(p.FirstMessageBytes), uint32(e.window), uint32(e.ownQuantum)}
}

// establish begins the life of a connection. peer: the greeting of the other side.
func (e *endpoint) establish(peer greeting) error {
	b := e.backend
	var err error
	if e.hub != nil {
		if e.LocalAddr = e.hub.addr; e.active {
			e.LocalAddr = connectionAddr(e.LocalAddr, e.number&generation)
		}
	} else if e.LocalAddr, err = e.ep.Name(); err != nil {
		return err
	} else if err = b.watchQueue(e); err != nil {
		return err
	}
	b.Alarms.Cancel(&e.limit)
	e.credits, e.quantum = int(peer.window), int(peer.quantum)
	e.queue.open(peer, e.device.limits.MessageBytes-uint64(e.queue.prefix), e.headers)
	e.state = established
	e.Schedule(toReport)
	return nil
}

// closeConnection closes all that open has made, in the order that libfabric
// wants. shutdown: it also ends the connection for the other side.
func (e *endpoint) closeConnection(shutdown bool) {
	if e.device == nil {
		return
	}
	if e.hub != nil {
		e.leaveHub()
		return
	}
	b := e.backend
	b.post() // nothing of it may be posted any more
	b.unwatch(&e.watch)
	delete(b.byContext, e.number)
	if e.ep != nil {
		if shutdown {
			_ = e.ep.Shutdown() // the other side finds out anyway
		}
		e.check("close an endpoint", e.ep.Close())
	}
	if e.cq != nil {
		e.drainRest()
	}
	if r := e.receive; r != nil && r.srx == nil {
		e.check("close receive buffers", r.close())
	} else if r != nil {
		r.leave(e)
	}
	e.closeSend()
	if e.cq != nil {
		e.check("close a completion queue", e.cq.Close())
		e.cq = nil
	}
	e.held = nil
}

// closeSend ends the registrations of openSend.
func (e *endpoint) closeSend() {
	if e.bufferMR != nil {
		e.check("close a registration", e.bufferMR.Close())
	}
	if e.headerMR != nil {
		e.check("close a registration", e.headerMR.Close())
	}
	if e.registered {
		e.device.deregister(e.region)
	}
	if e.headers != nil {
		_ = netio.FreeRegion(e.headers) // fails only for a region that is none
		e.headers = nil
	}
}

// drainRest finds the shared buffers among what is left in the queue.
func (e *endpoint) drainRest() {
	ring := e.backend.crossing.rest
	ring.Drains[0] = e.drain
	for n := ring.Turn(0, 1, len(ring.Completed)); n > 0; n = ring.Turn(0, 1, len(ring.Completed)) {
		for i := range n {
			done := &ring.Completed[i]
			if kindOf(done.Context) == kindReceive && e.receive.srx != nil {
				e.receive.post(uint32(done.Context))
			}
		}
	}
}

// check logs an error that has no remedy.
func (e *endpoint) check(what string, err error) {
	if err != nil {
		e.backend.warn("cannot "+what, "remote", e.Remote(), "err", err)
	}
}
