// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package rdma_test

import (
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"tagbus/internal/testkit/backendtest"
	"tagbus/netio"
	"tagbus/netio/rdma"
	"tagbus/netio/rdma/internal/fi"
	"tagbus/netio/reactor"
)

// leftRegistered returns what is registered. Behind the last test that is nothing.
func leftRegistered() []string { return fi.Registrations() }

// wantRegistrations fails the test if there are registrations that were not there
// before.
func wantRegistrations(t *testing.T, before []string) {
	t.Helper()
	for _, r := range fi.Registrations() {
		if i := slices.Index(before, r); i >= 0 {
			before = slices.Delete(slices.Clone(before), i, i+1)
		} else {
			t.Errorf("registration that was not closed: got %s\nwant none", r)
		}
	}
}

// opening is a way to open endpoints, each of which registers other memory.
type opening struct {
	name   string
	cfg    rdma.Config
	params netio.Params
}

func (o opening) withoutConnections() bool {
	return o.cfg.Connectionless || o.cfg.Provider != provider()
}

func openings() []opening {
	few := netio.ReceiveParams{MaxMessageBytes: 4 << 10, Buffers: 2}
	shared := few
	shared.Shared = true
	all := []opening{
		{name: "own buffers", cfg: rdma.Config{Provider: provider()}, params: netio.Params{Receive: few}},
		{name: "shared by those of a listen endpoint", cfg: rdma.Config{Provider: provider()}, params: netio.Params{Receive: shared}},
		{name: "shared by all", cfg: rdma.Config{Provider: provider(), Config: netio.Config{
			SharedSend:    netio.SharedBuffers{Buffers: 4, BufferBytes: 4 << 10},
			SharedReceive: netio.SharedBuffers{Buffers: 8, BufferBytes: 4 << 10},
		}}},
	}
	if provider() != rdma.ProviderVerbs {
		for _, cfg := range rdmConfigs() {
			all = append(all, opening{name: "without connections, " + cfg.Provider, cfg: cfg, params: netio.Params{Receive: few}})
		}
	}
	return all
}

// TestListenEndpoint_thatEndsBeforeItBeganGivesUpItsMemory: its backend closes in the
// same turn of the loop.
func TestListenEndpoint_thatEndsBeforeItBeganGivesUpItsMemory(t *testing.T) {
	for _, o := range openings() {
		t.Run(o.name, func(t *testing.T) {
			before := fi.Registrations()
			b := openBackend(t, newWatcher(), o.cfg)
			onLoop(t, b.Loop(), func() {
				l, err := b.OpenListenEndpoint(rdmHost, o.params)
				if err != nil {
					t.Errorf("OpenListenEndpoint: got error %v, want none", err)
					return
				}
				if err := l.Close(); err != nil {
					t.Errorf("ListenEndpoint.Close: got error %v, want none", err)
				}
				if err := b.Close(); err != nil {
					t.Errorf("Backend.Close: got error %v, want none", err)
				}
			})
			if err := b.Close(); err != nil { // waits for the end
				t.Errorf("Backend.Close: got error %v, want none", err)
			}
			wantRegistrations(t, before)
		})
	}
}

// TestBackend_whateverFailsNoRegistrationIsLeft makes each call fail in turn that opens and
// connects two endpoints.
func TestBackend_whateverFailsNoRegistrationIsLeft(t *testing.T) {
	for _, o := range openings() {
		t.Run(o.name, func(t *testing.T) {
			const most = 1000 // calls to connect
			for n := 1; n <= most; n++ {
				before := fi.Registrations()
				failed := connectFailing(t, o, n)
				wantRegistrations(t, before)
				if t.Failed() {
					t.Fatalf("call %d, %s, has failed", n, failed)
				}
				if failed == "" {
					return
				}
			}
			t.Errorf("calls to connect: got more than %d, want fewer", most)
		})
	}
}

// connectFailing opens two backends and connects them, and has call n fail. It
// returns the name of the call, "" if there are fewer. Whatever comes of it, all is
// closed when it returns.
func connectFailing(t *testing.T, o opening, n int) (failed string) {
	t.Helper()
	var calls atomic.Int64
	var name atomic.Value
	fi.FailCalls(func(call string) fi.Errno {
		if call == "fi_ep_bind" && o.withoutConnections() {
			return 0 // libfabric 1.17 crashes when an endpoint is closed that is not bound
		}
		if calls.Add(1) != int64(n) {
			return 0
		}
		name.Store(call)
		return fi.EINVAL
	})
	defer fi.FailCalls(nil)
	o.cfg.Logger = slog.New(slog.DiscardHandler)
	region := newRegion(t, 4<<10)
	o.params.ZeroCopy = netio.ZeroCopyParams{Region: region, Outstanding: 4}
	if !o.cfg.SharedSend.Enabled() {
		o.params.Buffered = netio.BufferedParams{Buffers: 2, BufferBytes: 4 << 10}
	}
	o.params.ConnectTimeout = 500 * time.Millisecond
	server, client := newWatcher(), newWatcher()
	a, b := startBackend(t, server, o.cfg), startBackend(t, client, o.cfg)
	defer a.end(t)
	defer b.end(t)
	addr := loopback()
	if o.withoutConnections() {
		addr = rdmHost
	}
	l, err := a.OpenListenEndpoint(addr, o.params)
	o.params.Receive.Shared = false
	if err == nil {
		if err := b.OpenEndpoint(l.Addr(), o.params); err != nil {
			t.Fatalf("OpenEndpoint: got error %v, want none", err)
		}
		select {
		case <-client.Established:
		case err := <-client.Refused:
			if err == nil {
				t.Error("OnConnectionRefused: got no error, want one")
			}
		case <-time.After(backendtest.Patience):
			t.Fatalf("the outcome of OpenEndpoint: got nothing for %v, want one", backendtest.Patience)
		}
	}
	failed, _ = name.Load().(string)
	return failed
}

// running is a backend on a loop of its own that ends before the test does.
type running struct {
	netio.Backend
	loop *backendtest.Runner
}

func startBackend(t *testing.T, w *watcher, cfg rdma.Config) running {
	t.Helper()
	loop := backendtest.NewRunner(t, reactor.Config{})
	loop.Start()
	b, err := rdma.Opener(loop.EventLoop, cfg)(w)
	if err != nil {
		t.Fatalf("open backend: got error %v, want none", err)
	}
	return running{b, loop}
}

func (r running) end(t *testing.T) {
	t.Helper()
	if err := r.Close(); err != nil {
		t.Errorf("Backend.Close: got error %v, want none", err)
	}
	r.loop.End(t)
	if err := r.loop.Close(); err != nil {
		t.Errorf("close the loop: got error %v, want none", err)
	}
}
