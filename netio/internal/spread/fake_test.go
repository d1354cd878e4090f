// SPDX-License-Identifier: Apache-2.0

package spread_test

import (
	"errors"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"tagbus/internal/testkit/backendtest"
	"tagbus/netio"
	"tagbus/netio/internal/spread"
	"tagbus/netio/reactor"
)

var errPanicked = errors.New("a callback panicked")

// fakeWorker is a backend whose reports the test makes.
type fakeWorker struct {
	netio.Backend
	h      netio.Handler
	params chan netio.Params
	stats  netio.Stats
	loop   fakeLoop

	atClose func() // nil: nothing
}

// fakeLoop is a worker's.
type fakeLoop struct {
	netio.Loop
	ended atomic.Bool
}

func (l *fakeLoop) Post(func()) bool { return !l.ended.Load() }

func (w *fakeWorker) OpenEndpoint(_ netip.AddrPort, p netio.Params) error { w.params <- p; return nil }
func (w *fakeWorker) Stats() netio.Stats                                  { return w.stats }
func (w *fakeWorker) Loop() netio.Loop                                    { return &w.loop }

func (w *fakeWorker) Close() error {
	if w.atClose != nil {
		w.atClose()
	}
	return nil
}

// fakeEndpoint is one of a worker's endpoints.
type fakeEndpoint struct {
	netio.Endpoint
	context any
	memory  *fakeMemory // nil: nothing can be retained
	paused  atomic.Int32
	held    atomic.Int32
	closed  atomic.Int32
	limit   int64
	sendErr error
	probed  time.Duration
	away    time.Duration

	forgotten atomic.Int32
}

func (e *fakeEndpoint) Context() any                     { return e.context }
func (e *fakeEndpoint) SetContext(v any)                 { e.context = v }
func (e *fakeEndpoint) Remote() netip.AddrPort           { return peer }
func (e *fakeEndpoint) Capabilities() netio.Capabilities { return netio.Capabilities{Retain: true} }
func (e *fakeEndpoint) PauseReceive()                    { e.paused.Add(1) }
func (e *fakeEndpoint) ResumeReceive()                   { e.paused.Add(-1) }
func (e *fakeEndpoint) Suspend()                         { e.held.Add(1) }
func (e *fakeEndpoint) Resume()                          { e.held.Add(-1) }
func (e *fakeEndpoint) AheadBytes() int64                { return e.limit }
func (e *fakeEndpoint) Forgotten()                       { e.forgotten.Add(1) }

func (e *fakeEndpoint) Buffer() (*netio.Buffer, error)              { return nil, e.sendErr }
func (e *fakeEndpoint) SendBuffer(*netio.Buffer) error              { return e.sendErr }
func (e *fakeEndpoint) Send(netio.Key, []byte, ...[]byte) error     { return e.sendErr }
func (e *fakeEndpoint) SendCopy(netio.Key, []byte, ...[]byte) error { return e.sendErr }
func (e *fakeEndpoint) SendDirect(netio.Key, []byte, ...[]byte) (bool, error) {
	return e.sendErr == nil, e.sendErr
}

func (e *fakeEndpoint) Close() error {
	if e.closed.Add(1) > 1 {
		return netio.ErrClosed
	}
	return nil
}

func (e *fakeEndpoint) Retain() (netio.Retained, error) {
	if e.memory == nil {
		return nil, netio.ErrNotSupported
	}
	e.memory.Retain()
	return e.memory, nil
}

// fakeMemory counts its users.
type fakeMemory struct {
	users atomic.Int32
	bytes int
}

func (m *fakeMemory) Bytes() int { return m.bytes }
func (m *fakeMemory) Retain()    { m.users.Add(1) }
func (m *fakeMemory) Release()   { m.users.Add(-1) }

var peer = netip.MustParseAddrPort("192.0.2.1:1234")

// bed is a backend of one worker, or more.
type bed struct {
	*backendtest.Watcher
	b       *spread.Backend
	loop    *backendtest.Runner
	workers []*fakeWorker
}

func newBed(t *testing.T, cfg reactor.Config, workers int) *bed {
	t.Helper()
	return newBedOn(t, backendtest.StartLoop(t, cfg), workers)
}

func newBedOn(t *testing.T, loop *backendtest.Runner, workers int) *bed {
	t.Helper()
	x := &bed{Watcher: backendtest.NewWatcher(), loop: loop}
	var openers []netio.Opener
	for range workers {
		w := &fakeWorker{params: make(chan netio.Params, 10)}
		x.workers = append(x.workers, w)
		openers = append(openers, func(h netio.Handler) (netio.Backend, error) { w.h = h; return w, nil })
	}
	var err error
	if x.b, err = spread.Open(x.loop.EventLoop, x.Watcher, openers, errPanicked); err != nil {
		t.Fatalf("Open: got error %v, want none", err)
	}
	t.Cleanup(func() {
		if err := x.b.Close(); err != nil {
			t.Errorf("Close: got error %v, want none", err)
		}
	})
	return x
}

// accept makes a worker report a connection, and returns both endpoints.
func (x *bed) accept(t *testing.T) (*fakeEndpoint, netio.Endpoint) {
	t.Helper()
	inner := &fakeEndpoint{memory: new(fakeMemory), limit: -1}
	x.workers[0].h.OnConnectionEstablished(inner)
	return inner, backendtest.Next(t, "OnConnectionEstablished", x.Established)
}

// hold keeps the loop of the callbacks busy until the function it returns is called.
func (x *bed) hold(t *testing.T) (release func()) {
	t.Helper()
	begun, done := make(chan struct{}), make(chan struct{})
	x.loop.Post(func() { close(begun); <-done })
	backendtest.Next(t, "posted function", begun)
	return func() { close(done) }
}

// settle waits until all that was reported is told.
func (x *bed) settle(t *testing.T) {
	t.Helper()
	for range 2 {
		backendtest.OnLoop(t, x.b.Loop(), func() {})
	}
}
