// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shm

import (
	"container/list"
	"net/netip"

	"golang.org/x/sys/unix"

	"tagbus/internal/alarm"
	"tagbus/internal/invariants"
	"tagbus/netio"
	"tagbus/netio/internal/handover"
	"tagbus/netio/reactor"
)

// state is the way of an endpoint:
//
//	connecting ──► established ──► reported ──► (parting) ──► ended
//	greeted ──────────┘   └────────────┴────────────────────► (callback)
//
// One that is parting waits until its peer does not look at memory any more that it was
// lent.
type state int

const (
	connecting state = iota // of OpenEndpoint
	greeted                 // of a listen endpoint: the other side has yet to introduce itself
	established
	reported // by OnConnectionEstablished
	parting
	ended // also refused
)

// endpoint implements netio.Endpoint, and owns a socket and the memory of both sides.
type endpoint struct {
	backend *backend
	handover.Endpoint
	queue       queue
	credentials unix.Ucred // fixed before the first callback
	secure      *secure    // fixed before the first callback; nil: without TLS

	// Only in a step.
	state        state
	params       netio.Params
	fd           int
	registration *reactor.Registration
	own          []byte // the segment of this side; the queue writes it
	region       region
	peer         []byte // that of the other side
	peerRegion   []byte
	reader       reader
	receiving
	watched  bool            // in backend.watched
	hungUp   bool            // the other side has closed its socket, or ended
	cause    error           // of one that is parting
	limit    alarm.Alarm     // for what must happen in time
	retry    alarm.Alarm     // of a wake-up for which the system had no memory
	dial     *dial           // set for those of OpenEndpoint
	listener *listenEndpoint // set for the accepted
	place    *list.Element   // in backend.endpoints
	stranger *list.Element   // in backend.strangers
	greeting greeting        // of the other side
	waiting  *list.Element   // in commitment.waiting
}

// newEndpoint returns an endpoint for a socket that it will own. Errors: the
// system's (no memory for the buffers).
func newEndpoint(b *backend, fd int, remote netip.AddrPort, p *netio.Params) (*endpoint, error) {
	e := &endpoint{backend: b, fd: fd, params: *p}
	if err := e.Init(&b.Backend, e, &e.queue.Queue, remote, p); err != nil {
		return nil, err
	}
	e.Capability.ZeroCopy, e.Capability.Immediate, e.Capability.Direct = true, true, true
	e.Capability.AnyMemory, e.Capability.CopyOther, e.Capability.InPlace, e.Capability.Retain = true, true, true, true
	e.private = invariants.Enabled // so that what was delivered can be overwritten
	return e, nil
}

// PeerCredentials implements netio.LocalPeer.
func (e *endpoint) PeerCredentials() netio.Credentials {
	return netio.Credentials{PID: int(e.credentials.Pid), UID: int(e.credentials.Uid), GID: int(e.credentials.Gid)}
}

// SendBuffer implements netio.Endpoint.
func (e *endpoint) SendBuffer(b *netio.Buffer) error {
	e.backend.CheckThread("Endpoint.SendBuffer")
	return e.FinishSend(e.queue.pushBuffer(b, e.Pool, &e.backend.Counters))
}

// Send implements netio.Endpoint.
func (e *endpoint) Send(key netio.Key, header []byte, data ...[]byte) error {
	e.backend.CheckThread("Endpoint.Send")
	size, err := handover.MessageBytes(header, data)
	if err != nil {
		return err
	}
	m := message{header: header, pieces: data, size: size}
	return e.FinishSend(e.queue.push(key, &m, false, &e.backend.Counters))
}

// SendCopy implements netio.Endpoint.
func (e *endpoint) SendCopy(key netio.Key, header []byte, data ...[]byte) error {
	e.backend.CheckThread("Endpoint.SendCopy")
	size, err := handover.MessageBytes(header, data)
	if err != nil {
		return err
	}
	m := message{header: header, pieces: data, size: size}
	return e.FinishSend(e.queue.push(key, &m, true, &e.backend.Counters))
}

// directBytes is the largest message that SendDirect copies: a copy costs less than the
// completion then.
const directBytes = 16 << 10

// SendDirect implements netio.Endpoint. A message that is large, or for which there is no
// room now, goes the way of Send.
func (e *endpoint) SendDirect(key netio.Key, header []byte, data ...[]byte) (bool, error) {
	e.backend.CheckThread("Endpoint.SendDirect")
	size, err := handover.MessageBytes(header, data)
	if err != nil {
		return false, err
	}
	m := message{header: header, pieces: data, size: size}
	if size <= directBytes {
		if done, wake := e.queue.pushDirect(&m); done {
			e.backend.Counters.CountDirect(size)
			return true, e.FinishSend(wake, nil)
		}
	}
	return false, e.FinishSend(e.queue.push(key, &m, false, &e.backend.Counters))
}
