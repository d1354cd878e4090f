package tcp

import (
	"container/list"
	"net/netip"
	"sync/atomic"

	"tagbus/netio"
	"tagbus/netio/internal/handover"
	"tagbus/netio/internal/invariants"
	"tagbus/netio/reactor"
)

// state is the way of an endpoint:
//
//	connecting ──► established ──► reported ──► ended
//	      └──────────► refused         (callback)
//
// An accepted endpoint begins established.
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

// edges is what the socket of an endpoint is registered for, once and for all.
const edges = reactor.Readable | reactor.Writable | reactor.PeerClosed | reactor.EdgeTriggered

// endpoint implements netio.Endpoint, and owns a socket.
type endpoint struct {
	backend      *backend
	remote       netip.AddrPort
	capabilities netio.Capabilities
	pool         *netio.Pool // nil: does not send buffered
	noBuffer     handover.Refusals
	queue        queue
	todo         atomic.Uint32
	hold         atomic.Uint32

	// Only in a step.
	state        state
	fd           int
	registration *reactor.Registration
	local        netip.AddrPort
	context      any
	receiver     receiver
	borrower     borrower        // of a receive buffer
	delivering   bool            // OnData runs
	retained     bool            // and what it was given is kept
	blocked      bool            // the system has no room: wait for Writable
	peerClosed   bool            // a short read does not mean that all was read
	sendErr      error           // sending has failed; what was received comes first
	fault        error           // why toEnd is set, nil for Close
	dial         *dial           // set for those of OpenEndpoint
	listener     *listenEndpoint // set for the accepted
	retry        handover.Alarm  // of a send, when the system was out of memory
	invited      bool            // to take a shared send buffer
	place        *list.Element   // in backend.endpoints
}

// newEndpoint returns an endpoint for a socket that it will own. Errors: the
// system's (no memory for the buffers).
func newEndpoint(b *backend, fd int, remote netip.AddrPort, p *netio.Params) (*endpoint, error) {
	e := &endpoint{
		backend: b,
		remote:  remote,
		fd:      fd,
		context: p.Context,
		capabilities: netio.Capabilities{
			Receive: true, Buffered: p.Buffered.Buffers > 0 || b.shared != nil, ZeroCopy: true, Immediate: true,
			Retain: b.receive == nil && !p.Receive.Shared && p.Receive.Buffers == 0,
		},
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
	e.receiver.init(&b.memory, &b.scratch, p.Receive)
	if err := e.joinReceivePool(&p.Receive); err != nil {
		if b.shared == nil { // not leavePool: who waits for shared buffers is known to the loop only
			e.leavePool()
		}
		return nil, err
	}
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

// Send implements netio.Endpoint.
func (e *endpoint) Send(key netio.Key, header []byte, data ...[]byte) error {
	if invariants.Enabled {
		e.backend.CheckThread("Endpoint.Send")
	}
	size, err := frameBytes(header, data)
	if err != nil {
		return err
	}
	push := (*queue).push
	if size <= copyBytes && !invariants.Enabled { // a copy would hide that the data was changed
		push = (*queue).pushCopy
	}
	tell, err := push(&e.queue, key, size, header, data)
	if tell {
		e.leave(toFlush)
	}
	return err
}

// SendCopy implements netio.Endpoint.
func (e *endpoint) SendCopy(key netio.Key, header []byte, data ...[]byte) error {
	if invariants.Enabled {
		e.backend.CheckThread("Endpoint.SendCopy")
	}
	size, err := frameBytes(header, data)
	if err != nil {
		return err
	}
	tell, err := e.queue.pushCopy(key, size, header, data)
	if tell {
		e.leave(toFlush)
	}
	return err
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
