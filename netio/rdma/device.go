// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package rdma

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"

	"tagbus/netio/rdma/internal/fi"
)

// devices are those that a backend uses, by fabric and domain.
type devices struct {
	backend *backend

	mu       sync.Mutex // held to find and open one, which Listen does on any goroutine
	all      []*device
	stale    []*device           // not for new endpoints; they close when they are not used any more
	renewals map[string]*renewal // by name
}

func (d *devices) init(b *backend) {
	d.backend = b
	d.renewals = make(map[string]*renewal)
}

// device is a domain of libfabric, a port of a network card for instance, with
// the queue of the events of its connections.
//
// Its fields are used in steps only, except those that are set when it is made.
type device struct {
	backend *backend
	name    string
	limits  fi.Limits
	iwarp   bool
	fabric  *fi.Fabric
	domain  *fi.Domain
	events  eventSource

	receive *receivePool // that the endpoints share, nil: they do not
	sendMR  *fi.MR       // of the send buffers that all share, nil: not yet
	regions map[region]*registered

	gatherer gatherer

	listeners int // that hold fabric; under devices.mu
	endpoints int // opened here that have not ended
	stale     bool
	renewal   *renewal // nil: of a hub
}

// region identifies memory of a user.
type region struct {
	base uintptr
	size int
}

// registered is a region with the number of endpoints that send from it.
type registered struct {
	*fi.MR
	users int
}

func deviceName(i *fi.Info) string { return i.Fabric() + " " + i.Domain() }

// get returns the device for i, which it opens if it is new. addr and listen are
// those that i was got for. Errors: *fi.Error. Threads: in a step.
func (d *devices) get(i *fi.Info, addr netip.AddrPort, listen bool) (*device, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.find(i, addr, listen)
}

// hold is get for one that listens, until release. Threads: any.
func (d *devices) hold(i *fi.Info, addr netip.AddrPort) (*device, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, err := d.find(i, addr, true)
	if err != nil {
		return nil, err
	}
	n.listeners++
	return n, nil
}

// release undoes hold. tidy may follow. Threads: any.
func (d *devices) release(n *device) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n.listeners--
}

// find is get. mu is held.
func (d *devices) find(i *fi.Info, addr netip.AddrPort, listen bool) (*device, error) {
	name := deviceName(i)
	for _, known := range d.all {
		if known.name == name {
			return known, nil
		}
	}
	n := &device{
		backend: d.backend, name: name, limits: i.Limits(), iwarp: i.IsIWARP(),
		regions: make(map[region]*registered),
	}
	if n.renewal = d.renewals[name]; n.renewal == nil {
		n.renewal = &renewal{}
		d.renewals[name] = n.renewal
	}
	n.gatherer.device = n
	largest := d.backend.largestInfo(addr, listen)
	if largest != nil {
		defer largest.Free()
		i = largest
	}
	if err := n.open(i); err != nil {
		n.close()
		return nil, err
	}
	d.all = append(d.all, n)
	d.backend.Enqueue(&n.events)
	return n, nil
}

// largestInfo returns what the endpoints of a device may be at most: a domain of
// verbs refuses endpoints that are larger than the one that it was opened for.
// nil: nothing more can be had.
func (b *backend) largestInfo(addr netip.AddrPort, listen bool) *fi.Info {
	for rx := maxReceiveBuffers + creditReceives; rx > creditReceives; rx /= 2 {
		i, err := b.getInfo(addr, listen, sizes{tx: maxDepth + creditSends, rx: rx})
		if err == nil {
			return i
		}
	}
	return nil
}

func (n *device) open(i *fi.Info) (err error) {
	if n.fabric, err = fi.OpenFabric(i); err != nil {
		return err
	}
	if n.events.eq, err = n.fabric.OpenEQ(); err != nil {
		return err
	}
	n.events.backend, n.events.handle = n.backend, n.backend.onEvent
	n.domain, err = n.fabric.OpenDomain(i)
	return err
}

// openDomain opens a device without a queue for events of connections.
func (n *device) openDomain(i *fi.Info) (err error) {
	if n.fabric, err = fi.OpenFabric(i); err != nil {
		return err
	}
	n.domain, err = n.fabric.OpenDomain(i)
	return err
}

// close closes the device, whose endpoints and listen endpoints are closed.
func (n *device) close() {
	n.closeDomain()
	n.report(n.events.close())
	if n.fabric != nil {
		n.report(n.fabric.Close())
	}
}

// closeDomain closes what the endpoints used, which are closed.
func (n *device) closeDomain() {
	if n.receive != nil {
		n.report(n.receive.close())
		n.receive = nil
	}
	for key, r := range n.regions {
		n.report(r.Close())
		delete(n.regions, key)
	}
	if n.sendMR != nil {
		n.report(n.sendMR.Close())
		n.sendMR = nil
	}
	n.report(n.gatherer.close())
	if n.domain != nil {
		n.report(n.domain.Close())
		n.domain = nil
	}
}

// report logs errors that nothing can be done about.
func (n *device) report(errs ...error) {
	for _, err := range errs {
		if err != nil {
			n.backend.warn("cannot close a device", "device", n.name, "err", err)
		}
	}
}

// sendDesc returns the descriptor of the send buffers that all endpoints share.
func (n *device) sendDesc() (uint64, error) {
	if n.sendMR == nil {
		var err error
		if n.sendMR, err = n.registerMemory(n.backend.SharedPool().Region()); err != nil {
			return 0, err
		}
	}
	return n.sendMR.Desc(), nil
}

// registerMemory registers mem, and says what to do if that fails for want of
// memory that may be locked.
func (n *device) registerMemory(mem []byte) (*fi.MR, error) {
	mr, err := n.domain.Register(mem)
	switch {
	case errors.Is(err, fi.ENOMEM):
		return nil, fmt.Errorf("register %d bytes of memory: %w: raise RLIMIT_MEMLOCK (ulimit -l), or ask for fewer or smaller buffers", len(mem), err)
	case err != nil:
		return nil, fmt.Errorf("register %d bytes of memory: %w", len(mem), err)
	}
	return mr, nil
}

// register registers the region of a user, once for all endpoints that send from it.
func (n *device) register(mem []byte) (uint64, error) {
	key := regionOf(mem)
	r := n.regions[key]
	if r == nil {
		mr, err := n.registerMemory(mem)
		if err != nil {
			return 0, err
		}
		r = &registered{MR: mr}
		n.regions[key] = r
	}
	r.users++
	return r.Desc(), nil
}

// deregister undoes register.
func (n *device) deregister(mem []byte) {
	key := regionOf(mem)
	r := n.regions[key]
	if r.users--; r.users > 0 {
		return
	}
	delete(n.regions, key)
	if err := r.Close(); err != nil {
		n.backend.warn("cannot close a registration", "device", n.name, "err", err)
	}
}

func regionOf(mem []byte) region {
	return region{address(mem), len(mem)}
}

func (d *devices) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, n := range slices.Concat(d.all, d.stale) {
		n.close()
	}
	d.all, d.stale = nil, nil
}
