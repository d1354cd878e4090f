// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package rdma_test

import (
	"bytes"
	"errors"
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

// enables makes calls of fi_enable fail with EINVAL, on the accepting or on the opening
// side: endpoints are opened one after the other, and the opening side comes first.
type enables struct {
	accepting, dialing atomic.Bool  // fail
	calls              atomic.Int64 // of fi_enable
	domains            atomic.Int64 // calls of fi_domain
}

func failEnables(t *testing.T) *enables {
	t.Helper()
	f := &enables{}
	fi.FailCalls(func(call string) fi.Errno {
		switch call {
		case "fi_domain":
			f.domains.Add(1)
		case "fi_enable":
			if f.dialing.Load() || f.calls.Add(1)%2 == 0 && f.accepting.Load() {
				return fi.EINVAL
			}
		}
		return 0
	})
	t.Cleanup(func() { fi.FailCalls(nil) })
	return f
}

// devicesOf returns what rdma.Devices does.
func devicesOf(t *testing.T, b netio.Backend) (fresh, stale int) {
	t.Helper()
	onLoop(t, b.Loop(), func() { fresh, stale = rdma.Devices(b) })
	return fresh, stale
}

// TestListenEndpoint_goesOnWhenItsDeviceIsStale lets the device refuse all that is
// accepted until it was opened again, as one of verbs does that is not what it was.
func TestListenEndpoint_goesOnWhenItsDeviceIsStale(t *testing.T) {
	for _, o := range openings() {
		if o.withoutConnections() {
			continue
		}
		t.Run(o.name, func(t *testing.T) {
			log := &lockedBuffer{}
			o.cfg.Logger = slog.New(slog.NewTextHandler(log, nil))
			fail := failEnables(t)
			if !o.cfg.SharedSend.Enabled() {
				o.params.Buffered = netio.BufferedParams{Buffers: 4}
			}
			server, client := newWatcher(), newWatcher()
			dialed := o.params
			dialed.Receive.Shared = false
			s := serve(t, server, o.cfg, o.params)
			_, old := s.dial(t, client, rdma.Config{}, dialed)
			if got := fail.domains.Load(); got != 2 {
				t.Fatalf("domains opened to connect once: got %d, want one at either side", got)
			}

			fail.accepting.Store(true)
			const refused = 3
			other := openBackend(t, client, rdma.Config{Provider: provider(), Logger: slog.New(slog.DiscardHandler)})
			for range refused {
				if err := other.OpenEndpoint(s.l.Addr(), dialed); err != nil {
					t.Fatalf("OpenEndpoint: got error %v, want none", err)
				}
				if err := next(t, "OnConnectionRefused", client.Refused); err == nil {
					t.Error("OnConnectionRefused: got no error, want one")
				}
			}
			fail.accepting.Store(false)
			onLoop(t, s.b.Loop(), func() {})
			if got := s.b.Stats().AcceptErrors; got != refused {
				t.Errorf("Stats.AcceptErrors: got %d, want %d", got, refused)
			}
			if got := strings.Count(log.String(), "cannot serve an accepted connection"); got != 1 {
				t.Errorf("log: got %d reports of refused connections in\n%swant 1 for the row", got, log.String())
			}
			if fresh, stale := devicesOf(t, s.b); fresh != 0 || stale != 1 {
				t.Errorf("devices after the row: got %d fresh and %d stale, want 0 and 1, which a connection uses", fresh, stale)
			}

			before := fail.domains.Load()
			if err := other.OpenEndpoint(s.l.Addr(), dialed); err != nil {
				t.Fatalf("OpenEndpoint: got error %v, want none", err)
			}
			next(t, "OnConnectionEstablished", client.Established)
			fresh := next(t, "OnConnectionEstablished", server.Established)
			if got := fail.domains.Load() - before; got != 1 {
				t.Errorf("domains opened since: got %d, want 1, of the listen endpoint", got)
			}
			if got := strings.Count(log.String(), "connections are served again"); got != 1 {
				t.Errorf("log: got %d times that connections are served again in\n%swant once", got, log.String())
			}
			for _, ep := range []netio.Endpoint{fresh, old} {
				if err := sendText(ep, "hello"); err != nil {
					t.Fatalf("send: got error %v, want none", err)
				}
				if got := next(t, "a message", client.Data); string(got) != "hello" {
					t.Errorf("message: got %q, want %q", got, "hello")
				}
			}

			if err := old.Close(); err != nil {
				t.Fatalf("Close: got error %v, want none", err)
			}
			next(t, "OnConnectionClosed", server.Closed)
			if fresh, stale := devicesOf(t, s.b); fresh != 1 || stale != 1 {
				t.Errorf("devices after the last connection of the stale one: got %d fresh and %d stale, want 1 and 1, which listens", fresh, stale)
			}
			if err := s.l.Close(); err != nil {
				t.Fatalf("ListenEndpoint.Close: got error %v, want none", err)
			}
			next(t, "OnConnectionClosed", server.Closed)
			if fresh, stale := devicesOf(t, s.b); fresh != 1 || stale != 0 {
				t.Errorf("devices after the listen endpoint: got %d fresh and %d stale, want 1 and 0", fresh, stale)
			}
		})
	}
}

// TestBackend_OpenEndpoint_opensAStaleDeviceAgain is about the other side.
func TestBackend_OpenEndpoint_opensAStaleDeviceAgain(t *testing.T) {
	s := serve(t, newWatcher(), rdma.Config{}, netio.Params{})
	fail := failEnables(t)
	w := newWatcher()
	b := openBackend(t, w, rdma.Config{Provider: provider(), Logger: slog.New(slog.DiscardHandler)})
	fail.dialing.Store(true)
	var errs []error
	for range 3 {
		if err := b.OpenEndpoint(s.l.Addr(), netio.Params{}); err != nil {
			t.Fatalf("OpenEndpoint: got error %v, want none", err)
		}
		errs = append(errs, next(t, "OnConnectionRefused", w.Refused))
	}
	for i, err := range errs {
		if got, want := errors.Is(err, rdma.ErrStaleDevice), i == 2; got != want || !errors.Is(err, fi.EINVAL) {
			t.Errorf("refusal %d: got error %v, want EINVAL, and with %v: %t", i, err, rdma.ErrStaleDevice, want)
		}
	}
	if fresh, stale := devicesOf(t, b); fresh != 0 || stale != 0 {
		t.Errorf("devices: got %d fresh and %d stale, want none: nothing uses it", fresh, stale)
	}
	fail.dialing.Store(false)
	if err := b.OpenEndpoint(s.l.Addr(), netio.Params{}); err != nil {
		t.Fatalf("OpenEndpoint: got error %v, want none", err)
	}
	next(t, "OnConnectionEstablished", w.Established)
	if got := fail.domains.Load(); got != 2 {
		t.Errorf("domains opened by the dialing side: got %d, want 2", got)
	}
}

func TestBackend_opensADeviceAgainAfterPausesThatGrow(t *testing.T) {
	if got, want := rdma.Renewals(100, 0), []int{3}; !slices.Equal(got, want) {
		t.Errorf("100 failures at once: opened again after %v, want after %v", got, want)
	}
	if got, want := rdma.Renewals(32, time.Second/2), []int{3, 6, 10, 18}; !slices.Equal(got, want) {
		t.Errorf("failures each half second: opened again after %v, want after %v", got, want)
	}
	hour := rdma.Renewals(int(time.Hour/time.Second), time.Second)
	if last := hour[len(hour)-1] - hour[len(hour)-2]; last != 60 {
		t.Errorf("failures each second for an hour: last opened again %d s after the time before, want 60 s", last)
	}
}

func TestListenEndpoint_reportsRefusedConnectionsInRows(t *testing.T) {
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	var r rdma.Refusals
	now, err := time.Unix(1, 0), errors.New("no")
	fail := func(n int) {
		for range n {
			r.Refused(logger, now, loopback(), err)
		}
	}
	wantLog := func(what string, texts ...string) {
		t.Helper()
		lines := slices.Collect(strings.Lines(log.String()))
		log.Reset()
		if len(lines) != len(texts) {
			t.Errorf("log of %s: got %q, want %d lines", what, lines, len(texts))
			return
		}
		for i, text := range texts {
			if !strings.Contains(lines[i], text) {
				t.Errorf("line %d of %s: got %q, want %q in it", i, what, lines[i], text)
			}
		}
	}
	r.Served(logger)
	wantLog("a connection that is served")
	fail(250)
	wantLog("a row of 250", "row=1 before=0", "row=10 before=8", "row=100 before=89")
	r.Served(logger)
	wantLog("its end", "refused=250")
	fail(3)
	r.Served(logger)
	wantLog("a row at once behind it")
	now = now.Add(time.Minute)
	fail(1)
	wantLog("a row later", "row=1 before=153")
}
