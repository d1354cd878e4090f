// SPDX-License-Identifier: Apache-2.0

package tcp_test

import (
	"errors"
	"io"
	"net"
	"slices"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"tagbus/internal/testkit/backendtest"
	"tagbus/netio"
	"tagbus/netio/tcp"
)

// TestEndpoint_Close_withinADirectSendResets: the peer of a stream that ends within a message
// hears at once that it was broken off, and not that it has ended.
func TestEndpoint_Close_withinADirectSendResets(t *testing.T) {
	s := serve(t, newWatcher(), tcp.Config{}, netio.Params{})
	c, ep := s.dialRaw(t)
	release := holdLoop(t, s.b.Loop()) // it must not find out that the socket is full
	sendDirect(t, ep, 7, false, make([]byte, 32<<20))
	if err := ep.Close(); err != nil {
		t.Fatalf("Close: got error %v, want none", err)
	}
	if _, err := ep.SendDirect(8, nil, []byte("late")); !errors.Is(err, netio.ErrClosed) {
		t.Errorf("SendDirect after Close: got error %v, want %v", err, netio.ErrClosed)
	}
	release()
	end := next(t, "OnConnectionClosed", s.Closed)
	if !slices.Equal(end.Keys, []netio.Key{7}) || end.Cause != nil {
		t.Errorf("OnConnectionClosed: got keys %v and cause %v, want 7 and nil", end.Keys, end.Cause)
	}
	if _, err := io.Copy(io.Discard, c); !errors.Is(err, unix.ECONNRESET) {
		t.Errorf("peer: got error %v, want %v", err, unix.ECONNRESET)
	}
}

// waitBroken waits until the system knows that a connection is broken.
func waitBroken(t *testing.T, fd int) {
	t.Helper()
	for polls := []unix.PollFd{{Fd: int32(fd)}}; polls[0].Revents&(unix.POLLERR|unix.POLLHUP) == 0; {
		if n, err := unix.Poll(polls, int(backendtest.Patience.Milliseconds())); n == 0 && err == nil {
			t.Fatal("poll: got nothing, want the end of the connection")
		}
	}
}

// TestEndpoint_directSendHearsOfTheEndFirst: the system tells a sender, and then not the loop,
// why the connection has failed. OnConnectionClosed says it all the same.
func TestEndpoint_directSendHearsOfTheEndFirst(t *testing.T) {
	reset := func(c *net.TCPConn) error { return errors.Join(c.SetLinger(0), c.Close()) }
	tests := []struct {
		name   string
		paused bool
		reads  bool   // before it sends what is left
		said   string // by the peer before
		end    func(*net.TCPConn) error
		sends  int // until one hears of it
		cause  error
	}{
		{"a reset", false, false, "", reset, 1, syscall.ECONNRESET},
		{"a reset of a paused endpoint", true, false, "", reset, 1, syscall.ECONNRESET},
		{"a reset of an endpoint that was paused", true, true, "", reset, 1, syscall.ECONNRESET},
		{"a reset behind a message", true, true, "goodbye", reset, 1, syscall.ECONNRESET},
		{"an end in order behind a message", false, false, "goodbye", (*net.TCPConn).Close, 2, io.EOF},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t, newWatcher(), tcp.Config{}, netio.Params{})
			c, ep := s.dialRaw(t)
			var fd int
			onLoop(t, s.b.Loop(), func() {
				fd = tcp.FD(ep)
				if tt.paused {
					ep.PauseReceive()
				}
			})
			release := holdLoop(t, s.b.Loop())
			if tt.said != "" {
				write(t, c, frame([]byte(tt.said)))
			}
			if err := tt.end(c); err != nil {
				t.Fatalf("end: got error %v, want none", err)
			}
			for i := range tt.sends - 1 { // answered by a reset
				sendDirect(t, ep, netio.Key(i), true, []byte("to nobody"))
			}
			waitBroken(t, fd)
			if tt.reads {
				ep.ResumeReceive()
			}
			sendDirect(t, ep, 7, false, []byte("to nobody"))
			release()
			end := next(t, "OnConnectionClosed", s.Closed)
			if !errors.Is(end.Cause, tt.cause) || !slices.Equal(end.Keys, []netio.Key{7}) {
				t.Errorf("OnConnectionClosed: got cause %v and keys %v, want %v and 7", end.Cause, end.Keys, tt.cause)
			}
			if got := len(s.Data); got != min(1, len(tt.said)) {
				t.Errorf("messages before the end: got %d, want %d", got, min(1, len(tt.said)))
			}
		})
	}
}

// TestEndpoint_errorOfADirectSendEndsTheConnection: the loop reports what a sender was told.
func TestEndpoint_errorOfADirectSendEndsTheConnection(t *testing.T) {
	s := serve(t, newWatcher(), tcp.Config{}, netio.Params{})
	_, ep := s.dialRaw(t)
	null, err := unix.Open("/dev/null", unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatalf("open: got error %v, want none", err)
	}
	defer func() { _ = unix.Close(null) }()
	tcp.DivertDirect(ep, null)
	sendDirect(t, ep, 7, false, []byte("to no socket"))
	end := next(t, "OnConnectionClosed", s.Closed)
	var op *netio.OpError
	if !errors.Is(end.Cause, unix.ENOTSOCK) || !errors.As(end.Cause, &op) || op.Op != "send" || op.Addr != ep.Remote() {
		t.Errorf("cause: got %v, want an *OpError about %v that wraps %v", end.Cause, ep.Remote(), unix.ENOTSOCK)
	}
	if !slices.Equal(end.Keys, []netio.Key{7}) || s.b.Stats().MessagesSent != 0 {
		t.Errorf("got keys %v and %d messages sent, want 7 and none", end.Keys, s.b.Stats().MessagesSent)
	}
}
