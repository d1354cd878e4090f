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

// TestListenEndpoint_tellsTroubleRarely fails ten times a second for an hour.
func TestListenEndpoint_tellsTroubleRarely(t *testing.T) {
	clock := newClock()
	trouble := tcp.NewTrouble(clock.now)
	if _, _, over := trouble.End(); over {
		t.Error("End before any failure: got a line, want none")
	}
	began := clock.now()
	var told []time.Duration
	for clock.now().Sub(began) < time.Hour {
		if failed, tell := trouble.Fail(); tell {
			at := clock.now().Sub(began)
			told = append(told, at)
			if want := uint64(at/(100*time.Millisecond)) + 1; failed != want {
				t.Errorf("at %v: got %d failures, want %d", at, failed, want)
			}
		}
		clock.advance(100 * time.Millisecond)
	}
	want := []time.Duration{0, 1 * time.Second, 3 * time.Second, 7 * time.Second, 15 * time.Second, 31 * time.Second, 63 * time.Second}
	for at := want[len(want)-1] + time.Minute; at < time.Hour; at += time.Minute {
		want = append(want, at)
	}
	if fmt.Sprint(told) != fmt.Sprint(want) {
		t.Errorf("lines: got at %v, want at %v", told, want)
	}
	failed, lasted, over := trouble.End()
	if !over || failed != 36_000 || lasted != time.Hour {
		t.Errorf("End: got %d failures in %v, %v, want 36000 in 1h0m0s", failed, lasted, over)
	}
	if _, _, over := trouble.End(); over {
		t.Error("second End: got a line, want none")
	}
	clock.advance(3 * time.Minute) // of peace
	if failed, tell := trouble.Fail(); !tell || failed != 1 {
		t.Errorf("first failure after a while: got %d and %v, want 1 at once", failed, tell)
	}
	clock.advance(time.Second)
	if _, tell := trouble.Fail(); !tell {
		t.Error("a second later: got no line, want one: the pause is short again")
	}
}

// TestListenEndpoint_tellsTroubleThatComesAndGoesRarely: trouble that is over ten times a second must
// not be reported so often either, and no failure is left out of the counts.
func TestListenEndpoint_tellsTroubleThatComesAndGoesRarely(t *testing.T) {
	clock := newClock()
	trouble := tcp.NewTrouble(clock.now)
	lines, ends, counted := 0, 0, uint64(0)
	for range 36_000 {
		if _, tell := trouble.Fail(); tell {
			lines++
		}
		if failed, _, over := trouble.End(); over {
			ends++
			counted += failed
		}
		clock.advance(100 * time.Millisecond)
	}
	if lines < 60 || lines > 70 || ends != lines {
		t.Errorf("lines in an hour: got %d, and %d of the end, want 60 to 70 of each", lines, ends)
	}
	if counted < 35_000 {
		t.Errorf("failures told: got %d, want all of 36000 but those since the last line", counted)
	}
}

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
