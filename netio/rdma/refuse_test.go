// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package rdma_test

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"tagbus/internal/testkit/backendtest"
	"tagbus/netio"
	"tagbus/netio/rdma"
	"tagbus/netio/rdma/internal/fi"
)

// stranger is an endpoint of libfabric without our protocol.
type stranger struct {
	info   *fi.Info
	fabric *fi.Fabric
	domain *fi.Domain
	eq     *fi.EQ
	cq     *fi.CQ
	ep     *fi.EP
}

func newStranger(tb testing.TB, addr netip.AddrPort, listen bool) *stranger {
	tb.Helper()
	s := &stranger{}
	var err error
	check := func(e error) {
		tb.Helper()
		if e != nil {
			tb.Fatalf("got error %v, want none", e)
		}
	}
	s.info, err = fi.GetInfo(fi.Hints{Provider: provider(), Addr: addr, Listen: listen})
	check(err)
	s.fabric, err = fi.OpenFabric(s.info)
	check(err)
	s.eq, err = s.fabric.OpenEQ()
	check(err)
	s.domain, err = s.fabric.OpenDomain(s.info)
	check(err)
	s.cq, err = s.domain.OpenCQ(16)
	check(err)
	tb.Cleanup(func() {
		if s.ep != nil {
			check(s.ep.Close())
		}
		s.info.Free()
		check(s.cq.Close())
		check(s.domain.Close())
		check(s.eq.Close())
		check(s.fabric.Close())
	})
	return s
}

// open opens the endpoint for i.
func (s *stranger) open(tb testing.TB, i *fi.Info) {
	tb.Helper()
	var err error
	if s.ep, err = s.domain.OpenEP(i, 1, false); err == nil {
		err = errors.Join(s.ep.Bind(s.eq, s.cq, nil), s.ep.Enable())
	}
	if err != nil {
		tb.Fatalf("open an endpoint: got error %v, want none", err)
	}
}

// event waits for the next event.
func (s *stranger) event(tb testing.TB) fi.Event {
	tb.Helper()
	for limit := time.Now().Add(backendtest.Patience); time.Now().Before(limit); {
		if events := s.eq.Read(); len(events) > 0 {
			return events[0]
		}
	}
	tb.Fatalf("got no event for %v, want one", backendtest.Patience)
	return fi.Event{}
}

func TestListenEndpoint_refusesAStranger(t *testing.T) {
	for _, words := range []string{"", "tbr\x02", "tbr\x03aaaabbbbccccdddd", "GET / HTTP/1.1"} {
		s := serve(t, newWatcher(), rdma.Config{}, netio.Params{})
		x := newStranger(t, s.l.Addr(), false)
		x.open(t, x.info)
		if err := x.ep.Connect(x.info, []byte(words)); err != nil {
			t.Fatalf("connect: got error %v, want none", err)
		}
		if e := x.event(t); e.Type != fi.Failed || !errors.Is(e.Err, syscall.ECONNREFUSED) {
			t.Errorf("answer to %q: got %+v, want ECONNREFUSED", words, e)
		}
		if got := s.b.Stats(); got.BadMessages != 1 || got.Accepted != 0 {
			t.Errorf("Stats: got %+v, want one bad message and nothing accepted", got)
		}
		s.dial(t, newWatcher(), rdma.Config{}, netio.Params{}) // and others come through
	}
}

func TestBackend_OpenEndpoint_refusesAStrangerThatAccepts(t *testing.T) {
	x := newStranger(t, loopback(), true)
	pep, err := x.fabric.OpenPEP(x.info)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = pep.Close() }()
	err = errors.Join(pep.Bind(x.eq), pep.Listen())
	addr, nameErr := pep.Name()
	if err := errors.Join(err, nameErr); err != nil {
		t.Fatalf("listen: got error %v, want none", err)
	}
	w := newWatcher()
	b := openBackend(t, w, rdma.Config{Provider: provider()})
	if err := b.OpenEndpoint(addr, netio.Params{}); err != nil {
		t.Fatalf("OpenEndpoint: got error %v, want none", err)
	}
	e := x.event(t)
	x.open(t, e.Info)
	if err := x.ep.Accept([]byte("welcome")); err != nil {
		t.Fatalf("accept: got error %v, want none", err)
	}
	e.Info.Free()
	x.event(t)
	if err := next(t, "OnConnectionRefused", w.Refused); !errors.Is(err, rdma.ErrIncompatible) {
		t.Errorf("OnConnectionRefused: got error %v, want %v", err, rdma.ErrIncompatible)
	}
}

func TestListenEndpoint_refusesTooManyConnections(t *testing.T) {
	var log lockedBuffer
	s := serve(t, newWatcher(), rdma.Config{MaxEndpoints: 2, Logger: slog.New(slog.NewTextHandler(&log, nil))}, netio.Params{})
	for range 2 {
		s.dial(t, newWatcher(), rdma.Config{}, netio.Params{})
	}
	w := newWatcher()
	b := openBackend(t, w, rdma.Config{Provider: provider()})
	if err := b.OpenEndpoint(s.l.Addr(), netio.Params{}); err != nil {
		t.Fatalf("OpenEndpoint: got error %v, want none", err)
	}
	if err := next(t, "OnConnectionRefused", w.Refused); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("OnConnectionRefused: got error %v, want %v", err, syscall.ECONNREFUSED)
	}
	if got := s.b.Stats().AcceptShed; got != 1 {
		t.Errorf("Stats.AcceptShed: got %d, want 1", got)
	}
	if got := log.String(); !strings.Contains(got, "MaxEndpoints is 2") {
		t.Errorf("log: got %q, want a line with the limit", got)
	}
}

func TestBackend_OpenEndpoint_aSilentListenerTimesOut(t *testing.T) {
	// A listener that is never asked to accept: the system has connected, and
	// that is all.
	silent, err := net.Listen("tcp", loopback().String())
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	w := newWatcher()
	b := openBackend(t, w, rdma.Config{Provider: rdma.ProviderTCP})
	addr := silent.Addr().(*net.TCPAddr).AddrPort()
	if err := b.OpenEndpoint(addr, netio.Params{ConnectTimeout: 50 * time.Millisecond}); err != nil {
		t.Fatalf("OpenEndpoint: got error %v, want none", err)
	}
	if err := next(t, "OnConnectionRefused", w.Refused); !errors.Is(err, netio.ErrTimeout) {
		t.Errorf("OnConnectionRefused: got error %v, want %v", err, netio.ErrTimeout)
	}
}

// TestListenEndpoint_socketsThatAskForNothingEndWithIt is about the provider tcp, which
// would forget them.
func TestListenEndpoint_socketsThatAskForNothingEndWithIt(t *testing.T) {
	w := newWatcher()
	b := openBackend(t, w, rdma.Config{Provider: rdma.ProviderTCP})
	l, err := b.OpenListenEndpoint(netip.MustParseAddrPort("127.0.0.1:0"), netio.Params{})
	if err != nil {
		t.Fatal(err)
	}
	var sockets []net.Conn
	for range 5 {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		sockets = append(sockets, c)
	}
	// Of less than its header libfabric may wait for the rest.
	if _, err := sockets[0].Write(bytes.Repeat([]byte("GET / HTTP/1.1\r\n\r\n"), 10)); err != nil {
		t.Fatal(err)
	}
	_ = sockets[0].SetReadDeadline(time.Now().Add(backendtest.Patience))
	if n, err := sockets[0].Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("answer to another protocol: got %d bytes and error %v, want the end", n, err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for i, c := range sockets[1:] {
		_ = c.SetReadDeadline(time.Now().Add(backendtest.Patience))
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("socket %d after the listener has closed: got error %v, want the end", i, err)
		}
	}
	if len(w.Established) > 0 {
		t.Errorf("OnConnectionEstablished: got %d, want none", len(w.Established))
	}
}

func TestBackend_OpenListenEndpoint_noDevice(t *testing.T) {
	b := openBackend(t, newWatcher(), rdma.Config{Provider: rdma.ProviderTCP})
	addr := netip.MustParseAddrPort("192.0.2.77:0") // for documentation, so that no host has it
	_, err := b.OpenListenEndpoint(addr, netio.Params{})
	var op *netio.OpError
	if !errors.As(err, &op) || op.Addr != addr {
		t.Errorf("listen on an address of nobody: got error %v, want an *OpError about %v", err, addr)
	}
}
