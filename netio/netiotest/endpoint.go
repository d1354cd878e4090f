package netiotest

import (
	"net/netip"

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

	// mu stands for b.net.mu:
	pool           *netio.Pool // nil without buffers
	sends          []*send     // accepted and not completed, in order
	mostSends      int         // since the last call of Room
	out            link        // to the peer
	in             []byte      // the message being received, up to its last byte that came
	inBytes        int         // its whole size, 0 between two messages
	received       uint64      // messages
	refusedBuffers int         // ErrNoResources that OnSendReady has not answered
	refusedSends   int
	paused         bool
	announced      bool  // OnConnectionEstablished was called
	closed         bool  // by its user, its listen endpoint or its backend
	reset          error // the connection broke; becomes cause when that can arrive
	cause          error // why it ends, if not by closed
	ended          bool  // OnConnectionClosed was called
	taskMark       taskMark
}

func newEndpoint(b *backend, local, remote netip.AddrPort, p netio.Params) (*endpoint, error) {
	e := &endpoint{b: b, params: p, local: local, remote: remote, context: p.Context}
	e.out = link{net: b.net, from: local, to: remote}
	if p.Buffered.Buffers > 0 {
		pool, err := netio.NewPool(p.Buffered.Buffers, p.Buffered.BufferBytes)
		if err != nil {
			return nil, err
		}
		e.pool = pool
	}
	return e, nil
}

// Local implements netio.Endpoint.
func (e *endpoint) Local() netip.AddrPort { return e.local }

// Remote implements netio.Endpoint.
func (e *endpoint) Remote() netip.AddrPort { return e.remote }

// Capabilities implements netio.Endpoint.
func (e *endpoint) Capabilities() netio.Capabilities {
	return netio.Capabilities{
		Receive:   true,
		Buffered:  e.params.Buffered.Buffers > 0,
		ZeroCopy:  true,
		Immediate: !e.b.cfg.NoImmediate,
	}
}

// Context implements netio.Endpoint.
func (e *endpoint) Context() any { return e.context }

// SetContext implements netio.Endpoint.
func (e *endpoint) SetContext(v any) { e.context = v }

// Buffer implements netio.Endpoint. When all buffers are in the hands of the
// user, OnSendReady follows the next completion, not a Buffer.Release, which
// the endpoint does not see.
func (e *endpoint) Buffer() (*netio.Buffer, error) {
	e.b.net.mu.Lock()
	defer e.b.net.mu.Unlock()
	switch {
	case e.isClosed():
		return nil, netio.ErrClosed
	case e.pool == nil:
		return nil, netio.ErrNotSupported
	}
	buf := e.pool.Get()
	if buf == nil {
		e.refusedBuffers++
		return nil, netio.ErrNoResources
	}
	return buf, nil
}

// SendBuffer implements netio.Endpoint. It counts as outstanding but is never
// refused for it: the number of buffers is its limit.
func (e *endpoint) SendBuffer(buf *netio.Buffer) error {
	e.b.net.mu.Lock()
	defer e.b.net.mu.Unlock()
	switch {
	case e.isClosed():
		return netio.ErrClosed
	case e.pool == nil || !buf.MarkSent(e.pool):
		return netio.ErrForeignBuffer
	case len(buf.Bytes()) == 0:
		buf.UnmarkSent()
		return netio.ErrEmptyMessage
	}
	s := newSend(buf.Key(), [][]byte{buf.Bytes()}, len(buf.Bytes()))
	s.buf = buf
	e.accept(s)
	return nil
}

// Send implements netio.Endpoint.
func (e *endpoint) Send(key netio.Key, header []byte, data ...[]byte) error {
	return e.send(true, false, key, header, data)
}

// SendCopy implements netio.Endpoint.
func (e *endpoint) SendCopy(key netio.Key, header []byte, data ...[]byte) error {
	return e.send(!e.b.cfg.NoImmediate, true, key, header, data)
}

func (e *endpoint) send(supported, copied bool, key netio.Key, header []byte, data [][]byte) error {
	e.b.net.mu.Lock()
	defer e.b.net.mu.Unlock()
	size := len(header)
	for _, piece := range data {
		size += len(piece)
	}
	switch {
	case e.isClosed():
		return netio.ErrClosed
	case !supported:
		return netio.ErrNotSupported
	case len(header) > netio.MaxHeaderBytes:
		return netio.ErrHeaderTooLarge
	case size == 0:
		return netio.ErrEmptyMessage
	case size > maxMessageBytes:
		return netio.ErrTooLarge
	case len(e.sends) >= e.params.ZeroCopy.Outstanding:
		e.refusedSends++
		return netio.ErrNoResources
	}
	// The header and the slice of pieces are the caller's on return, and with
	// copied the pieces too.
	pieces := make([][]byte, 0, 1+len(data))
	pieces = append(pieces, append([]byte(nil), header...))
	for _, piece := range data {
		if copied {
			piece = append([]byte(nil), piece...)
		}
		pieces = append(pieces, piece)
	}
	e.accept(newSend(key, pieces, size))
	return nil
}

// maxMessageBytes is the largest limit that Params allow, so that no peer can
// receive more.
const maxMessageBytes = 1<<31 - 1

// accept needs the network's mutex.
func (e *endpoint) accept(s *send) {
	e.sends = append(e.sends, s)
	e.mostSends = max(e.mostSends, len(e.sends))
	e.b.schedule(e)
}

// Room implements netio.Endpoint.
func (e *endpoint) Room() (r netio.Room) {
	e.b.net.mu.Lock()
	defer e.b.net.mu.Unlock()
	if e.pool != nil {
		r.Buffers, r.MinBuffers = e.pool.Free(), e.pool.MinFree()
	}
	limit := e.params.ZeroCopy.Outstanding
	r.Sends, r.MinSends = max(0, limit-len(e.sends)), max(0, limit-max(e.mostSends, len(e.sends)))
	e.mostSends = len(e.sends)
	return r
}

// PauseReceive implements netio.Endpoint. It takes effect at once.
func (e *endpoint) PauseReceive() {
	e.b.net.mu.Lock()
	defer e.b.net.mu.Unlock()
	e.paused = true
}

// ResumeReceive implements netio.Endpoint.
func (e *endpoint) ResumeReceive() {
	e.b.net.mu.Lock()
	defer e.b.net.mu.Unlock()
	e.paused = false
	e.b.schedule(e)
}

// Close implements netio.Endpoint. What is in the window still reaches the
// peer, and then the end of the connection.
func (e *endpoint) Close() error {
	e.b.net.mu.Lock()
	defer e.b.net.mu.Unlock()
	if e.isClosed() {
		return netio.ErrClosed
	}
	e.closed = true
	e.b.schedule(e)
	return nil
}

// isClosed needs the network's mutex.
func (e *endpoint) isClosed() bool { return e.closed || e.ended }
