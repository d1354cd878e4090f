// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package rdma_test

import (
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tagbus/netio"
	"tagbus/netio/rdma"
	"tagbus/netio/rdma/internal/fi"
)

// TestListenEndpoint_listensAgainWhenItsDeviceIsBack: where nothing can be opened at first, it tries again. The
// connection that there is stays.
func TestListenEndpoint_listensAgainWhenItsDeviceIsBack(t *testing.T) {
	log := &lockedBuffer{}
	server, client := newWatcher(), newWatcher()
	params := netio.Params{Buffered: netio.BufferedParams{Buffers: 4}}
	s := serve(t, server, rdma.Config{Logger: slog.New(slog.NewTextHandler(log, nil))}, params)
	_, old := s.dial(t, client, rdma.Config{}, params)
	addr := s.l.Addr()

	var tries atomic.Int32
	fi.FailCalls(func(call string) fi.Errno {
		if call == "fi_passive_ep" && tries.Add(1) == 1 {
			return fi.ENODATA
		}
		return 0
	})
	defer fi.FailCalls(nil)
	onLoop(t, s.b.Loop(), func() {
		rdma.RemoveDevice(s.l)
		rdma.RemoveDevice(s.l) // it is told for each
	})
	if got := s.l.Addr(); got != addr {
		t.Errorf("address: got %v, want %v as before", got, addr)
	}
	for limit := time.Now().Add(30 * time.Second); !strings.Contains(log.String(), "is listened on"); <-time.After(time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("it does not listen again within 30 s; log:\n%s", log.String())
		}
	}
	if got := tries.Load(); got != 2 {
		t.Errorf("tries to listen: got %d, want 2", got)
	}
	other := openBackend(t, client, rdma.Config{Provider: provider()})
	if err := other.OpenEndpoint(addr, params); err != nil {
		t.Fatalf("OpenEndpoint: got error %v, want none", err)
	}
	next(t, "OnConnectionEstablished", client.Established)
	fresh := next(t, "OnConnectionEstablished", server.Established)
	for _, ep := range []netio.Endpoint{old, fresh} {
		if err := sendText(ep, "hello"); err != nil {
			t.Fatalf("send: got error %v, want none", err)
		}
		if got := next(t, "a message", client.Data); string(got) != "hello" {
			t.Errorf("message: got %q, want %q", got, "hello")
		}
	}
	if got := strings.Count(log.String(), "nothing connects there"); got != 1 {
		t.Errorf("log: got %d lines about the removal in\n%swant 1", got, log.String())
	}
}

// TestListenEndpoint_closesWhileItsDeviceIsAway leaves nothing.
func TestListenEndpoint_closesWhileItsDeviceIsAway(t *testing.T) {
	before := fi.Registrations()
	s := serve(t, newWatcher(), rdma.Config{Logger: slog.New(slog.DiscardHandler)}, netio.Params{Receive: netio.ReceiveParams{Buffers: 4, Shared: true}})
	tried := make(chan struct{}, 100)
	defer fi.FailCalls(nil)
	for _, wait := range []bool{true, false} { // until it has tried, or at once
		fi.FailCalls(func(call string) fi.Errno {
			if call == "fi_passive_ep" {
				tried <- struct{}{}
				return fi.ENODATA
			}
			return 0
		})
		onLoop(t, s.b.Loop(), func() { rdma.RemoveDevice(s.l) })
		if wait {
			next(t, "a try to listen", tried)
		}
		if err := s.l.Close(); err != nil {
			t.Fatalf("ListenEndpoint.Close: got error %v, want none", err)
		}
		for limit := time.Now().Add(10 * time.Second); ; <-time.After(time.Millisecond) {
			if _, stale := devicesOf(t, s.b); stale == 0 {
				break
			} else if time.Now().After(limit) {
				t.Fatalf("devices: got %d stale, want none", stale)
			}
		}
		fi.FailCalls(nil)
		var err error
		if s.l, err = s.b.OpenListenEndpoint(loopback(), netio.Params{}); err != nil {
			t.Fatalf("OpenListenEndpoint: got error %v, want none", err)
		}
	}
	if err := s.b.Close(); err != nil {
		t.Fatalf("Close: got error %v, want none", err)
	}
	if after := fi.Registrations(); !slices.Equal(after, before) {
		t.Errorf("registrations: got %q, want %q as before", after, before)
	}
}
