package spread

import (
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"unsafe"

	"tagbus/netio"
)

// An endpoint's share of aheadBytes is what a worker receives of it before the
// handler has seen that; then the rest stays in the transport, whose flow control
// reaches the sender. It goes on at half of the share.
const (
	aheadBytes = 16 << 20
	leastAhead = 64 << 10
	mostAhead  = 1 << 20
)

// Reasons why the worker's endpoint does not receive, bits of endpoint.pauses.
const (
	pausedByUser uint32 = 1 << iota
	pausedAhead
)

// endpoint implements netio.Endpoint. Sending is the worker's business; what comes
// from there is told in order on the loop of the callbacks.
type endpoint struct {
	netio.Endpoint
	worker *worker
	dialed *dialed // nil: accepted

	shut    atomic.Bool // by Close
	unseen  atomic.Int64
	pauseMu sync.Mutex
	pauses  atomic.Uint32 // written under pauseMu

	// Only on the loop of the callbacks.
	context  any
	reported bool        // by OnConnectionEstablished
	ended    bool        // by OnConnectionClosed, or nobody is to hear of it
	held     []event     // received, or closed, and not told because of a pause
	late     []netio.Key // completed, and not told because of Close
	fault    error
}

// Context implements netio.Endpoint.
func (e *endpoint) Context() any { return e.context }

// SetContext implements netio.Endpoint.
func (e *endpoint) SetContext(v any) { e.context = v }

// Unwrap returns the worker's endpoint, for tests.
func (e *endpoint) Unwrap() netio.Endpoint { return e.Endpoint }

// Close implements netio.Endpoint.
func (e *endpoint) Close() error {
	if e.shut.Swap(true) {
		return netio.ErrClosed
	}
	err := e.Endpoint.Close()
	e.worker.spread.push(event{kind: resumed, endpoint: e}) // its end may be held back
	if errors.Is(err, netio.ErrClosed) {
		return nil // the other side was faster, and nobody was told yet
	}
	return err
}

// Retain implements netio.Endpoint.
func (e *endpoint) Retain() (netio.Retained, error) {
	switch b := e.worker.spread; {
	case !e.Capabilities().Retain:
		return nil, netio.ErrNotSupported
	case b.delivering != e:
		return nil, netio.ErrNoMessage
	case b.kept == nil: // there was no memory to keep it in
		return nil, netio.ErrNoResources
	default:
		b.retained = true
		b.kept.(Retainer).Retain()
		return b.kept, nil
	}
}

// Retainer is a netio.Retained that can be retained once more.
type Retainer interface{ Retain() }

// PauseReceive implements netio.Endpoint.
func (e *endpoint) PauseReceive() { e.pause(pausedByUser) }

// ResumeReceive implements netio.Endpoint.
func (e *endpoint) ResumeReceive() {
	if e.resume(pausedByUser) {
		e.worker.spread.push(event{kind: resumed, endpoint: e})
	}
}

// pause adds a reason not to receive.
func (e *endpoint) pause(reason uint32) {
	e.pauseMu.Lock()
	defer e.pauseMu.Unlock()
	if e.pauses.Or(reason) == 0 {
		e.Endpoint.PauseReceive()
	}
}

// resume takes a reason away, and tells whether it was there.
func (e *endpoint) resume(reason uint32) bool {
	e.pauseMu.Lock()
	defer e.pauseMu.Unlock()
	before := e.pauses.And(^reason)
	if before == reason {
		e.Endpoint.ResumeReceive()
	}
	return before&reason != 0
}

// cost is what a message on its way takes of the share.
func cost(data []byte) int { return len(data) + int(unsafe.Sizeof(event{})) }

// ahead notes that a message of that cost is on its way to the handler. Threads: the
// worker's loop.
func (e *endpoint) ahead(n int) {
	if e.unseen.Add(int64(n)) > e.worker.share() {
		e.pause(pausedAhead)
		e.catchUp(0) // the handler may have seen all of it meanwhile
	}
}

// catchUp notes that the handler has seen a message of that cost.
func (e *endpoint) catchUp(n int) {
	if e.unseen.Add(-int64(n)) <= e.worker.share()/2 && e.pauses.Load()&pausedAhead != 0 {
		e.resume(pausedAhead)
	}
}

// silent tells whether the user wants to hear of nothing but the end.
func (e *endpoint) silent() bool { return e.shut.Load() || e.worker.spread.closing.Load() }

// waits tells whether data has to wait for the user.
func (e *endpoint) waits() bool { return e.pauses.Load()&pausedByUser != 0 }

// cause returns that of OnConnectionClosed, if the worker's was err.
func (e *endpoint) cause(err error) error {
	switch {
	case e.fault != nil:
		return e.fault
	case e.silent():
		return nil
	}
	return err
}

// inOrder tells whether an end has to wait until all that was received before is
// told.
func (e *endpoint) inOrder(cause error) bool {
	return len(e.held) > 0 && errors.Is(cause, io.EOF) && !e.silent()
}
