// SPDX-License-Identifier: Apache-2.0

package tcp

import (
	"container/list"
	"net/netip"

	"tagbus/internal/alarm"
	"tagbus/internal/invariants"
	"tagbus/netio"
	"tagbus/netio/internal/handover"
	"tagbus/netio/reactor"
)

// state is the way of an endpoint:
//
//	connecting ──► (securing) ──► established ──► reported ──► ended
//	      └────────────┴──────► refused         (callback)
//
// An accepted endpoint begins established, or securing with TLS.
type state int

const (
	connecting state = iota
	securing         // until both sides have let each other in
	established
	reported // by OnConnectionEstablished
	ended    // also refused
)

// edges is what the socket of an endpoint is registered for, once and for all.
// Level-triggered it would not be faster, and cost two system calls for each write
// that is blocked (adr/0015).
const edges = reactor.Readable | reactor.Writable | reactor.PeerClosed | reactor.EdgeTriggered

// endpoint implements netio.Endpoint, and owns a socket.
type endpoint struct {
	backend *backend
	handover.Endpoint
	queue  queue
	secure *secure // nil: plain

	// Only in a step.
	state        state
	fd           int
	registration *reactor.Registration
	receiver     receiver
	borrower     borrower        // of a receive buffer
	delivering   bool            // OnData runs
	retained     bool            // and what it was given is kept
	behind       bool            // has more to read, in its next turn
	blocked      bool            // the system has no room: wait for Writable
	peerClosed   bool            // a short read does not mean that all was read
	sendErr      error           // sending has failed; what was received comes first
	dial         *dial           // set for those of OpenEndpoint
	listener     *listenEndpoint // set for the accepted
	retry        alarm.Alarm     // of a send, when the system was out of memory
	place        *list.Element   // in backend.endpoints
}

// newEndpoint returns an endpoint for a socket that it will own. Errors: the
// system's (no memory for the buffers).
func newEndpoint(b *backend, fd int, remote netip.AddrPort, p *netio.Params) (*endpoint, error) {
	e := &endpoint{backend: b, fd: fd}
	if err := e.Init(&b.Backend, e, &e.queue.Queue, remote, p); err != nil {
		return nil, err
	}
	e.queue.memory, e.queue.socket = &b.memory, -1
	e.Capability.ZeroCopy, e.Capability.Immediate, e.Capability.Direct = true, true, true
	e.Capability.AnyMemory = true
	e.Capability.Retain = b.receive == nil && !p.Receive.Shared && p.Receive.Buffers == 0
	e.receiver.init(&b.memory, &b.scratch, p.Receive)
	if err := e.joinReceivePool(&p.Receive); err != nil {
		if b.SharedPool() == nil { // not RetirePool: only the loop knows which endpoints wait for shared buffers
			e.RetirePool()
		}
		return nil, err
	}
	return e, nil
}

// SendBuffer implements netio.Endpoint.
func (e *endpoint) SendBuffer(b *netio.Buffer) error {
	e.backend.CheckThread("Endpoint.SendBuffer")
	return e.FinishSend(e.queue.pushBuffer(b, e.Pool))
}

// Send implements netio.Endpoint.
func (e *endpoint) Send(key netio.Key, header []byte, data ...[]byte) error {
	e.backend.CheckThread("Endpoint.Send")
	size, err := handover.MessageBytes(header, data)
	if err != nil {
		return err
	}
	return e.send(key, size, header, data)
}

// send queues a message of that size, of header and data together.
func (e *endpoint) send(key netio.Key, size int, header []byte, data [][]byte) error {
	if size <= copyBytes && !invariants.Enabled { // a copy would hide that the data was changed
		return e.FinishSend(e.queue.pushCopy(key, size, header, data))
	}
	return e.FinishSend(e.queue.push(key, size, header, data))
}

// SendCopy implements netio.Endpoint.
func (e *endpoint) SendCopy(key netio.Key, header []byte, data ...[]byte) error {
	e.backend.CheckThread("Endpoint.SendCopy")
	size, err := handover.MessageBytes(header, data)
	if err != nil {
		return err
	}
	return e.FinishSend(e.queue.pushCopy(key, size, header, data))
}
