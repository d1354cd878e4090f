// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shm_test

import (
	"errors"
	"net"
	"os"
	"runtime"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"tagbus/internal/testkit"
	"tagbus/internal/testkit/backendtest"
	"tagbus/netio"
	"tagbus/netio/netiotest"
	"tagbus/netio/shm"
)

// lingering returns the descriptor of a TCP connection that is closed when its peer has read what was
// written to it, or after an hour.
func lingering(t *testing.T) (fd int) {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	testkit.Must(t, err)
	defer func() { _ = l.Close() }()
	fd, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	testkit.Must(t, err)
	testkit.Must(t, unix.Connect(fd, &unix.SockaddrInet4{Port: l.Addr().(*net.TCPAddr).Port, Addr: [4]byte{127, 0, 0, 1}}))
	peer, err := l.Accept()
	testkit.Must(t, err)
	t.Cleanup(func() { _ = peer.Close() }) // ends the hour
	testkit.Must(t, unix.SetNonblock(fd, true))
	for lot := make([]byte, 1<<20); err == nil; {
		_, err = unix.Write(fd, lot)
	}
	if !errors.Is(err, unix.EAGAIN) {
		t.Fatalf("write: got error %v, want EAGAIN", err)
	}
	testkit.Must(t, unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1, Linger: 3600}))
	return fd
}

// TestFilesThatTakeLongToClose: whenever a peer passes them, no one but the peer waits.
func TestFilesThatTakeLongToClose(t *testing.T) {
	netiotest.CheckLeaks(t)
	s := serve(t, shm.Config{}, netio.Params{Receive: netio.ReceiveParams{MaxMessageBytes: 1000}})
	// pass passes files of which this process keeps none. The loop stands meanwhile.
	pass := func(t *testing.T, p *shm.Peer, b []byte, files ...int) {
		t.Helper()
		onLoop(t, s.b.Loop(), func() {
			if err := p.Say(b, files...); err != nil {
				t.Errorf("say: got error %v, want none", err)
			}
			for _, fd := range files {
				_ = unix.Close(fd)
			}
		})
	}
	for _, tt := range []struct {
		name string
		do   func(t *testing.T, p *shm.Peer)
	}{
		{"in the place of memory", func(t *testing.T, p *shm.Peer) {
			pass(t, p, p.Greeting(0), lingering(t))
			p.Closed()
		}},
		{"more than a greeting has", func(t *testing.T, p *shm.Peer) {
			pass(t, p, p.Greeting(0), lingering(t), lingering(t), lingering(t), lingering(t), lingering(t), lingering(t))
			p.Closed()
		}},
		{"behind a greeting that is wrong", func(t *testing.T, p *shm.Peer) {
			onLoop(t, s.b.Loop(), func() {
				for _, b := range []string{"no greeting", "x"} {
					fd := lingering(t)
					if err := p.Say([]byte(b), fd); err != nil {
						t.Errorf("say: got error %v, want none", err)
					}
					_ = unix.Close(fd)
				}
			})
			p.Closed()
		}},
		{"behind the greeting", func(t *testing.T, p *shm.Peer) {
			if err := p.Greet(); err != nil {
				t.Fatalf("greet: got error %v, want none", err)
			}
			next(t, "OnConnectionEstablished", s.Established)
			pass(t, p, []byte{1}, lingering(t))
			if end := next(t, "OnConnectionClosed", s.Closed); !errors.Is(end.Cause, shm.ErrProtocol) {
				t.Errorf("cause: got %v, want %v", end.Cause, shm.ErrProtocol)
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.do(t, s.connect(t))
			s.isWell(t)
		})
	}
}

// TestTLS_filesThatTakeLongToClose: a stranger that has no certificate passes them within a handshake.
func TestTLS_filesThatTakeLongToClose(t *testing.T) {
	netiotest.CheckLeaks(t)
	cfg := withTLS(t, shm.Config{})
	s := serve(t, cfg, netio.Params{})
	for range 3 {
		p := s.connect(t)
		onLoop(t, s.b.Loop(), func() {
			fd := lingering(t)
			if err := p.Say(half, fd); err != nil {
				t.Errorf("say: got error %v, want none", err)
			}
			_ = unix.Close(fd)
		})
		p.Closed()
	}
	s.isWellFor(t, cfg)
}

// TestFilesThatCannotBeClosed: with some of them nothing is accepted that could bring more.
func TestFilesThatCannotBeClosed(t *testing.T) {
	netiotest.CheckLeaks(t)
	s := serve(t, shm.Config{}, netio.Params{})
	var files []int
	t.Run("passed", func(t *testing.T) { // the end of which closes the other ends
		for range 80 {
			files = append(files, within(t, lingering(t)))
		}
		p := s.connect(t)
		onLoop(t, s.b.Loop(), func() {
			testkit.Must(t, p.Say(p.Greeting(0), files...))
			for _, fd := range files {
				_ = unix.Close(fd)
			}
		})
		p.Closed()
		before := s.b.Stats().AcceptErrors
		waits := s.connect(t)
		backendtest.WaitFor(t, s.b.Loop(), "a listen endpoint that rests", func() bool { return s.b.Stats().AcceptErrors > before })
		waits.Close()
	})
	untilNoFilesWait()
	s.isWell(t)
}

// TestFilesThatCannotBeClosed_fromOthers: those that were connected before bring no more of them, in whatever they have sent.
func TestFilesThatCannotBeClosed_fromOthers(t *testing.T) {
	netiotest.CheckLeaks(t)
	s := serve(t, shm.Config{}, netio.Params{})
	t.Run("passed", func(t *testing.T) { // the end of which closes the other ends
		const others, messages, each = 2, 10, 100
		nothing, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		testkit.Must(t, err)
		defer unix.Close(nothing)
		var peers []*shm.Peer
		for range others {
			peers = append(peers, s.connect(t))
		}
		backendtest.WaitFor(t, s.b.Loop(), "strangers", func() bool { return shm.Strangers(s.b) == others })
		var files []int
		for range 80 {
			files = append(files, within(t, lingering(t)))
		}
		p := s.connect(t)
		onLoop(t, s.b.Loop(), func() {
			testkit.Must(t, p.Say(p.Greeting(0), files...))
			for _, fd := range files {
				_ = unix.Close(fd)
			}
		})
		p.Closed()
		before := descriptors(t)
		onLoop(t, s.b.Loop(), func() {
			for _, p := range peers {
				for range messages {
					testkit.Must(t, p.Say([]byte("x"), slices.Repeat([]int{nothing}, each)...))
				}
			}
		})
		for _, p := range peers {
			p.Closed()
		}
		if more := descriptors(t) - before; more > each {
			t.Errorf("got %d descriptors of %d files that %d strangers have passed, want a few", more, others*messages*each, others)
		}
	})
	untilNoFilesWait()
	s.isWell(t)
}

// untilNoFilesWait waits until files that were passed are closed: before, no connection is accepted or made.
func untilNoFilesWait() {
	for shm.FilesWait() {
		runtime.Gosched()
	}
}

// descriptors returns how many this process has.
func descriptors(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	testkit.Must(t, err)
	return len(all)
}

// within returns a socket in which a file lies unread.
func within(t *testing.T, fd int) int {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	testkit.Must(t, err)
	testkit.Must(t, unix.Sendmsg(pair[0], []byte("x"), unix.UnixRights(fd), nil, 0))
	_ = unix.Close(fd)
	_ = unix.Close(pair[0])
	return pair[1]
}
