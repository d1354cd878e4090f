// SPDX-License-Identifier: Apache-2.0

package tcp_test

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"

	"tagbus/netio"
	"tagbus/netio/reactor"
	"tagbus/netio/tcp"
)

// shared returns a configuration in which all endpoints share receive buffers.
func shared(buffers, size int) tcp.Config {
	return tcp.Config{Config: netio.Config{SharedReceive: netio.SharedBuffers{Buffers: buffers, BufferBytes: size}}}
}

// receiveKinds are the owners of receive buffers, each with one for messages of
// up to 5,000 bytes.
var receiveKinds = []struct {
	name    string
	cfg     tcp.Config
	receive netio.ReceiveParams
	pool    func(s *served, ep netio.Endpoint) tcp.ReceivePool // on the loop
}{
	{
		"of its own",
		tcp.Config{},
		netio.ReceiveParams{Buffers: 1, MaxMessageBytes: 5000},
		func(_ *served, ep netio.Endpoint) tcp.ReceivePool { return tcp.ReceivePoolOf(ep) },
	},
	{
		"of the listen endpoint",
		tcp.Config{},
		netio.ReceiveParams{Buffers: 1, MaxMessageBytes: 5000, Shared: true},
		func(s *served, _ netio.Endpoint) tcp.ReceivePool { return tcp.ReceivePoolOf(s.l) },
	},
	{
		"of the backend", shared(1, 5000),
		netio.ReceiveParams{},
		func(s *served, _ netio.Endpoint) tcp.ReceivePool { return tcp.ReceivePoolOf(s.b) },
	},
}

// TestEndpoint_receiveBuffers: several peers send at once, each in parts of random sizes down to
// one byte, to endpoints with one buffer, or one for all.
func TestEndpoint_receiveBuffers(t *testing.T) {
	const peers, messages = 8, 30
	sizes := []int{1, 5000, 3, 700, 4999, 2500}
	for _, kind := range receiveKinds {
		t.Run(kind.name, func(t *testing.T) {
			w := newWatcher()
			got := make(map[netip.AddrPort][][]byte)
			w.AtData = func(ep netio.Endpoint, data []byte) {
				got[ep.Remote()] = append(got[ep.Remote()], bytes.Clone(data))
			}
			s := serve(t, w, kind.cfg, netio.Params{Receive: kind.receive})
			var eps []netio.Endpoint
			want := make(map[netip.AddrPort][][]byte)
			var sending sync.WaitGroup
			defer sending.Wait()
			for i := range peers {
				c, ep := s.dialRaw(t)
				eps = append(eps, ep)
				var stream []byte
				for j := range messages {
					m := pattern(sizes[(i+j)%len(sizes)], i*messages+j)
					want[ep.Remote()] = append(want[ep.Remote()], m)
					stream = append(stream, frame(m)...)
				}
				sending.Go(func() { sendInParts(t, c, stream, uint64(i)) })
			}
			for range peers {
				if end := next(t, "OnConnectionClosed", s.Closed); end.Cause != io.EOF { //nolint:errorlint // io.EOF is promised unwrapped
					t.Errorf("cause: got %v, want %v", end.Cause, io.EOF)
				}
			}
			for remote, m := range want {
				if !slices.EqualFunc(got[remote], m, bytes.Equal) {
					t.Errorf("from %v: got %d messages, want the %d that were sent", remote, len(got[remote]), len(m))
				}
			}
			onLoop(t, s.b.Loop(), func() {
				if used := kind.pool(s, eps[0]).Used(); used != 0 {
					t.Errorf("at the end: got %d buffers in use, want none", used)
				}
			})
			if used, _ := tcp.BackendBytes(s.b); used != 0 {
				t.Errorf("memory beside the receive buffers: got %d bytes, want none", used)
			}
		})
	}
}

// sendInParts writes a stream in parts of random sizes, and closes.
func sendInParts(tb testing.TB, c *net.TCPConn, stream []byte, seed uint64) {
	tb.Helper()
	random := rand.New(rand.NewPCG(seed, 7))
	for len(stream) > 0 {
		n := min(1+random.IntN(1<<random.IntN(13)), len(stream))
		if _, err := c.Write(stream[:n]); err != nil {
			tb.Errorf("write: got error %v, want none", err)
			return
		}
		stream = stream[n:]
	}
	if err := c.Close(); err != nil {
		tb.Errorf("close: got error %v, want none", err)
	}
}

func TestEndpoint_receiveBuffersTakeTheLargestMessage(t *testing.T) {
	for _, kind := range receiveKinds {
		t.Run(kind.name, func(t *testing.T) {
			s := serve(t, newWatcher(), kind.cfg, netio.Params{Receive: kind.receive})
			c, ep := s.dialRaw(t)
			for i := range 3 {
				write(t, c, frame(pattern(5000, i)))
				if got := next(t, "OnData", s.Data); !bytes.Equal(got, pattern(5000, i)) {
					t.Errorf("message %d of the limit: got %d bytes, want 5000", i, len(got))
				}
			}
			write(t, c, frame(make([]byte, 5001)))
			if end := next(t, "OnConnectionClosed", s.Closed); end.Endpoint != ep || !errors.Is(end.Cause, netio.ErrMessageLength) {
				t.Errorf("a message over the limit: got cause %v, want %v", end.Cause, netio.ErrMessageLength)
			}
		})
	}
}

func TestEndpoint_receiveBuffersKeepTheLimitOfTheFirstMessage(t *testing.T) {
	for _, kind := range receiveKinds {
		t.Run(kind.name, func(t *testing.T) {
			kind.receive.FirstMessageBytes = 100
			s := serve(t, newWatcher(), kind.cfg, netio.Params{Receive: kind.receive})
			c, _ := s.dialRaw(t)
			write(t, c, slices.Concat(frame(make([]byte, 100)), frame(make([]byte, 5000))))
			next(t, "OnData", s.Data)
			next(t, "OnData", s.Data)
			stranger, ep := s.dialRaw(t)
			write(t, stranger, frame(make([]byte, 101)))
			if end := next(t, "OnConnectionClosed", s.Closed); end.Endpoint != ep || !errors.Is(end.Cause, netio.ErrMessageLength) {
				t.Errorf("a first message over its limit: got cause %v, want %v", end.Cause, netio.ErrMessageLength)
			}
		})
	}
}

// TestEndpoint_aPanicGivesTheReceiveBufferBack panics with a message in the only buffer, and a
// part behind it.
func TestEndpoint_aPanicGivesTheReceiveBufferBack(t *testing.T) {
	w := newWatcher()
	w.AtData = func(_ netio.Endpoint, data []byte) {
		if string(data) == "panic" {
			panic("told to")
		}
	}
	cfg := tcp.WithPartialTimeout(shared(1, 5000), -1)
	b, _ := openBackendOn(t, reactor.Config{Logger: slog.New(slog.DiscardHandler)}, w, cfg)
	l, err := b.OpenListenEndpoint(loopback, netio.Params{})
	if err != nil {
		t.Fatalf("OpenListenEndpoint: got error %v, want none", err)
	}
	s := &served{w, b, l}
	c, ep := s.dialRaw(t)
	write(t, c, append(frame([]byte("panic")), 1, 0))
	if end := next(t, "OnConnectionClosed", s.Closed); end.Endpoint != ep || !errors.Is(end.Cause, tcp.ErrCallbackPanicked) {
		t.Errorf("OnConnectionClosed: got cause %v, want %v", end.Cause, tcp.ErrCallbackPanicked)
	}
	other, _ := s.dialRaw(t)
	write(t, other, frame([]byte("other")))
	for _, want := range []string{"panic", "other"} {
		if got := next(t, "OnData", s.Data); string(got) != want {
			t.Errorf("message: got %q, want %q", got, want)
		}
	}
}

// TestEndpoint_activeOnesHaveReceiveBuffers receives on the opening side.
func TestEndpoint_activeOnesHaveReceiveBuffers(t *testing.T) {
	tests := []struct {
		name    string
		cfg     tcp.Config
		receive netio.ReceiveParams
	}{
		{"of its own", tcp.Config{}, netio.ReceiveParams{Buffers: 2, MaxMessageBytes: 5000}},
		{"of the backend", shared(1, 5000), netio.ReceiveParams{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t, newWatcher(), tcp.Config{}, netio.Params{})
			w := newWatcher()
			b := openBackend(t, w, tt.cfg)
			if err := b.OpenEndpoint(s.l.Addr(), netio.Params{Receive: tt.receive}); err != nil {
				t.Fatalf("OpenEndpoint: got error %v, want none", err)
			}
			ep := next(t, "OnConnectionEstablished", s.Established)
			for i := range 50 {
				if err := ep.SendCopy(0, nil, pattern(1+i*100, i)); err != nil {
					t.Fatalf("SendCopy: got error %v, want none", err)
				}
				if got := next(t, "OnData", w.Data); !bytes.Equal(got, pattern(1+i*100, i)) {
					t.Fatalf("message %d: got %d bytes that differ, want %d", i, len(got), 1+i*100)
				}
			}
			own := next(t, "OnConnectionEstablished", w.Established)
			onLoop(t, b.Loop(), func() {
				if tcp.ReceivePoolOf(own).None() {
					t.Error("receive buffers of the endpoint: got none, want some")
				}
			})
		})
	}
}
