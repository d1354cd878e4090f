//go:build libfabric && cgo

package rdma_test

import (
	"bytes"
	"net/netip"
	"testing"
	"time"

	"tagbus/netio"
	"tagbus/netio/rdma"
)

// patience is how long something that must happen may take. Only a test that
// fails spends it.
const patience = 30 * time.Second

// ending is an OnConnectionClosed.
type ending struct {
	ep    netio.Endpoint
	keys  []netio.Key
	cause error
}

// watcher is a handler that hands over what it hears, and calls hooks before.
type watcher struct {
	established chan netio.Endpoint
	refused     chan error
	closed      chan ending
	data        chan []byte
	completed   chan netio.Key
	ready       chan struct{}
	loop        netio.Loop // of the backend that dial has opened

	onEstablished func(netio.Endpoint)
	onData        func(netio.Endpoint, []byte)
	onCompleted   func(netio.Completion)
	onClosed      func(netio.Endpoint)
}

const watched = 1 << 16 // events that a watcher holds

func newWatcher() *watcher {
	return &watcher{
		established: make(chan netio.Endpoint, watched), refused: make(chan error, watched), closed: make(chan ending, watched),
		data: make(chan []byte, watched), completed: make(chan netio.Key, watched), ready: make(chan struct{}, watched),
	}
}

func (w *watcher) OnConnectionEstablished(ep netio.Endpoint) {
	w.established <- ep
	if w.onEstablished != nil {
		w.onEstablished(ep)
	}
}

func (w *watcher) OnConnectionRefused(_ netip.AddrPort, err error) { w.refused <- err }

func (w *watcher) OnConnectionClosed(ep netio.Endpoint, keys []netio.Key, cause error) {
	w.closed <- ending{ep, append([]netio.Key(nil), keys...), cause}
	if w.onClosed != nil {
		w.onClosed(ep)
	}
}

func (w *watcher) OnData(ep netio.Endpoint, data []byte) {
	w.data <- bytes.Clone(data)
	if w.onData != nil {
		w.onData(ep, data)
	}
}

func (w *watcher) OnSendCompleted(c netio.Completion) {
	w.completed <- c.Key
	if w.onCompleted != nil {
		w.onCompleted(c)
	}
}

func (w *watcher) OnSendReady(netio.Endpoint) { w.ready <- struct{}{} }

// next waits for an event.
func next[T any](tb testing.TB, what string, events <-chan T) T {
	tb.Helper()
	select {
	case event := <-events:
		return event
	case <-time.After(patience):
		tb.Fatalf("%s: got nothing for %v, want one", what, patience)
	}
	panic("unreachable")
}

// onLoop runs f on the loop and waits for it.
func onLoop(tb testing.TB, l netio.Loop, f func()) {
	tb.Helper()
	done := make(chan struct{})
	if !l.Post(func() { defer close(done); f() }) {
		tb.Fatalf("Post: got false, want true")
	}
	next(tb, "posted function", done)
}

// served is a backend that listens, and what it hears.
type served struct {
	*watcher
	b netio.Backend
	l netio.ListenEndpoint
}

func serve(tb testing.TB, w *watcher, cfg rdma.Config, p netio.Params) *served {
	tb.Helper()
	cfg.Provider = provider()
	b := openBackend(tb, w, cfg)
	l, err := b.OpenListenEndpoint(loopback(), p)
	if err != nil {
		tb.Fatalf("OpenListenEndpoint: got error %v, want none", err)
	}
	return &served{w, b, l}
}

// newRegion returns memory to send from, until the end of the test.
func newRegion(tb testing.TB, n int) []byte {
	tb.Helper()
	region, err := netio.AllocRegion(n)
	if err != nil {
		tb.Fatalf("AllocRegion: got error %v, want none", err)
	}
	tb.Cleanup(func() { _ = netio.FreeRegion(region) })
	return region
}

// dial opens an endpoint to s from a backend of its own, and returns it with the
// other end.
func (s *served) dial(tb testing.TB, w *watcher, cfg rdma.Config, p netio.Params) (opened, accepted netio.Endpoint) {
	tb.Helper()
	cfg.Provider = provider()
	b := openBackend(tb, w, cfg)
	w.loop = b.Loop()
	if err := b.OpenEndpoint(s.l.Addr(), p); err != nil {
		tb.Fatalf("OpenEndpoint: got error %v, want none", err)
	}
	return next(tb, "OnConnectionEstablished", w.established), next(tb, "OnConnectionEstablished", s.established)
}
