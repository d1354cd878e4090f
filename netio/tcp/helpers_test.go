package tcp_test

import (
	"bytes"
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"tagbus/netio"
	"tagbus/netio/tcp"
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

var loopback = netip.MustParseAddrPort("127.0.0.1:0")

func serve(tb testing.TB, w *watcher, cfg tcp.Config, p netio.Params) *served {
	tb.Helper()
	b := openBackend(tb, w, cfg)
	l, err := b.OpenListenEndpoint(loopback, p)
	if err != nil {
		tb.Fatalf("OpenListenEndpoint: got error %v, want none", err)
	}
	return &served{w, b, l}
}

// dialRaw connects a socket of the standard library, and returns both ends.
func (s *served) dialRaw(tb testing.TB) (*net.TCPConn, netio.Endpoint) {
	tb.Helper()
	c := dialRaw(tb, s.l.Addr())
	return c, next(tb, "OnConnectionEstablished", s.established)
}

func dialRaw(tb testing.TB, addr netip.AddrPort) *net.TCPConn {
	tb.Helper()
	c, err := net.DialTCP("tcp", nil, net.TCPAddrFromAddrPort(addr))
	if err != nil {
		tb.Fatalf("dial %v: got error %v, want none", addr, err)
	}
	tb.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		tb.Fatalf("SetDeadline: got error %v, want none", err)
	}
	return c
}

func write(tb testing.TB, w io.Writer, data []byte) {
	tb.Helper()
	if _, err := w.Write(data); err != nil {
		tb.Fatalf("write: got error %v, want none", err)
	}
}
