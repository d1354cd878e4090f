// SPDX-License-Identifier: Apache-2.0

package tcp_test

import (
	"errors"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tagbus/netio"
	"tagbus/netio/tcp"
)

// The system asks a silent peer later, and never earlier than the configuration says.
func TestEndpoint_theSystemAsksASilentPeerLater(t *testing.T) {
	for _, x := range []struct {
		name    string
		idle    time.Duration // KeepaliveIdle
		silence time.Duration
		want    int // seconds
		keep    int
	}{
		{"later", 0, 45 * time.Second, 45, 1},
		{"a part of a second counts as one", 0, 5100 * time.Millisecond, 6, 1},
		{"earlier", 0, time.Second, 5, 1},
		{"less than nothing", 0, -time.Hour, 5, 1},
		{"as late as the system can", 0, 1000 * time.Hour, 32767, 1},
		{"where it never asks", -1, 45 * time.Second, -1, 0},
	} {
		t.Run(x.name, func(t *testing.T) {
			cfg := tcp.Config{KeepaliveIdle: x.idle}
			s := serve(t, newWatcher(), cfg, netio.Params{})
			client := newWatcher()
			dialer := openBackend(t, client, cfg)
			if err := dialer.OpenEndpoint(s.l.Addr(), netio.Params{}); err != nil {
				t.Fatalf("OpenEndpoint: got error %v, want none", err)
			}
			ep := next(t, "OnConnectionEstablished", client.Established)
			ep.(netio.Prober).ProbeAfter(x.silence)
			descriptor := make(chan int, 1)
			dialer.Loop().Post(func() { descriptor <- tcp.FD(ep) })
			fd := next(t, "the descriptor", descriptor)
			if got, err := unix.GetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_KEEPIDLE); err != nil || x.want >= 0 && got != x.want {
				t.Errorf("TCP_KEEPIDLE: got %d and error %v, want %d", got, err, x.want)
			}
			if got, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_KEEPALIVE); err != nil || got != x.keep {
				t.Errorf("SO_KEEPALIVE: got %d and error %v, want %d", got, err, x.keep)
			}
			if err := ep.Close(); err != nil {
				t.Errorf("Close: got error %v, want none", err)
			}
			next(t, "OnConnectionClosed", client.Closed)
			ep.(netio.Prober).ProbeAfter(time.Hour)
		})
	}
}

// An endpoint knows how far away its peer is, at both ends, and after its end nothing.
func TestEndpoint_roundTrip(t *testing.T) {
	s := serve(t, newWatcher(), tcp.Config{}, netio.Params{})
	client := newWatcher()
	dialer := openBackend(t, client, tcp.Config{})
	if err := dialer.OpenEndpoint(s.l.Addr(), netio.Params{}); err != nil {
		t.Fatalf("OpenEndpoint: got error %v, want none", err)
	}
	ep := next(t, "OnConnectionEstablished", client.Established)
	measured := func() time.Duration { return path(ep).RoundTrip }
	if got := measured(); got <= 0 || got > time.Second {
		t.Errorf("on loopback: got %v, want some microseconds", got)
	}
	descriptor := make(chan int, 1)
	dialer.Loop().Post(func() { descriptor <- tcp.FD(ep) })
	info, err := unix.GetsockoptTCPInfo(next(t, "the descriptor", descriptor), unix.IPPROTO_TCP, unix.TCP_INFO)
	if got := measured(); err != nil || got != time.Duration(info.Rtt)*time.Microsecond {
		t.Errorf("got %v, want %d us, as the system says (error %v)", got, info.Rtt, err)
	}
	if err := ep.Close(); err != nil {
		t.Errorf("Close: got error %v, want none", err)
	}
	next(t, "OnConnectionClosed", client.Closed)
	if got, ok := ep.(netio.PathMeasurer).Path(); ok || got != (netio.Path{}) {
		t.Errorf("after Close: got %v, %t, want nothing", got, ok)
	}
}

// What has the number of an ended endpoint's descriptor now is not its connection.
func TestEndpoint_anEndedOneTouchesNoOtherSocket(t *testing.T) {
	s := serve(t, newWatcher(), tcp.Config{}, netio.Params{})
	client := newWatcher()
	dialer := openBackend(t, client, tcp.Config{})
	open := func() (ep netio.Endpoint, fd int) {
		if err := dialer.OpenEndpoint(s.l.Addr(), netio.Params{}); err != nil {
			t.Fatalf("OpenEndpoint: got error %v, want none", err)
		}
		ep = next(t, "OnConnectionEstablished", client.Established)
		onLoop(t, dialer.Loop(), func() { fd = tcp.FD(ep) })
		return ep, fd
	}
	first, number := open()
	if err := first.Close(); err != nil {
		t.Errorf("Close: got error %v, want none", err)
	}
	next(t, "OnConnectionClosed", client.Closed)
	_, other := open()
	again, err := unix.FcntlInt(uintptr(other), unix.F_DUPFD_CLOEXEC, number) // the number, unless it is in use by now
	if err != nil {
		t.Fatalf("F_DUPFD_CLOEXEC: got error %v, want none", err)
	}
	defer func() { _ = unix.Close(again) }()
	if got, ok := first.(netio.PathMeasurer).Path(); ok || got != (netio.Path{}) {
		t.Errorf("Path: got %+v, %t, want nothing", got, ok)
	}
	first.(netio.Prober).ProbeAfter(45 * time.Second)
	if got, err := unix.GetsockoptInt(other, unix.IPPROTO_TCP, unix.TCP_KEEPIDLE); err != nil || got != 5 {
		t.Errorf("TCP_KEEPIDLE of another connection: got %d and error %v, want 5", got, err)
	}
	if done, err := first.SendDirect(1, nil, []byte("x")); done || !errors.Is(err, netio.ErrClosed) {
		t.Errorf("SendDirect: got %t and error %v, want %v", done, err, netio.ErrClosed)
	}
}

func path(ep netio.Endpoint) netio.Path {
	p, _ := ep.(netio.PathMeasurer).Path()
	return p
}
