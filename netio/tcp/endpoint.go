package tcp

import (
	"net/netip"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"tagbus/netio"
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

// Work that an endpoint leaves to the end of the turn, bits of endpoint.todo.
const (
	toConnect uint32 = 1 << iota
	toReport
	toRead
	toFlush
	toOffer // buffers
	toEnd
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
	noBuffer     refusals
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
	blocked      bool            // the system has no room: wait for Writable
	peerClosed   bool            // a short read does not mean that all was read
	sendErr      error           // sending has failed; what was received comes first
	fault        error           // why toEnd is set, nil for Close
	dial         *dial           // set for those of OpenEndpoint
	listener     *listenEndpoint // set for the accepted
	retry        alarm           // of a send, when the system was out of memory
	offering     alarm
	next, prev   *endpoint
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
			Receive: true, Buffered: p.Buffered.Buffers > 0, ZeroCopy: true, Immediate: true,
		},
	}
	if p.Buffered.Buffers > 0 {
		pool, err := netio.NewPool(p.Buffered.Buffers, p.Buffered.BufferBytes)
		if err != nil {
			return nil, err
		}
		e.pool = pool
	}
	e.queue.init(&b.memory, p)
	e.receiver.init(&b.memory, &b.scratch, p.Receive)
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
	if e.pool == nil {
		return nil, netio.ErrNotSupported
	}
	if e.hold.Load()&closed != 0 {
		return nil, netio.ErrClosed
	}
	if b := e.pool.Get(); b != nil {
		return b, nil
	}
	e.noBuffer.add()
	if b := e.pool.Get(); b != nil {
		if e.noBuffer.withdraw() {
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

// SendBuffer implements netio.Endpoint.
func (e *endpoint) SendBuffer(b *netio.Buffer) error {
	tell, err := e.queue.pushBuffer(b, e.pool)
	if tell {
		e.leave(toFlush)
	}
	return err
}

// Send implements netio.Endpoint.
func (e *endpoint) Send(key netio.Key, header []byte, data ...[]byte) error {
	size, err := frameBytes(header, data)
	if err != nil {
		return err
	}
	push := (*queue).push
	if size <= copyBytes {
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

// PauseReceive implements netio.Endpoint.
func (e *endpoint) PauseReceive() { e.hold.Or(paused) }

// ResumeReceive implements netio.Endpoint.
func (e *endpoint) ResumeReceive() {
	if e.hold.And(^paused)&paused != 0 {
		e.leave(toRead)
	}
}

// Close implements netio.Endpoint.
func (e *endpoint) Close() error {
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
		e.backend.enqueue(e)
	}
}

// work implements worker.
func (e *endpoint) work() {
	through := false
	defer e.tidy(&through)
	todo := e.todo.Swap(0)
	if todo&toEnd != 0 {
		e.end(e.fault)
	}
	if todo&toConnect != 0 {
		e.connect()
	}
	if todo&toReport != 0 {
		e.report()
	}
	if todo&toRead != 0 {
		e.receive()
	}
	if todo&toFlush != 0 {
		e.flush()
	}
	if todo&toOffer != 0 {
		e.offer()
	}
	through = true
}

// OnEvent implements reactor.Source.
func (e *endpoint) OnEvent(events reactor.Events) {
	e.backend.turn.Lock()
	defer e.backend.turn.Unlock()
	through := false
	defer e.tidy(&through)
	if e.state == connecting {
		e.proceed()
	}
	// Events can come before the end of the turn in which the endpoint was
	// accepted.
	e.report()
	if events.Has(reactor.PeerClosed | reactor.Failed | reactor.Hangup) {
		e.peerClosed = true
	}
	if events.Has(reactor.Writable) && e.blocked && e.sendErr == nil {
		e.blocked = false
		e.flush()
	}
	if events&^reactor.Writable != 0 {
		e.receive()
	}
	if events.Has(reactor.Failed) {
		e.failPaused()
	}
	through = true
}

// tidy ends each step of an endpoint, also one that panicked: then the
// endpoint closes, as a handler that has missed a message must not get the
// next.
func (e *endpoint) tidy(through *bool) {
	if !*through {
		e.fail(ErrCallbackPanicked)
	}
	e.countReceived() // what a pause has left
	if e.receiver.buf != nil && e.state != ended {
		if err := e.receiver.park(); err != nil {
			e.fail(err)
		}
	}
}

// fail ends the endpoint after this step.
func (e *endpoint) fail(err error) {
	if e.hold.Or(closed)&closed == 0 {
		e.fault = e.opError("receive", err)
		e.queue.close()
	}
	e.leave(toEnd)
}

// report makes the first callback.
func (e *endpoint) report() {
	if e.state != established {
		return
	}
	e.state = reported
	e.backend.handler.OnConnectionEstablished(e)
}

// end closes the socket and makes the last callback. cause: as in
// OnConnectionClosed.
func (e *endpoint) end(cause error) {
	before := e.state
	if before == ended {
		return
	}
	e.state = ended
	e.hold.Or(closed)
	b := e.backend
	keys := e.cancel()
	e.release()
	if before == connecting {
		return // the backend closes: nobody hears of it
	}
	b.stats.closed.Add(1)
	if before == reported {
		b.handler.OnConnectionClosed(e, keys, cause)
	}
}

// cancel empties the queue and returns the keys.
func (e *endpoint) cancel() []netio.Key {
	b := e.backend
	keys := b.keys[:0]
	tail := e.queue.close()
	for i := e.queue.head.Load(); i != tail; i++ {
		keys = append(keys, e.queue.finish(i))
	}
	e.queue.release()
	b.keys = keys
	if cap(keys) > maxKeptKeys {
		b.keys = nil
	}
	return keys
}

const maxKeptKeys = 1 << 10

// release gives back all that the endpoint holds.
func (e *endpoint) release() {
	b := e.backend
	if e.registration != nil {
		_ = e.registration.Close() // fails only if the descriptor is not ours
	}
	if e.blocked {
		// The peer does not read, or not as fast as we send. It would hear of
		// the end only behind all that the system still holds for it.
		abort(e.fd)
	} else {
		discard(e.fd)
	}
	_ = unix.Close(e.fd) // releases it, whatever it says
	e.fd = -1
	e.receiver.release()
	b.alarms.cancel(&e.retry)
	b.alarms.cancel(&e.offering)
	b.retire(e.pool)
	b.endpoints.remove(e)
	if e.listener != nil {
		b.accepted--
	}
	if e.dial != nil {
		b.alarms.cancel(&e.dial.timeout)
		b.mu.Lock()
		delete(b.active, canonical(e.remote))
		b.mu.Unlock()
	}
}

func (e *endpoint) opError(op string, err error) error {
	return &netio.OpError{Op: op, Addr: e.remote, Err: err}
}

// endpointList is a list of endpoints, the oldest first.
type endpointList struct{ first, last *endpoint }

func (l *endpointList) add(e *endpoint) {
	e.prev = l.last
	if l.last == nil {
		l.first = e
	} else {
		l.last.next = e
	}
	l.last = e
}

func (l *endpointList) remove(e *endpoint) {
	if e.prev == nil {
		l.first = e.next
	} else {
		e.prev.next = e.next
	}
	if e.next == nil {
		l.last = e.prev
	} else {
		e.next.prev = e.prev
	}
	e.next, e.prev = nil, nil
}
