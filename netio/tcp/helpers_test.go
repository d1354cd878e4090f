// SPDX-License-Identifier: Apache-2.0

package tcp_test

import (
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"tagbus/internal/testkit/backendtest"
	"tagbus/netio"
	"tagbus/netio/tcp"
)

// What the tests use most, by short names.
type watcher = backendtest.Watcher

var (
	newWatcher = backendtest.NewWatcher
	onLoop     = backendtest.OnLoop
	waitFor    = backendtest.WaitFor
)

func next[T any](tb testing.TB, what string, events <-chan T) T {
	tb.Helper()
	return backendtest.Next(tb, what, events)
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
	return c, next(tb, "OnConnectionEstablished", s.Established)
}

func dialRaw(tb testing.TB, addr netip.AddrPort) *net.TCPConn {
	tb.Helper()
	c, err := net.DialTCP("tcp", nil, net.TCPAddrFromAddrPort(addr))
	if err != nil {
		tb.Fatalf("dial %v: got error %v, want none", addr, err)
	}
	tb.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(backendtest.Patience)); err != nil {
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
