// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package rdma_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"tagbus/internal/testkit"
	"tagbus/internal/testkit/backendtest"
	"tagbus/netio"
	"tagbus/netio/netiotest"
	"tagbus/netio/rdma"
	"tagbus/netio/reactor"
)

// onLoops is opener for backends with that many loops, beside that of the callbacks.
func onLoops(t netiotest.TB, cfg rdma.Config, loops int) backendtest.Opener {
	return func(loop *reactor.EventLoop) netio.Opener {
		return rdma.OpenerOn(loop, backendtest.StartLoops(t, loops), cfg)
	}
}

// spreadSuite is s for backends with that many loops.
func spreadSuite(t netiotest.TB, s netiotest.Suite, cfg rdma.Config, loops int) netiotest.Suite {
	several := backendtest.Suite(s.ListenAddr, func(base netio.Config) backendtest.Opener {
		cfg := cfg
		cfg.Config = base
		return onLoops(t, cfg, loops)
	})
	s.Open, s.StopLoop, s.NoSharing = several.Open, several.StopLoop, true
	return s
}

func TestOpenerOn_conformanceWithSeveralLoops(t *testing.T) {
	tests := []struct {
		name           string
		cfg            rdma.Config
		loops          int
		receiveBuffers int
		race, plain    bool
	}{
		{"default buffers", rdma.Config{Provider: provider()}, 3, 0, true, false},
		{"few receive buffers", rdma.Config{Provider: provider()}, 2, 2, false, true},
		{"without connections", rdmConfigs()[0], 2, 0, false, false}, // half a minute of a processor
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			besideDevice(t) // the tests of this file that are quick use it
			backendtest.Only(t, tt.race, tt.plain)
			s := suite(tt.cfg)
			if tt.cfg.Provider == rdmConfigs()[0].Provider {
				s = rdmSuite(tt.cfg)
			} else {
				s.Capabilities.Retain = true
			}
			s = spreadSuite(t, s, tt.cfg, tt.loops)
			s.ReceiveBuffers = tt.receiveBuffers
			if !testkit.Race {
				// With loops of their own, what breaks these rules is a race.
				s.Violations = backendtest.Violations(t)
			}
			netiotest.Run(t, s)
		})
	}
}

// TestOpenerOn_randomRunWithSeveralLoops is TestRandomRun for a backend of three loops.
func TestOpenerOn_randomRunWithSeveralLoops(t *testing.T) {
	besideDevice(t)
	t.Run("the first use of a device", load)
	cfg := rdma.Config{Provider: provider()}
	s := suite(cfg)
	s.ReceiveBuffers = 4
	if provider() != rdma.ProviderVerbs { // a device has its own addresses
		s.ListenAddr = backendtest.OwnHost()
	}
	s.Capabilities.Retain = true
	netiotest.RandomRun(t, spreadSuite(t, s, cfg, 3))
}

// serveOn is serve for a backend on loops of its own.
func serveOn(t *testing.T, w *watcher, loops []*reactor.EventLoop, cfg rdma.Config, p netio.Params) *served {
	t.Helper()
	cfg.Provider = provider()
	b, _ := backendtest.Open(t, reactor.Config{}, w, func(loop *reactor.EventLoop) netio.Opener { return rdma.OpenerOn(loop, loops, cfg) })
	l, err := b.OpenListenEndpoint(loopback(), p)
	if err != nil {
		t.Fatalf("OpenListenEndpoint: got error %v, want none", err)
	}
	return &served{watcher: w, b: b, l: l}
}

// wantLoads checks how many endpoints the loops of a backend have.
func wantLoads(t *testing.T, what string, b netio.Backend, want ...int64) {
	t.Helper()
	if got := rdma.Loads(b); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s endpoints of the loops: got %v, want %v", what, got, want)
	}
}

// small are connections that cost little.
var small = netio.Params{Receive: netio.ReceiveParams{MaxMessageBytes: 4 << 10, Buffers: 4}, Buffered: netio.BufferedParams{Buffers: 2}}

func TestOpenerOn_connectionsAreSharedOutAmongTheLoops(t *testing.T) {
	const loops, each = 3, 2
	s := serveOn(t, newWatcher(), backendtest.StartLoops(t, loops), rdma.Config{MaxEndpoints: loops * each}, small)
	dialer := serveOn(t, newWatcher(), backendtest.StartLoops(t, loops), rdma.Config{}, small)
	for i := range loops * each {
		opened, _ := s.dial(t, newWatcher(), rdma.Config{}, small)
		if err := sendText(opened, "hello"); err != nil {
			t.Fatalf("SendBuffer: got error %v, want none", err)
		}
		next(t, "OnData", s.Data)
		other := serve(t, newWatcher(), rdma.Config{}, small)
		if err := dialer.b.OpenEndpoint(other.l.Addr(), small); err != nil {
			t.Fatalf("OpenEndpoint %d: got error %v, want none", i, err)
		}
		next(t, "OnConnectionEstablished of the dialer", dialer.Established)
	}
	wantLoads(t, "accepted", s.b, each, each, each)
	wantLoads(t, "opened", dialer.b, each, each, each)

	w := newWatcher()
	late := openBackend(t, w, rdma.Config{Provider: provider()})
	if err := late.OpenEndpoint(s.l.Addr(), small); err != nil {
		t.Fatalf("OpenEndpoint: got error %v, want none", err)
	}
	if err := next(t, "OnConnectionRefused of one more than MaxEndpoints", w.Refused); errors.Is(err, netio.ErrTimeout) {
		t.Errorf("OnConnectionRefused of one more than MaxEndpoints: got %v, want it at once", err)
	}
	if err := s.dialed.Close(); err != nil {
		t.Errorf("Close: got error %v, want none", err)
	}
	next(t, "OnConnectionClosed", s.Closed)
	s.dial(t, newWatcher(), rdma.Config{}, small) // there is room again
}

// TestOpenerOn_retainedMessagesOfSeveralLoops keeps messages beyond the end of the backend.
func TestOpenerOn_retainedMessagesOfSeveralLoops(t *testing.T) {
	type kept struct {
		netio.Retained
		data, want []byte
	}
	var all []kept
	w := newWatcher()
	w.AtData = func(ep netio.Endpoint, data []byte) {
		r, err := ep.Retain()
		if err == nil {
			all = append(all, kept{r, data, bytes.Clone(data)})
		} else if !errors.Is(err, netio.ErrNoResources) {
			t.Errorf("Retain: got error %v, want none, or %v", err, netio.ErrNoResources)
		}
	}
	s := serveOn(t, w, backendtest.StartLoops(t, 2), rdma.Config{}, small)
	const connections, messages = 2, 5
	for c := range connections {
		opened, _ := s.dial(t, newWatcher(), rdma.Config{}, small)
		for i := range messages {
			if err := sendText(opened, fmt.Sprint("message ", c, i)); err != nil {
				t.Fatalf("SendBuffer: got error %v, want none", err)
			}
			next(t, "OnData", s.Data)
		}
	}
	if err := s.b.Close(); err != nil {
		t.Errorf("Close: got error %v, want none", err)
	}
	if len(all) < connections {
		t.Errorf("retained: got %d messages, want %d or more", len(all), connections)
	}
	for i, m := range all {
		if !bytes.Equal(m.data, m.want) {
			t.Errorf("retained message %d: got other bytes than at first", i)
		}
		m.Release()
	}
}

// TestOpenerOn_whatSeveralLoopsCannotDo is refused.
func TestOpenerOn_whatSeveralLoopsCannotDo(t *testing.T) {
	loops := backendtest.StartLoops(t, 1)
	_, err := rdma.OpenerOn(loops[0], loops, rdma.Config{Provider: provider(), Config: netio.Config{
		ThreadSafety: netio.Unsafe, SharedReceive: netio.SharedBuffers{Buffers: 4},
	}})(newWatcher())
	_, shm := rdma.OpenerOn(loops[0], loops, rdma.Config{Provider: "shm"})(newWatcher())
	for field, err := range map[string]error{"ThreadSafety is unsafe": err, "SharedReceive.Buffers is 4": err, "Provider is shm": shm} {
		if !errors.Is(err, netio.ErrInvalidConfig) || !strings.Contains(err.Error(), field) {
			t.Errorf("open: got error %v, want %v that says %q", err, netio.ErrInvalidConfig, field)
		}
	}
}

// TestOpenerOn_aLoopThatHasEnded: the others serve its part.
func TestOpenerOn_aLoopThatHasEnded(t *testing.T) {
	runners := []*backendtest.Runner{backendtest.StartLoop(t, reactor.Config{}), backendtest.StartLoop(t, reactor.Config{})}
	s := serveOn(t, newWatcher(), []*reactor.EventLoop{runners[0].EventLoop, runners[1].EventLoop}, rdma.Config{}, small)
	runners[1].End(t)
	for range 3 {
		s.dial(t, newWatcher(), rdma.Config{}, small)
	}
	wantLoads(t, "accepted", s.b, 3, 0)
}

// TestOpenerOn_aRequestToALoopThatDoesNotRun is refused when what it came to ends: its listen
// endpoint, or the backend.
func TestOpenerOn_aRequestToALoopThatDoesNotRun(t *testing.T) {
	for _, what := range []string{"listen endpoint", "backend"} {
		t.Run(what, func(t *testing.T) {
			never := backendtest.NewRunner(t, reactor.Config{})
			t.Cleanup(func() { _ = never.Close() })
			s := serveOn(t, newWatcher(), append(backendtest.StartLoops(t, 1), never.EventLoop), rdma.Config{}, small)
			s.dial(t, newWatcher(), rdma.Config{}, small) // of the first loop
			w := newWatcher()
			b := openBackend(t, w, rdma.Config{Provider: provider()})
			if err := b.OpenEndpoint(s.l.Addr(), small); err != nil {
				t.Fatalf("OpenEndpoint: got error %v, want none", err)
			}
			waitFor(t, s.b.Loop(), "the request is on its way", func() bool { return rdma.Loads(s.b)[1] == 1 })
			closer := s.b.Close
			if what == "listen endpoint" {
				closer = s.l.Close
			}
			if err := closer(); err != nil {
				t.Errorf("Close: got error %v, want none", err)
			}
			if err := next(t, "OnConnectionRefused", w.Refused); errors.Is(err, netio.ErrTimeout) {
				t.Errorf("OnConnectionRefused: got %v, want it at once", err)
			}
			if left := rdma.Loads(s.b)[1]; left != 0 { // the other loop may be ending what it has
				t.Errorf("got %d endpoints of the loop that does not run, want none", left)
			}
		})
	}
}
