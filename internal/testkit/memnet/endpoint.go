// SPDX-License-Identifier: Apache-2.0

package memnet

import (
	"crypto/x509"
	"net/netip"
	"sync/atomic"
	"time"

	"tagbus/internal/invariants"
	"tagbus/netio"
)

// endpoint is one side of a connection on a Network: the methods that its user
// calls. What happens on the loop is in endpoint_turn.go. All fields below mu
// are guarded by the network's mutex.
type endpoint struct {
	b             *backend
	peer          *endpoint // the other side
	ln            *listener // that accepted it, nil for an active endpoint
	params        netio.Params
	local, remote netip.AddrPort
	context       any // loop only

	// Loop only.
	delivering []byte    // OnData runs with it
	retained   *retained // what it is kept by, if it is

	// mu stands for b.net.mu:
	buffers      *sendBuffers    // nil without buffers
	receiving    *receiveBuffers // where those for in come from, nil: from anywhere
	holds        bool            // one of receiving
	sends        []*send         // accepted and not completed, in order
	mostSends    int             // since the last call of Room
	out          link            // to the peer
	in           []byte          // the message being received, up to its last byte that came
	inBytes      int             // its whole size, 0 between two messages
	progress     time.Time       // when its last piece came, or the pause ended
	received     uint64          // messages
	refusedSends int             // ErrNoResources that OnSendReady has not answered
	paused       bool
	announced    bool  // OnConnectionEstablished was called
	closed       bool  // by its user, its listen endpoint or its backend
	reset        error // the connection broke; becomes cause when that can arrive
	cause        error // why it ends, if not by closed
	ended        bool  // OnConnectionClosed was called
	taskMark     taskMark
}

func newEndpoint(b *backend, ln *listener, local, remote netip.AddrPort, p netio.Params) (*endpoint, error) {
	e := &endpoint{b: b, ln: ln, params: p, local: local, remote: remote, context: p.Context}
	e.out = link{net: b.net, from: local, to: remote}
	switch {
	case b.sharedReceive != nil:
		e.receiving = b.sharedReceive
	case p.Receive.Shared:
		e.receiving = ln.sharedReceive
	default:
		e.receiving = newReceiveBuffers(p.Receive.Buffers)
	}
	if b.sharedSend != nil {
		e.buffers = b.sharedSend
	} else if p.Buffered.Buffers > 0 {
		var err error
		if e.buffers, err = newSendBuffers(b, false, p.Buffered.Buffers, p.Buffered.BufferBytes); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// Local implements netio.Endpoint.
func (e *endpoint) Local() netip.AddrPort {
	e.b.checkThread("Local")
	return e.local
}

// Remote implements netio.Endpoint.
func (e *endpoint) Remote() netip.AddrPort {
	e.b.checkThread("Remote")
	return e.remote
}

// Backend implements netio.Endpoint.
func (e *endpoint) Backend() string {
	e.b.checkThread("Backend")
	return e.b.cfg.Name
}

// Capabilities implements netio.Endpoint.
func (e *endpoint) Capabilities() netio.Capabilities {
	e.b.checkThread("Capabilities")
	return netio.Capabilities{
		Receive:   true,
		Buffered:  e.buffers != nil,
		ZeroCopy:  true,
		Immediate: !e.b.cfg.NoImmediate,
		Direct:    !e.b.cfg.NoDirect,
		Retain:    e.receiving == nil,
		AnyMemory: !e.b.cfg.RegionOnly,
	}
}

// Retain implements netio.Endpoint.
func (e *endpoint) Retain() (netio.Retained, error) {
	e.b.checkThread("Retain")
	switch {
	case e.receiving != nil:
		return nil, netio.ErrNotSupported
	case e.delivering == nil:
		return nil, netio.ErrNoMessage
	case e.retained == nil:
		e.retained = &retained{data: e.delivering}
		e.retained.users.Add(1) // until OnData returns
	}
	e.retained.users.Add(1)
	return e.retained, nil
}

// retained implements netio.Retained: each message has memory of its own.
type retained struct {
	data  []byte
	users atomic.Int32
}

// Bytes implements netio.Retained.
func (r *retained) Bytes() int { return cap(r.data) }

// Release implements netio.Retained.
func (r *retained) Release() {
	switch left := r.users.Add(-1); {
	case left == 0:
		invariants.Poison(r.data)
	case left < 0:
		panic("memnet: retained memory was released twice")
	}
}

// Context implements netio.Endpoint.
func (e *endpoint) Context() any {
	e.b.checkThread("Context")
	return e.context
}

// SetContext implements netio.Endpoint.
func (e *endpoint) SetContext(v any) {
	e.b.checkThread("SetContext")
	e.context = v
}

// Buffer implements netio.Endpoint.
func (e *endpoint) Buffer() (*netio.Buffer, error) {
	e.b.checkThread("Buffer")
	e.b.net.mu.Lock()
	defer e.b.net.mu.Unlock()
	switch {
	case e.isClosed():
		return nil, netio.ErrClosed
	case e.buffers == nil:
		return nil, netio.ErrNotSupported
	}
	return e.buffers.get(e)
}

// Room implements netio.Endpoint.
func (e *endpoint) Room() (r netio.Room) {
	e.b.checkThread("Room")
	e.b.net.mu.Lock()
	defer e.b.net.mu.Unlock()
	if e.buffers != nil {
		r.Buffers, r.MinBuffers = e.buffers.pool.Free(), e.buffers.pool.MinFree()
	}
	limit := e.params.ZeroCopy.Outstanding
	r.Sends, r.MinSends = max(0, limit-len(e.sends)), max(0, limit-max(e.mostSends, len(e.sends)))
	e.mostSends = len(e.sends)
	return r
}

// PauseReceive implements netio.Endpoint. It takes effect at once.
func (e *endpoint) PauseReceive() {
	e.b.checkThread("PauseReceive")
	e.b.net.mu.Lock()
	defer e.b.net.mu.Unlock()
	e.paused = true
	e.receiving.leave(e)
}

// ResumeReceive implements netio.Endpoint.
func (e *endpoint) ResumeReceive() {
	e.b.checkThread("ResumeReceive")
	e.b.net.mu.Lock()
	defer e.b.net.mu.Unlock()
	e.paused = false
	e.progress = time.Now()
	e.b.schedule(e)
}

// Close implements netio.Endpoint. What is in the window still reaches the
// peer, and then the end of the connection.
func (e *endpoint) Close() error {
	e.b.checkThread("Close")
	e.b.net.mu.Lock()
	defer e.b.net.mu.Unlock()
	if e.isClosed() {
		return netio.ErrClosed
	}
	e.closed = true
	e.b.schedule(e)
	return nil
}

// PeerCertificates implements netio.Authenticated.
func (e *endpoint) PeerCertificates() []*x509.Certificate { return e.peer.b.cfg.Certificates }

// isClosed needs the network's mutex.
func (e *endpoint) isClosed() bool { return e.closed || e.ended }
