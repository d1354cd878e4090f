// SPDX-License-Identifier: Apache-2.0

package tcp_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tagbus/netio"
	"tagbus/netio/reactor"
	"tagbus/netio/tcp"
)

// TestListenEndpoint_withoutDescriptorsDoesNotFloodTheLog: there was a line for each
// try, ten in a second.
func TestListenEndpoint_withoutDescriptorsDoesNotFloodTheLog(t *testing.T) {
	if !childOf(t) {
		return
	}
	var log lockedBuffer
	clock := newClock()
	w := newWatcher()
	b, _ := openBackendOn(t, reactor.Config{}, w, tcp.WithAcceptPause(tcp.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))}, time.Millisecond))
	l, err := b.OpenListenEndpoint(loopback, netio.Params{})
	if err != nil {
		t.Fatalf("OpenListenEndpoint: got error %v, want none", err)
	}
	onLoop(t, b.Loop(), func() { tcp.SetClock(l, clock.now) })
	var peers []int
	for range 2 {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatalf("socket: got error %v, want none", err)
		}
		peers = append(peers, fd)
	}
	defer func() {
		for _, fd := range peers {
			_ = unix.Close(fd)
		}
	}()
	to := &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}, Port: int(l.Addr().Port())}
	connect := func(fd int) {
		if err := unix.Connect(fd, to); err != nil && !errors.Is(err, unix.ECONNREFUSED) {
			t.Fatalf("connect: got error %v, want none", err)
		}
	}
	restore := noDescriptors(t)
	connect(peers[0])
	tries := func(n uint64) {
		waitFor(t, b.Loop(), fmt.Sprintf("%d tries", n), func() bool { return b.Stats().AcceptErrors >= n })
	}
	want := func(warnings, ends int, text string) {
		t.Helper()
		got := log.String()
		if n := strings.Count(got, "level=WARN"); n != warnings {
			t.Errorf("warnings: got %d, want %d", n, warnings)
		}
		if n := strings.Count(got, "level=INFO"); n != ends {
			t.Errorf("lines of the end: got %d, want %d", n, ends)
		}
		if !strings.Contains(got, text) {
			t.Errorf("log: got %q, want %q in it", got, text)
		}
	}
	tries(25)
	want(1, 0, "failed=1 ")
	clock.advance(time.Second)
	tries(b.Stats().AcceptErrors + 3)
	want(2, 0, "too many open files")
	restore()
	connect(peers[1])
	next(t, "OnConnectionEstablished", w.Established)
	want(2, 1, fmt.Sprintf("failed=%d ", b.Stats().AcceptErrors))
}

// noDescriptors leaves the process no free descriptor until restore.
func noDescriptors(t *testing.T) (restore func()) {
	t.Helper()
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
		t.Fatalf("Getrlimit: got error %v, want none", err)
	}
	free, err := unix.Dup(0)
	if err != nil {
		t.Fatalf("dup: got error %v, want none", err)
	}
	_ = unix.Close(free)
	limit := before
	limit.Cur = uint64(free) // the lowest that is free
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatalf("Setrlimit: got error %v, want none", err)
	}
	return func() {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
			t.Fatalf("Setrlimit: got error %v, want none", err)
		}
	}
}

// clock is a time that only the test moves.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func newClock() *clock { return &clock{t: time.Unix(1_700_000_000, 0)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

// lockedBuffer is a log that is read while it is written.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
