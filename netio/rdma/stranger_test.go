// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package rdma_test

import (
	"net/netip"
	"testing"
	"time"

	"tagbus/internal/testkit/backendtest"
	"tagbus/netio"
	"tagbus/netio/rdma"
	"tagbus/netio/rdma/internal/fi"
)

func TestListenEndpoint_dropsWhatStrangersSend(t *testing.T) {
	w, server := newWatcher(), newWatcher()
	b := openBackend(t, server, rxm)
	p := netio.Params{Buffered: netio.BufferedParams{Buffers: 1}}
	l, err := b.OpenListenEndpoint(rdmHost, p)
	if err != nil {
		t.Fatalf("OpenListenEndpoint: got error %v, want none", err)
	}
	x := newIntruder(t)
	greeting := rdma.MarshalGreeting(rdma.Greeting{1 << 20, 100, 16, 8})
	impossible := rdma.MarshalGreeting(rdma.Greeting{0, 0, 0, 0})
	bad := [][]byte{
		[]byte("GET / HTTP/1.1\r\nHost: somebody\r\n"),
		{1},
		rdma.PutFrame(rdma.Frame{Kind: 99}, nil),
		rdma.PutFrame(rdma.Frame{Kind: hello, Value: 1}, append(impossible, x.name...)),
		rdma.PutFrame(rdma.Frame{Kind: hello, Value: 1}, greeting),
	}
	for _, m := range bad {
		x.send(t, l.Addr(), m)
	}
	// For connections that there are not, or no longer.
	for kind := accept; kind <= gone; kind++ {
		x.send(t, l.Addr(), rdma.PutFrame(rdma.Frame{Kind: kind, To: 1<<40 | 1, Value: 1}, greeting))
	}
	client := openBackend(t, w, rxm)
	if err := client.OpenEndpoint(l.Addr(), p); err != nil {
		t.Fatalf("OpenEndpoint: got error %v, want none", err)
	}
	ep := next(t, "OnConnectionEstablished", w.Established)
	next(t, "OnConnectionEstablished", server.Established)
	// For the current endpoint, from a peer that does not know its number.
	x.send(t, l.Addr(), rdma.PutFrame(rdma.Frame{Kind: data, To: 1, Value: 0}, []byte("not his")))
	if err := sendText(ep, "hello"); err != nil {
		t.Fatalf("SendBuffer: got error %v, want none", err)
	}
	if got := string(next(t, "a message", server.Data)); got != "hello" {
		t.Errorf("first message: got %q, want %q", got, "hello")
	}
	if got := b.Stats(); got.BadMessages != uint64(len(bad)) || got.Accepted != 1 {
		t.Errorf("Stats: got %+v, want %d bad messages and one accepted", got, len(bad))
	}
}

func TestListenEndpoint_doesNotRememberAPeerOfManyNames(t *testing.T) {
	cfg := rxm
	cfg.MaxEndpoints = 1
	b := openBackend(t, newWatcher(), cfg)
	l, err := b.OpenListenEndpoint(rdmHost, netio.Params{})
	if err != nil {
		t.Fatalf("OpenListenEndpoint: got error %v, want none", err)
	}
	x := newIntruder(t)
	greeting := rdma.MarshalGreeting(rdma.Greeting{1 << 20, 100, 16, 8})
	const names = rdma.Strangers + 20
	for i := range names {
		name := fi.SocketAddr(netip.AddrPortFrom(rdmHost.Addr(), uint16(1+i)))
		x.send(t, l.Addr(), rdma.PutFrame(rdma.Frame{Kind: hello, Value: uint64(1 + i)}, append(greeting[:len(greeting):len(greeting)], name...)))
	}
	x.send(t, l.Addr(), []byte{1}) // the last one
	var got int
	for limit := time.Now().Add(backendtest.Patience); b.Stats().BadMessages == 0 && time.Now().Before(limit); {
		onLoop(t, b.Loop(), func() { got = max(got, rdma.Addresses(b)) })
	}
	// The one that is accepted is given up after some time, and on a slow machine others come in its place.
	if n := b.Stats().AcceptShed; n <= rdma.Strangers || n >= names {
		t.Errorf("Stats.AcceptShed: got %d, want more than %d, and less than %d", n, rdma.Strangers, names)
	}
	if want := 1 + rdma.Strangers; got > want {
		t.Errorf("addresses: got %d, want at most %d", got, want)
	}
}
