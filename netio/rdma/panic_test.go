// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package rdma_test

import (
	"errors"
	"testing"

	"tagbus/internal/testkit/backendtest"
	"tagbus/netio"
	"tagbus/netio/rdma"
	"tagbus/netio/reactor"
)

// TestEndpoint_aCallbackThatPanicsEndsIt lets a callback of one connection panic
// while another one has messages in the same turn.
func TestEndpoint_aCallbackThatPanicsEndsIt(t *testing.T) {
	tests := []struct {
		name string
		trip func(w *watcher, guilty func(netio.Endpoint) bool)
	}{
		{"OnData", func(w *watcher, guilty func(netio.Endpoint) bool) {
			w.AtData = func(ep netio.Endpoint, _ []byte) {
				if guilty(ep) {
					panic("test")
				}
			}
		}},
		{"OnSendCompleted", func(w *watcher, guilty func(netio.Endpoint) bool) {
			w.AtCompleted = func(c netio.Completion) {
				if guilty(c.Endpoint) {
					panic("test")
				}
			}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			panics := make(chan *reactor.Panic, backendtest.Watched)
			w := newWatcher()
			b, _ := openBackendOn(t, reactor.Config{OnPanic: func(p *reactor.Panic) { panics <- p }}, w, rdma.Config{Provider: provider()})
			p := netio.Params{Buffered: netio.BufferedParams{Buffers: 4}}
			l, err := b.OpenListenEndpoint(loopback(), p)
			if err != nil {
				t.Fatal(err)
			}
			var guilty netio.Endpoint
			tt.trip(w, func(ep netio.Endpoint) bool { return ep == guilty })
			var own, others []netio.Endpoint
			for range 2 {
				x := newWatcher()
				other := openBackend(t, x, rdma.Config{Provider: provider()})
				if err := other.OpenEndpoint(l.Addr(), p); err != nil {
					t.Fatal(err)
				}
				others = append(others, next(t, "OnConnectionEstablished", x.Established))
				own = append(own, next(t, "OnConnectionEstablished", w.Established))
			}
			onLoop(t, b.Loop(), func() { guilty = own[0] })
			for range 3 {
				for i := range own {
					for _, ep := range []netio.Endpoint{own[i], others[i]} {
						if err := sendText(ep, "hello"); err != nil && !errors.Is(err, netio.ErrClosed) {
							t.Fatalf("send: got error %v, want none", err)
						}
					}
				}
			}
			if end := next(t, "OnConnectionClosed", w.Closed); end.Endpoint != own[0] || !errors.Is(end.Cause, rdma.ErrCallbackPanicked) {
				t.Errorf("OnConnectionClosed: got cause %v, want %v of the one that panicked", end.Cause, rdma.ErrCallbackPanicked)
			}
			if got := next(t, "OnPanic", panics); got.Value != "test" {
				t.Errorf("panic: got %v, want that of the callback", got.Value)
			}
			if err := sendText(others[1], "and still here"); err != nil {
				t.Errorf("send on the other connection: got error %v, want none", err)
			}
			for string(next(t, "a message on the other connection", w.Data)) != "and still here" {
				continue
			}
		})
	}
}

// sendText sends a message from a buffer of ep.
func sendText(ep netio.Endpoint, text string) error {
	b, err := ep.Buffer()
	if err != nil {
		return err
	}
	if _, err := b.Write([]byte(text)); err != nil {
		return err
	}
	return ep.SendBuffer(b)
}
