// SPDX-License-Identifier: Apache-2.0

package tcp_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"

	"tagbus/internal/testkit"
	"tagbus/internal/testkit/backendtest"
	"tagbus/netio"
	"tagbus/netio/netiotest"
	"tagbus/netio/reactor"
	"tagbus/netio/tcp"
)

// spreadSuite describes backends with that many loops, beside that of the callbacks.
func spreadSuite(t *testing.T, listen string, cfg tcp.Config, loops int) netiotest.Suite {
	s := suite(listen, cfg)
	several := backendtest.Suite(s.ListenAddr, func(base netio.Config) backendtest.Opener {
		cfg := cfg
		cfg.Config = base
		return func(loop *reactor.EventLoop) netio.Opener {
			return tcp.OpenerOn(loop, backendtest.StartLoops(t, loops), cfg)
		}
	})
	s.Open, s.StopLoop, s.NoSharing = several.Open, several.StopLoop, true
	return s
}

func TestOpenerOn_conformanceWithSeveralLoops(t *testing.T) {
	narrow := tcp.WithAcceptBudget(tcp.WithReadBudget(tcp.Config{SendBufferBytes: 1, ReceiveBufferBytes: 16384}, 4<<10), 1)
	cases := []struct {
		cfg            tcp.Config
		loops          int
		receiveBuffers int
	}{
		{tcp.Config{}, 3, 0},
		{narrow, 2, 2},
		{withTLS(t, tcp.Config{}), 3, 0},
		{withTLS(t, narrow), 2, 2},
	}
	for i, tt := range cases {
		t.Run(fmt.Sprintf("%d loops, %d receive buffers, TLS %t", tt.loops, tt.receiveBuffers, tt.cfg.TLS != nil), func(t *testing.T) {
			first := i == 0 || tt.cfg.TLS != nil && tt.receiveBuffers == 0
			backendtest.Only(t, first, !first) // one is enough to find what is shared
			s := spreadSuite(t, "127.0.0.1:0", tt.cfg, tt.loops)
			if s.ReceiveBuffers = tt.receiveBuffers; s.ReceiveBuffers > 0 {
				s.Capabilities.Retain = false
			}
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
	s := spreadSuite(t, backendtest.OwnHost().String(), tcp.Config{}, 3)
	netiotest.RandomRun(t, s)
}

// openSpread opens a backend on loops of its own.
func openSpread(t *testing.T, w *watcher, loops []*reactor.EventLoop, cfg tcp.Config) *served {
	t.Helper()
	b, _ := backendtest.Open(t, reactor.Config{}, w, func(loop *reactor.EventLoop) netio.Opener { return tcp.OpenerOn(loop, loops, cfg) })
	l, err := b.OpenListenEndpoint(loopback, netio.Params{})
	if err != nil {
		t.Fatalf("OpenListenEndpoint: got error %v, want none", err)
	}
	return &served{w, b, l}
}

func TestOpenerOn_connectionsAreSharedOutAmongTheLoops(t *testing.T) {
	const loops, each = 3, 4
	s := openSpread(t, newWatcher(), backendtest.StartLoops(t, loops), tcp.Config{MaxEndpoints: loops*each + 1})
	dialer := openSpread(t, newWatcher(), backendtest.StartLoops(t, loops), tcp.Config{})
	var conns []io.Closer
	for i := range loops * each {
		c, _ := s.dialRaw(t)
		conns = append(conns, c)
		other := openSpread(t, newWatcher(), nil, tcp.Config{})
		if err := dialer.b.OpenEndpoint(other.l.Addr(), netio.Params{}); err != nil {
			t.Fatalf("OpenEndpoint %d: got error %v, want none", i, err)
		}
	}
	for range loops * each {
		next(t, "OnConnectionEstablished of the dialer", dialer.Established)
	}
	for name, b := range map[string]netio.Backend{"accepted": s.b, "opened": dialer.b} {
		for i, n := range tcp.Loads(b) {
			if n != each {
				t.Errorf("%s endpoints of loop %d: got %d, want %d", name, i, n, each)
			}
		}
	}
	s.dialRaw(t)
	c := dialRaw(t, s.l.Addr())
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("one connection more than MaxEndpoints: got error %v, want the end", err)
	}
	for _, c := range conns {
		_ = c.Close()
		next(t, "OnConnectionClosed", s.Closed)
	}
	s.dialRaw(t) // there is room again
}

// TestOpenerOn_retainedMessagesOfSeveralLoops keeps messages beyond the end of the backend.
func TestOpenerOn_retainedMessagesOfSeveralLoops(t *testing.T) {
	const messages = 50
	var kept []keptMessage
	w := newWatcher()
	w.AtData = func(ep netio.Endpoint, data []byte) {
		r, err := ep.Retain()
		if err != nil {
			t.Errorf("Retain: got error %v, want none", err)
			return
		}
		kept = append(kept, keptMessage{r, data, bytes.Clone(data)})
	}
	s := openSpread(t, w, backendtest.StartLoops(t, 2), tcp.Config{})
	for range 2 {
		c, _ := s.dialRaw(t)
		for i := range messages {
			write(t, c, frame(pattern(1+i*3000, i)))
		}
	}
	for range 2 * messages {
		next(t, "OnData", s.Data)
	}
	if err := s.b.Close(); err != nil {
		t.Errorf("Close: got error %v, want none", err)
	}
	for i, m := range kept {
		if !bytes.Equal(m.data, m.want) {
			t.Errorf("retained message %d: got other bytes than at first", i)
		}
		m.retained.Release()
	}
	if used := tcp.SpreadBytes(s.b); used != 0 {
		t.Errorf("memory when all is released: got %d bytes, want none", used)
	}
}

func TestOpenerOn_severalLoopsShareNoBuffers(t *testing.T) {
	shared := netio.SharedBuffers{Buffers: 4}
	loops := backendtest.StartLoops(t, 1)
	_, err := tcp.OpenerOn(loops[0], loops, tcp.Config{Config: netio.Config{
		ThreadSafety: netio.Unsafe, SharedReceive: shared, SharedSend: shared,
	}})(newWatcher())
	for _, field := range []string{"ThreadSafety is unsafe", "SharedReceive.Buffers is 4", "SharedSend.Buffers is 4"} {
		if !errors.Is(err, netio.ErrInvalidConfig) || !strings.Contains(err.Error(), field) {
			t.Errorf("open: got error %v, want %v that says %q", err, netio.ErrInvalidConfig, field)
		}
	}
	s := openSpread(t, newWatcher(), backendtest.StartLoops(t, 1), tcp.Config{})
	p := netio.Params{Receive: netio.ReceiveParams{Buffers: 2, Shared: true}}
	_, err = s.b.OpenListenEndpoint(loopback, p)
	if !errors.Is(err, netio.ErrInvalidParams) || !strings.Contains(err.Error(), "Receive.Shared is true") {
		t.Errorf("OpenListenEndpoint: got error %v, want %v about Receive.Shared", err, netio.ErrInvalidParams)
	}
}
