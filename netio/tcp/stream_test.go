// SPDX-License-Identifier: Apache-2.0

package tcp_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"slices"
	"syscall"
	"testing"

	"tagbus/netio"
	"tagbus/netio/tcp"
)

func TestEndpoint_disconnectsStrangers(t *testing.T) {
	length := func(n uint32) []byte { return append(binary.LittleEndian.AppendUint32(nil, n), "and so on"...) }
	tests := []struct {
		name   string
		sent   []byte
		answer string
	}{
		{"a length of 0", length(0), ""},
		{"a length of one more than the limit", length(4097), ""},
		{"a length of 2^31", length(1 << 31), ""},
		{"a length of 2^32-1", length(1<<32 - 1), ""},
		{"HTTP", []byte("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"), ""},
		{"a TLS hello", []byte("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"), "\x15\x03\x01\x00\x02\x02\x46"}, // the alert protocol_version
		{"SSH", []byte("SSH-2.0-OpenSSH_9.2\r\n"), ""},
	}
	s := serve(t, newWatcher(), tcp.Config{}, netio.Params{Receive: netio.ReceiveParams{FirstMessageBytes: 4096}})
	good, _ := s.dialRaw(t)
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, ep := s.dialRaw(t)
			write(t, c, tt.sent)
			end := next(t, "OnConnectionClosed", s.Closed)
			var op *netio.OpError
			if !errors.Is(end.Cause, netio.ErrMessageLength) || !errors.As(end.Cause, &op) || op.Addr != ep.Remote() || op.Op != "receive" {
				t.Errorf("cause: got %v, want an *OpError about %v that wraps %v", end.Cause, ep.Remote(), netio.ErrMessageLength)
			}
			if end.Endpoint != ep {
				t.Errorf("OnConnectionClosed: got another endpoint, want the stranger's")
			}
			if got := s.b.Stats().BadMessages; got != uint64(i+1) {
				t.Errorf("Stats.BadMessages: got %d, want %d", got, i+1)
			}
			if answer, err := io.ReadAll(c); string(answer) != tt.answer || err != nil && !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("answer to a stranger: got %q and error %v, want %q and the end", answer, err, tt.answer)
			}
			if used, _ := tcp.BackendBytes(s.b); used != 0 {
				t.Errorf("memory after a stranger: got %d bytes, want none", used)
			}
		})
	}
	write(t, good, frame([]byte("still here")))
	if got := next(t, "OnData", s.Data); string(got) != "still here" {
		t.Errorf("message of a connection of before: got %q, want it", got)
	}
}

func TestEndpoint_peerEnds(t *testing.T) {
	fin := func(c *net.TCPConn) error { return c.Close() }
	half := func(c *net.TCPConn) error { return c.CloseWrite() }
	reset := func(c *net.TCPConn) error { return errors.Join(c.SetLinger(0), c.Close()) }
	two := slices.Concat(frame([]byte("one")), frame([]byte("two")))
	tests := []struct {
		name      string
		sent      []byte
		end       func(*net.TCPConn) error
		messages  int
		cause     error
		truncated uint64
	}{
		{"at once", nil, fin, 0, io.EOF, 0},
		{"behind a message", two, fin, 2, io.EOF, 0},
		{"behind a message, in one direction", two, half, 2, io.EOF, 0},
		{"within a length", append(two, 1, 0), fin, 2, netio.ErrTruncated, 1},
		{"behind a length", append(two, 5, 0, 0, 0), half, 2, netio.ErrTruncated, 1},
		{"within a message", append(two, 5, 0, 0, 0, 'h', 'e'), fin, 2, netio.ErrTruncated, 1},
		{"within a large message", append(two, frame(make([]byte, 500_000))[:400_000]...), fin, 2, netio.ErrTruncated, 1},
		{"by a reset", nil, reset, 0, syscall.ECONNRESET, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t, newWatcher(), tcp.Config{}, netio.Params{})
			c, ep := s.dialRaw(t)
			write(t, c, tt.sent)
			if err := tt.end(c); err != nil {
				t.Fatalf("end: got error %v, want none", err)
			}
			end := next(t, "OnConnectionClosed", s.Closed)
			if !errors.Is(end.Cause, tt.cause) {
				t.Errorf("cause: got %v, want %v", end.Cause, tt.cause)
			}
			var op *netio.OpError
			if tt.cause != io.EOF && (!errors.As(end.Cause, &op) || op.Addr != ep.Remote()) { //nolint:errorlint // io.EOF is promised unwrapped
				t.Errorf("cause: got %#v, want an *OpError about %v", end.Cause, ep.Remote())
			}
			stats := s.b.Stats()
			if len(s.Data) != tt.messages || stats.MessagesReceived != uint64(tt.messages) {
				t.Errorf("messages: got %d, counted %d, want %d", len(s.Data), stats.MessagesReceived, tt.messages)
			}
			if stats.Truncated != tt.truncated || stats.Closed != 1 {
				t.Errorf("Stats: got %d truncated and %d closed, want %d and 1", stats.Truncated, stats.Closed, tt.truncated)
			}
			if used, _ := tcp.BackendBytes(s.b); used != 0 {
				t.Errorf("memory after the end: got %d bytes, want none", used)
			}
		})
	}
}

func TestEndpoint_bytesTrickleIn(t *testing.T) {
	s := serve(t, newWatcher(), tcp.Config{}, netio.Params{})
	c, _ := s.dialRaw(t)
	want := [][]byte{pattern(1, 1), pattern(100, 2), pattern(17, 3)}
	for _, m := range want {
		for _, one := range frame(m) {
			write(t, c, []byte{one})
		}
	}
	for i, m := range want {
		if got := next(t, "OnData", s.Data); !bytes.Equal(got, m) {
			t.Errorf("message %d: got %x, want %x", i, got, m)
		}
	}
}

func TestEndpoint_PauseReceive_holdsTheEndBack(t *testing.T) {
	w := newWatcher()
	w.AtData = func(ep netio.Endpoint, _ []byte) { ep.PauseReceive() }
	s := serve(t, w, tcp.Config{}, netio.Params{})
	c, ep := s.dialRaw(t)
	const messages = 20
	for i := range messages {
		write(t, c, frame(pattern(1+i*2000, i)))
	}
	if err := c.Close(); err != nil {
		t.Fatalf("close: got error %v, want none", err)
	}
	for i := range messages {
		if got := next(t, "OnData", s.Data); !bytes.Equal(got, pattern(1+i*2000, i)) {
			t.Fatalf("message %d: got %d bytes that differ, want %d", i, len(got), 1+i*2000)
		}
		for range 3 { // turns in which more would come
			onLoop(t, s.b.Loop(), func() {})
		}
		if len(s.Data) != 0 || len(s.Closed) != 0 {
			t.Fatalf("while paused: got %d messages and %d ends, want none", len(s.Data), len(s.Closed))
		}
		ep.ResumeReceive()
	}
	if end := next(t, "OnConnectionClosed", s.Closed); end.Cause != io.EOF { //nolint:errorlint // io.EOF is promised unwrapped
		t.Errorf("cause: got %v, want %v", end.Cause, io.EOF)
	}
}

func TestEndpoint_PauseReceive_aResetReachesIt(t *testing.T) {
	s := serve(t, newWatcher(), tcp.Config{}, netio.Params{})
	c, ep := s.dialRaw(t)
	ep.PauseReceive()
	onLoop(t, s.b.Loop(), func() {})
	if err := errors.Join(c.SetLinger(0), c.Close()); err != nil {
		t.Fatalf("reset: got error %v, want none", err)
	}
	if end := next(t, "OnConnectionClosed", s.Closed); !errors.Is(end.Cause, syscall.ECONNRESET) {
		t.Errorf("cause: got %v, want %v", end.Cause, syscall.ECONNRESET)
	}
}

// TestEndpoint_firehoseLeavesRoomForOthers fills the sockets of one endpoint that has
// much to read and of some that have little, and lets all read at once.
func TestEndpoint_firehoseLeavesRoomForOthers(t *testing.T) {
	const budget, others = 4 << 10, 20
	var order []netio.Endpoint
	w := newWatcher()
	w.AtData = func(ep netio.Endpoint, _ []byte) { order = append(order, ep) }
	s := serve(t, w, tcp.WithReadBudget(tcp.Config{}, budget), netio.Params{})
	var eps []netio.Endpoint
	var conns []*net.TCPConn
	for range 1 + others {
		c, ep := s.dialRaw(t)
		ep.PauseReceive()
		conns, eps = append(conns, c), append(eps, ep)
	}
	write(t, conns[0], bytes.Repeat(frame(make([]byte, 1000)), 1000))
	for _, c := range conns[1:] {
		write(t, c, frame([]byte("small")))
	}
	onLoop(t, s.b.Loop(), func() {
		for _, ep := range eps {
			ep.ResumeReceive()
		}
	})
	for range 1000 + others {
		next(t, "OnData", s.Data)
	}
	onLoop(t, s.b.Loop(), func() {
		last := slices.IndexFunc(order, func(ep netio.Endpoint) bool { return ep == eps[others] })
		if most := others + budget/1004; last > most {
			t.Errorf("messages before the last of the others had its turn: got %d, want at most %d", last, most)
		}
	})
}
