// SPDX-License-Identifier: Apache-2.0

package spread

import (
	"crypto/x509"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"
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

// Reasons to hold back the worker's endpoint, bits of endpoint.holds.
const (
	heldAhead uint32 = 1 << iota
	heldFirst        // until the user has judged its first message
)

// Inner is an endpoint of a worker.
type Inner interface {
	netio.Endpoint

	// Suspend stops the reports of messages until Resume. Unlike PauseReceive it is
	// not the user's wish, and must not lose anything.
	Suspend()
	Resume()

	// AheadBytes is how many bytes it may report before the user has seen them; -1:
	// the user has set no limit.
	AheadBytes() int64

	// Forgotten is called when the user knows of the end: only then may another
	// endpoint take its place. It is called once, after OnConnectionClosed, on any
	// goroutine.
	Forgotten()
}

// endpoint implements netio.Endpoint. Calls that send go to the worker's endpoint; what
// comes from there reaches the handler in order, on the loop of the callbacks.
type endpoint struct {
	Inner
	worker *worker
	dialed *dialed // nil: accepted

	shut    atomic.Bool // by Close, or ended
	unseen  atomic.Int64
	pauseMu sync.Mutex
	paused  atomic.Bool   // by the user; written under pauseMu
	holds   atomic.Uint32 // written under pauseMu

	// Only on the worker's loop.
	begun bool // to receive

	// Only on the loop of the callbacks.
	context  any
	reported bool        // by OnConnectionEstablished
	ended    bool        // by OnConnectionClosed, or without it
	held     []event     // received, or closed, and kept because of a pause
	late     []netio.Key // completed, and kept because of Close
	fault    error
}

// Context implements netio.Endpoint.
func (e *endpoint) Context() any { return e.context }

// SetContext implements netio.Endpoint.
func (e *endpoint) SetContext(v any) { e.context = v }

// Unwrap returns the worker's endpoint, for tests.
func (e *endpoint) Unwrap() netio.Endpoint { return e.Inner }

// Close implements netio.Endpoint.
func (e *endpoint) Close() error {
	if e.shut.Swap(true) {
		_ = e.Inner.Close() // the first call may not have come so far
		return netio.ErrClosed
	}
	err := e.Inner.Close()
	e.worker.spread.push(event{kind: resumed, endpoint: e}) // its end may be held back
	if errors.Is(err, netio.ErrClosed) {
		return nil // the other side was faster, and the user does not know yet
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
func (e *endpoint) PauseReceive() {
	e.pauseMu.Lock() // the worker's endpoint hears of both in the same order
	defer e.pauseMu.Unlock()
	e.paused.Store(true)
	e.Inner.PauseReceive()
}

// ResumeReceive implements netio.Endpoint.
func (e *endpoint) ResumeReceive() {
	e.pauseMu.Lock()
	defer e.pauseMu.Unlock()
	if e.paused.Swap(false) {
		e.Inner.ResumeReceive()
		e.worker.spread.push(event{kind: resumed, endpoint: e})
	}
}

// hold adds a reason to hold back.
func (e *endpoint) hold(reason uint32) {
	e.pauseMu.Lock()
	defer e.pauseMu.Unlock()
	if e.holds.Or(reason) == 0 {
		e.Suspend()
	}
}

// free takes a reason away.
func (e *endpoint) free(reason uint32) {
	e.pauseMu.Lock()
	defer e.pauseMu.Unlock()
	if e.holds.And(^reason) == reason {
		e.Resume()
	}
}

// cost is what a message on its way takes of the share.
func cost(data []byte) int { return len(data) + int(unsafe.Sizeof(event{})) }

// ahead notes that a message of that cost is on its way to the handler. Threads: the
// worker's loop.
func (e *endpoint) ahead(n int) {
	if !e.begun {
		e.begun = true
		e.hold(heldFirst)
	}
	if e.unseen.Add(int64(n)) > e.aheadLimit() {
		e.hold(heldAhead)
		e.catchUp(0) // the handler may have seen all of it meanwhile
	}
}

// catchUp notes that the handler has seen a message of that cost.
func (e *endpoint) catchUp(n int) {
	unseen := e.unseen.Add(-int64(n))
	holds := e.holds.Load()
	if holds&heldFirst != 0 && n > 0 {
		e.free(heldFirst)
	}
	if holds&heldAhead != 0 && unseen <= e.aheadLimit()/2 {
		e.free(heldAhead)
	}
}

// aheadLimit returns how many bytes may be on their way to the handler.
func (e *endpoint) aheadLimit() int64 {
	limit := e.worker.aheadLimit()
	if wish := e.AheadBytes(); wish >= 0 {
		return min(wish, limit)
	}
	return limit
}

// silent reports whether the user is to hear only of the end.
func (e *endpoint) silent() bool { return e.shut.Load() || e.worker.spread.closing.Load() }

// waits reports whether data has to wait for the user.
func (e *endpoint) waits() bool { return e.paused.Load() }

// cause returns the cause for OnConnectionClosed, if the worker's is err.
func (e *endpoint) cause(err error) error {
	switch {
	case e.fault != nil:
		return e.fault
	case e.silent():
		return nil
	}
	return err
}

// inOrder reports whether an end has to wait until all that was received before is
// delivered. A connection that breaks off may overtake what the user holds back.
func (e *endpoint) inOrder(cause error) bool {
	if e.silent() || len(e.held) == 0 && !e.waits() {
		return false
	}
	return errors.Is(cause, io.EOF) || errors.Is(cause, netio.ErrMessageLength) || errors.Is(cause, netio.ErrTruncated)
}

// tooLate returns the error of a call that has found the connection ended. The user
// does not know of that yet, and gets ErrNoResources; OnConnectionClosed follows.
func (e *endpoint) tooLate(err error) error {
	if err == netio.ErrClosed && !e.shut.Load() { //nolint:errorlint // bare, and this is the data path
		return netio.ErrNoResources
	}
	return err
}

// Send implements netio.Endpoint.
func (e *endpoint) Send(key netio.Key, header []byte, data ...[]byte) error {
	return e.tooLate(e.Inner.Send(key, header, data...))
}

// SendCopy implements netio.Endpoint.
func (e *endpoint) SendCopy(key netio.Key, header []byte, data ...[]byte) error {
	return e.tooLate(e.Inner.SendCopy(key, header, data...))
}

// SendDirect implements netio.Endpoint. What is done leaves nothing to report, so it
// needs neither of the loops.
func (e *endpoint) SendDirect(key netio.Key, header []byte, data ...[]byte) (bool, error) {
	done, err := e.Inner.SendDirect(key, header, data...)
	return done, e.tooLate(err)
}

// SendBuffer implements netio.Endpoint.
func (e *endpoint) SendBuffer(b *netio.Buffer) error { return e.tooLate(e.Inner.SendBuffer(b)) }

// Buffer implements netio.Endpoint.
func (e *endpoint) Buffer() (*netio.Buffer, error) {
	b, err := e.Inner.Buffer()
	return b, e.tooLate(err)
}

// ProbeAfter implements netio.Prober, if the worker's endpoint does.
func (e *endpoint) ProbeAfter(silence time.Duration) {
	if inner, ok := e.Inner.(netio.Prober); ok {
		inner.ProbeAfter(silence)
	}
}

// Path implements netio.PathMeasurer, if the worker's endpoint does.
func (e *endpoint) Path() (p netio.Path, ok bool) {
	if inner, measures := e.Inner.(netio.PathMeasurer); measures {
		return inner.Path()
	}
	return p, false
}

// PeerCertificates implements netio.Authenticated, if the worker's endpoint does.
func (e *endpoint) PeerCertificates() []*x509.Certificate {
	if inner, ok := e.Inner.(netio.Authenticated); ok {
		return inner.PeerCertificates()
	}
	return nil
}
