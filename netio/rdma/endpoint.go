//go:build libfabric && cgo

package rdma

import (
	"container/list"
	"net/netip"
	"sync/atomic"

	"tagbus/netio"
	"tagbus/netio/internal/handover"
	"tagbus/netio/internal/invariants"
	"tagbus/netio/rdma/internal/fi"
	"tagbus/netio/reactor"
)

// state is the way of an endpoint:
//
//	connecting ──► established ──► reported ──► ended
//	      └──────────► refused         (callback)
//
// An accepted endpoint is connecting until the other side knows that it was
// accepted.
type state int

const (
	connecting state = iota
	established
	reported // by OnConnectionEstablished
	ended    // also refused
)

// Reasons not to call the handler with data, bits of endpoint.hold.
const (
	paused uint32 = 1 << iota
	closed
)

// endpoint implements netio.Endpoint.
type endpoint struct {
	backend      *backend
	remote       netip.AddrPort
	capabilities netio.Capabilities
	region       []byte      // that zero-copy sends come from; nil: there are none
	pool         *netio.Pool // nil: does not send buffered
	noBuffer     handover.Refusals
	queue        queue
	todo         atomic.Uint32
	hold         atomic.Uint32

	// Only in a step.
	state    state
	params   netio.Params
	local    netip.AddrPort
	context  any
	active   bool            // of OpenEndpoint
	listener *listenEndpoint // set for the accepted
	peer     greeting        // of the other side, with its request
	connection
	sending
	receiving
	fault    error         // why toEnd is set, nil for Close
	broken   error         // why the connection has failed; what was received comes first
	peerGone bool          // the other side has ended the connection
	allRead  bool          // and cq has nothing more
	invited  bool          // to take a shared send buffer
	place    *list.Element // in backend.endpoints
}

// connection is what an endpoint has of libfabric.
type connection struct {
	device       *device // nil: nothing was opened
	number       uint64  // the context of its events
	ep           *fi.EP
	handle       uint64 // of ep
	cq           *fi.CQ
	drain        fi.Drain
	registration *reactor.Registration // of cq
	ready        bool                  // cq is to be read
	futile       int                   // how often it was in vain since it was not
	resting      bool                  // the descriptor of cq is not watched for a while
	rest, limit  handover.Alarm        // for that; for what must happen in time
}

// newEndpoint returns an endpoint that has nothing of libfabric yet. Errors: the
// system's (no memory for the buffers).
func newEndpoint(b *backend, remote netip.AddrPort, p *netio.Params) (*endpoint, error) {
	e := &endpoint{
		backend: b,
		remote:  remote,
		params:  *p,
		context: p.Context,
		capabilities: netio.Capabilities{
			Receive: true, Buffered: p.Buffered.Buffers > 0 || b.shared != nil, ZeroCopy: len(p.ZeroCopy.Region) > 0,
			Retain: canRetain(b.ownReceives(p) - creditReceives),
		},
	}
	if e.capabilities.ZeroCopy {
		e.region = p.ZeroCopy.Region
	}
	if b.shared != nil {
		e.pool = b.shared.pool
	} else if p.Buffered.Buffers > 0 {
		pool, err := netio.NewPool(p.Buffered.Buffers, p.Buffered.BufferBytes)
		if err != nil {
			return nil, err
		}
		pool.OnFree(func() { e.leave(toOffer) })
		e.pool = pool
	}
	e.queue.init(b, p)
	return e, nil
}

// Local implements netio.Endpoint.
func (e *endpoint) Local() netip.AddrPort { return e.local }

// Remote implements netio.Endpoint.
func (e *endpoint) Remote() netip.AddrPort { return e.remote }

// Capabilities implements netio.Endpoint.
func (e *endpoint) Capabilities() netio.Capabilities { return e.capabilities }

// Context implements netio.Endpoint.
func (e *endpoint) Context() any { return e.context }

// SetContext implements netio.Endpoint.
func (e *endpoint) SetContext(v any) { e.context = v }

// Buffer implements netio.Endpoint.
func (e *endpoint) Buffer() (*netio.Buffer, error) {
	if invariants.Enabled {
		e.backend.CheckThread("Endpoint.Buffer")
	}
	if e.pool == nil {
		return nil, netio.ErrNotSupported
	}
	if e.hold.Load()&closed != 0 {
		return nil, netio.ErrClosed
	}
	if b := e.takeBuffer(); b != nil {
		return b, nil
	}
	e.noBuffer.Add()
	if b := e.takeBuffer(); b != nil {
		if e.noBuffer.Withdraw() {
			return b, nil
		}
		b.Release()
	}
	if e.hold.Load()&closed != 0 {
		return nil, netio.ErrClosed
	}
	e.leave(toOffer)
	return nil, netio.ErrNoResources
}

// takeBuffer returns a send buffer, or nil if there is none for this endpoint.
func (e *endpoint) takeBuffer() *netio.Buffer {
	if s := e.backend.shared; s != nil {
		return s.take()
	}
	return e.pool.Get()
}

// SendBuffer implements netio.Endpoint.
func (e *endpoint) SendBuffer(b *netio.Buffer) error {
	if invariants.Enabled {
		e.backend.CheckThread("Endpoint.SendBuffer")
	}
	tell, err := e.queue.pushBuffer(b, e.pool)
	if tell {
		e.leave(toFlush)
	}
	return err
}

// Send implements netio.Endpoint. Besides the errors of the contract it returns
// ErrOutsideRegion. What lies in more than MaxPieces pieces is copied once.
func (e *endpoint) Send(key netio.Key, header []byte, data ...[]byte) error {
	if invariants.Enabled {
		e.backend.CheckThread("Endpoint.Send")
	}
	if e.region == nil {
		return netio.ErrNotSupported
	}
	size, err := messageBytes(header, data)
	if err != nil {
		return err
	}
	tell, err := e.queue.push(key, size, header, data, e.region)
	if tell {
		e.leave(toFlush)
	}
	return err
}

// SendCopy implements netio.Endpoint: this backend has no immediate sending.
func (e *endpoint) SendCopy(netio.Key, []byte, ...[]byte) error {
	if invariants.Enabled {
		e.backend.CheckThread("Endpoint.SendCopy")
	}
	return netio.ErrNotSupported
}

// Room implements netio.Endpoint.
func (e *endpoint) Room() (r netio.Room) {
	if invariants.Enabled {
		e.backend.CheckThread("Endpoint.Room")
	}
	if e.pool != nil {
		r.Buffers, r.MinBuffers = e.pool.Free(), e.pool.MinFree()
	}
	r.Sends, r.MinSends = e.queue.room()
	return r
}

// PauseReceive implements netio.Endpoint.
func (e *endpoint) PauseReceive() {
	if invariants.Enabled {
		e.backend.CheckThread("Endpoint.PauseReceive")
	}
	e.hold.Or(paused)
}

// ResumeReceive implements netio.Endpoint.
func (e *endpoint) ResumeReceive() {
	if invariants.Enabled {
		e.backend.CheckThread("Endpoint.ResumeReceive")
	}
	if e.hold.And(^paused)&paused != 0 {
		e.leave(toRead)
	}
}

// Close implements netio.Endpoint.
func (e *endpoint) Close() error {
	if invariants.Enabled {
		e.backend.CheckThread("Endpoint.Close")
	}
	if e.hold.Or(closed)&closed != 0 {
		return netio.ErrClosed
	}
	e.queue.close()
	e.leave(toEnd)
	return nil
}

// leave leaves work to the end of the loop's turn. Threads: any.
func (e *endpoint) leave(work uint32) {
	if e.todo.Or(work) == 0 {
		e.backend.Enqueue(e)
	}
}

func (e *endpoint) opError(op string, err error) error {
	return &netio.OpError{Op: op, Addr: e.remote, Err: err}
}
