// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package rdma

import (
	"container/list"
	"net/netip"

	"tagbus/internal/alarm"
	"tagbus/netio"
	"tagbus/netio/internal/handover"
	"tagbus/netio/rdma/internal/fi"
)

// state is the way of an endpoint:
//
//	connecting ──► established ──► reported ──────────────► ended
//	      └──────────► refused         └────► parting ────────┘ (callback)
//
// Parting is for those without connection, see bond.go.
//
// An accepted endpoint is connecting until the other side knows that it was
// accepted.
type state int

const (
	connecting state = iota
	established
	reported // by OnConnectionEstablished
	parting
	ended // also refused
)

// endpoint implements netio.Endpoint.
type endpoint struct {
	backend *backend
	handover.Endpoint
	region []byte // that zero-copy sends come from; nil: there are none
	queue  queue

	// Only in a step.
	state      state
	params     netio.Params
	active     bool            // of OpenEndpoint
	listener   *listenEndpoint // set for the accepted
	peer       greeting        // of the other side, with its request
	resolution resolution
	connection
	bond // nil hub: it has a connection of libfabric's
	sending
	receiving
	broken   error         // why the connection has failed; what was received comes first
	peerGone bool          // the other side has ended the connection
	allRead  bool          // and cq has nothing more
	place    *list.Element // in backend.endpoints
}

// connection is what an endpoint has of libfabric.
type connection struct {
	device *device // nil: nothing was opened
	number uint64  // the context of its events; without connection: what the other side calls it
	ep     *fi.EP
	handle uint64 // of ep
	watch
	limit alarm.Alarm // for what must happen in time
}

// newEndpoint returns an endpoint that has nothing of libfabric yet. Errors: the
// system's (no memory for the buffers).
func newEndpoint(b *backend, remote netip.AddrPort, p *netio.Params) (*endpoint, error) {
	e := &endpoint{backend: b, params: *p}
	if err := e.Init(&b.Backend, e, &e.queue.Queue, remote, p); err != nil {
		return nil, err
	}
	e.Capability.ZeroCopy = len(p.ZeroCopy.Region) > 0
	e.Capability.Retain = !b.rdm && canRetain(b.ownReceives(p)-creditReceives)
	if e.Capability.ZeroCopy {
		e.region = p.ZeroCopy.Region
	}
	return e, nil
}

// add notes an endpoint, until its release.
func (b *backend) add(e *endpoint) {
	e.place = b.endpoints.PushBack(e)
	b.load.Add(1)
}

// SendBuffer implements netio.Endpoint.
func (e *endpoint) SendBuffer(b *netio.Buffer) error {
	e.backend.CheckThread("Endpoint.SendBuffer")
	return e.FinishSend(e.queue.pushBuffer(b, e.Pool))
}

// Send implements netio.Endpoint. Besides the errors of the contract it returns
// netio.ErrOutsideRegion. What lies in more than MaxPieces pieces is copied once.
func (e *endpoint) Send(key netio.Key, header []byte, data ...[]byte) error {
	e.backend.CheckThread("Endpoint.Send")
	if e.region == nil {
		return netio.ErrNotSupported
	}
	size, err := handover.MessageBytes(header, data)
	if err != nil {
		return err
	}
	return e.FinishSend(e.queue.push(key, size, header, data, e.region))
}

// SendDirect implements netio.Endpoint: all of libfabric is called on the loop, so this
// backend has no direct sending.
func (e *endpoint) SendDirect(netio.Key, []byte, ...[]byte) (bool, error) {
	e.backend.CheckThread("Endpoint.SendDirect")
	return false, netio.ErrNotSupported
}

// SendCopy implements netio.Endpoint: this backend has no immediate sending.
func (e *endpoint) SendCopy(netio.Key, []byte, ...[]byte) error {
	e.backend.CheckThread("Endpoint.SendCopy")
	return netio.ErrNotSupported
}
