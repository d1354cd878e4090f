// SPDX-License-Identifier: Apache-2.0

package tcp_test

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tagbus/netio/tcp"
)

// rawThroughput is what the system can do: one thread writes blocks of frames,
// another one reads and walks through the lengths, as a C program would. It
// returns the time for n frames.
func rawThroughput(tb testing.TB, congestion string, size, n int) time.Duration {
	tb.Helper()
	w, r := rawPair(tb, congestion)
	frame := 4 + size
	per := max(1, 64<<10/frame) // frames in a block
	block := make([]byte, per*frame)
	for i := range per {
		binary.LittleEndian.PutUint32(block[i*frame:], uint32(size))
	}
	began := time.Now()
	written := make(chan struct{})
	go func() {
		defer close(written)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		rest := block // a signal of the runtime can cut a write short
		for left := n * frame; left > 0; {
			sent, err := unix.Write(w, rest[:min(left, len(rest))])
			if err != nil && !errors.Is(err, unix.EINTR) {
				tb.Errorf("write: got error %v, want none", err)
				return
			}
			sent = max(sent, 0)
			left -= sent
			if rest = rest[sent:]; len(rest) == 0 {
				rest = block
			}
		}
	}()
	defer func() { <-written }()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	buf := make([]byte, 256<<10+max(frame, 4))
	have := 0
	for got := 0; got < n; {
		k, err := unix.Read(r, buf[have:])
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || k == 0 {
			tb.Fatalf("read: got %d bytes and error %v, want some", k, err)
		}
		have += k
		at := 0
		for have-at >= 4 {
			whole := 4 + int(binary.LittleEndian.Uint32(buf[at:]))
			if have-at < whole {
				break
			}
			at += whole
			got++
		}
		have = copy(buf, buf[at:have])
	}
	return time.Since(began)
}

// rawPair returns two connected blocking sockets.
func rawPair(tb testing.TB, congestion string) (w, r int) {
	tb.Helper()
	must := func(err error) {
		if err != nil {
			tb.Fatalf("raw sockets: got error %v, want none", err)
		}
	}
	socket := func() int {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		must(err)
		tb.Cleanup(func() { _ = unix.Close(fd) })
		must(unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1))
		if congestion != tcp.SystemCongestionControl {
			must(unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, congestion))
		}
		return fd
	}
	l := socket()
	must(unix.Bind(l, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	must(unix.Listen(l, 1))
	at, err := unix.Getsockname(l)
	must(err)
	w = socket()
	must(unix.Connect(w, at))
	r, _, err = unix.Accept(l)
	must(err)
	tb.Cleanup(func() { _ = unix.Close(r) })
	return w, r
}

// rawPingPong returns the time for n rounds between two threads that block in
// read.
func rawPingPong(tb testing.TB, n int) time.Duration {
	tb.Helper()
	a, z := rawPair(tb, "reno") // as a backend has it on loopback
	began := time.Now()
	bounce := func(fd int, first bool) {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		buf := make([]byte, 68)
		for i := range n {
			if !first || i > 0 {
				if _, err := unix.Read(fd, buf); err != nil {
					tb.Errorf("read: got error %v, want none", err)
				}
			}
			if _, err := unix.Write(fd, buf); err != nil {
				tb.Errorf("write: got error %v, want none", err)
			}
		}
	}
	ended := make(chan struct{})
	go func() { bounce(z, false); close(ended) }()
	bounce(a, true)
	<-ended
	return time.Since(began)
}

// netPingPong returns the time for n rounds between two goroutines with a
// net.Conn each.
func netPingPong(tb testing.TB, n int) time.Duration {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatalf("listen: got error %v, want none", err)
	}
	defer l.Close()
	ended := make(chan error, 1)
	go func() {
		c, err := l.Accept()
		if err == nil {
			_, err = io.Copy(struct{ io.Writer }{c}, struct{ io.Reader }{c}) // not by splice
			_ = c.Close()
		}
		ended <- err
	}()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		tb.Fatalf("dial: got error %v, want none", err)
	}
	buf := make([]byte, 68)
	began := time.Now()
	for range n {
		if _, err := c.Write(buf); err != nil {
			tb.Fatalf("write: got error %v, want none", err)
		}
		if _, err := io.ReadFull(c, buf); err != nil {
			tb.Fatalf("read: got error %v, want none", err)
		}
	}
	took := time.Since(began)
	_ = c.Close()
	if err := <-ended; err != nil {
		tb.Errorf("echo: got error %v, want none", err)
	}
	return took
}
