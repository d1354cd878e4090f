// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shm_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"tagbus/netio"
	"tagbus/netio/netiotest"
	"tagbus/netio/shm"
)

// file returns a file of some bytes, of which some are there, until the end of the test.
func file(t *testing.T, bytes, there, seals int) int {
	t.Helper()
	fd, err := shm.MemoryFile(bytes, there, seals)
	if err != nil {
		t.Fatalf("MemoryFile: got error %v, want none", err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	return fd
}

// good returns a file that is as the segment of a peer should be.
func good(t *testing.T, p *shm.Peer) int {
	return file(t, p.SegmentBytes(), p.SegmentBytes(), shm.GoodSeals)
}

// wrongGreetings are what a stranger can say, and with which files.
var wrongGreetings = []struct {
	name string
	say  func(t *testing.T, p *shm.Peer) ([]byte, []int)
}{
	{"nothing but bytes", func(*testing.T, *shm.Peer) ([]byte, []int) { return []byte("GET / HTTP/1.1\r\n\r\n"), nil }},
	{"a part", func(t *testing.T, p *shm.Peer) ([]byte, []int) { return p.Greeting(0)[:63], []int{good(t, p)} }},
	{"another version", func(t *testing.T, p *shm.Peer) ([]byte, []int) {
		b := p.Greeting(0)
		b[8]++
		return b, []int{good(t, p)}
	}},
	{"another host", func(t *testing.T, p *shm.Peer) ([]byte, []int) {
		b := p.Greeting(0)
		b[32]++
		return b, []int{good(t, p)}
	}},
	{"an impossible shape", func(t *testing.T, p *shm.Peer) ([]byte, []int) {
		b := p.Greeting(0)
		b[12] = 17
		return b, []int{good(t, p)}
	}},
	{"no file", func(_ *testing.T, p *shm.Peer) ([]byte, []int) { return p.Greeting(0), nil }},
	{"no file for the region", func(t *testing.T, p *shm.Peer) ([]byte, []int) { return p.Greeting(4096), []int{good(t, p)} }},
	{"a file too many", func(t *testing.T, p *shm.Peer) ([]byte, []int) { return p.Greeting(0), []int{good(t, p), good(t, p)} }},
	{"many files", func(_ *testing.T, p *shm.Peer) ([]byte, []int) {
		var files []int
		for range 200 {
			files = append(files, 0)
		}
		return p.Greeting(0), files
	}},
	{"a file that has no seals", func(t *testing.T, p *shm.Peer) ([]byte, []int) {
		f, err := os.Open("/dev/null")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		return p.Greeting(0), []int{int(f.Fd())}
	}},
	{"memory that is not sealed", func(t *testing.T, p *shm.Peer) ([]byte, []int) {
		return p.Greeting(0), []int{file(t, p.SegmentBytes(), p.SegmentBytes(), 0)}
	}},
	{"memory that can shrink", func(t *testing.T, p *shm.Peer) ([]byte, []int) {
		return p.Greeting(0), []int{file(t, p.SegmentBytes(), p.SegmentBytes(), shm.GoodSeals&^unix.F_SEAL_SHRINK)}
	}},
	{"memory of which holes can be made", func(t *testing.T, p *shm.Peer) ([]byte, []int) {
		return p.Greeting(0), []int{file(t, p.SegmentBytes(), p.SegmentBytes(), shm.GoodSeals&^unix.F_SEAL_FUTURE_WRITE)}
	}},
	{"less memory", func(t *testing.T, p *shm.Peer) ([]byte, []int) {
		return p.Greeting(0), []int{file(t, p.SegmentBytes()-4096, p.SegmentBytes()-4096, shm.GoodSeals)}
	}},
	{"more memory", func(t *testing.T, p *shm.Peer) ([]byte, []int) {
		return p.Greeting(0), []int{file(t, p.SegmentBytes()+1, p.SegmentBytes(), shm.GoodSeals)}
	}},
	{"memory with a hole", func(t *testing.T, p *shm.Peer) ([]byte, []int) {
		return p.Greeting(0), []int{file(t, p.SegmentBytes(), p.SegmentBytes()-4096, shm.GoodSeals)}
	}},
	{"memory that is behind the end", func(t *testing.T, p *shm.Peer) ([]byte, []int) {
		fd := file(t, p.SegmentBytes(), 0, 0)
		if err := unix.Fallocate(fd, unix.FALLOC_FL_KEEP_SIZE, int64(p.SegmentBytes()), int64(p.SegmentBytes())); err != nil {
			t.Fatal(err)
		}
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, shm.GoodSeals); err != nil {
			t.Fatal(err)
		}
		return p.Greeting(0), []int{fd}
	}},
	{"memory that this side cannot write", func(t *testing.T, p *shm.Peer) ([]byte, []int) {
		f, err := os.Open(fmt.Sprintf("/proc/self/fd/%d", good(t, p)))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		return p.Greeting(0), []int{int(f.Fd())}
	}},
	{"a region with a hole", func(t *testing.T, p *shm.Peer) ([]byte, []int) {
		return p.Greeting(1 << 30), []int{good(t, p), file(t, 1<<30, 0, shm.GoodSeals)}
	}},
}

// TestStrangersThatGreetWrong: what is not a greeting, or comes with other memory than it
// says, ends the connection, and nothing of it is left.
func TestStrangersThatGreetWrong(t *testing.T) {
	netiotest.CheckLeaks(t)
	s := serve(t, shm.Config{}, netio.Params{})
	for _, tt := range wrongGreetings {
		t.Run(tt.name, func(t *testing.T) {
			p := s.connect(t)
			b, files := tt.say(t, p)
			if err := p.Say(b, files...); err != nil {
				t.Fatalf("say: got error %v, want none", err)
			}
			p.Closed()
			untilNoFilesWait() // while many do, nothing is accepted, which is counted, too
		})
	}
	if got := s.b.Stats(); got.AcceptErrors != uint64(len(wrongGreetings)) || got.Accepted != 0 {
		t.Errorf("Stats: got %+v, want %d strangers dismissed", got, len(wrongGreetings))
	}
	s.isWell(t)
	if n := len(s.Established); n != 0 {
		t.Errorf("OnConnectionEstablished: got %d, want none", n)
	}
}

// TestStrangersThatAreSilent: their time is limited.
func TestStrangersThatAreSilent(t *testing.T) {
	netiotest.CheckLeaks(t)
	s := serve(t, shm.WithGreetingTimeout(shm.Config{}, 1), netio.Params{})
	silent := s.connect(t)
	silent.Closed()
	if got := s.b.Stats().AcceptErrors; got != 1 {
		t.Errorf("Stats.AcceptErrors: got %d, want 1", got)
	}
}

// TestStrangersDisplaceStrangers: as many as connect and say nothing, they do not keep out
// who introduces itself.
func TestStrangersDisplaceStrangers(t *testing.T) {
	netiotest.CheckLeaks(t)
	s := serve(t, shm.Config{MaxEndpoints: 100}, netio.Params{})
	for range 300 {
		s.connect(t)
	}
	s.isWell(t)
	if got := s.b.Stats(); got.AcceptShed < 200 || got.Accepted != 1 {
		t.Errorf("Stats: got %+v, want most of 300 strangers shed and one peer accepted", got)
	}
}

// TestTooManyEndpoints: the limit is for those that are in order, too.
func TestTooManyEndpoints(t *testing.T) {
	var log lockedBuffer
	s := serve(t, shm.Config{MaxEndpoints: 1, Logger: slog.New(slog.NewTextHandler(&log, nil))}, netio.Params{})
	first, _ := s.greet(t)
	second := s.connect(t)
	if err := second.Greet(); err == nil {
		t.Errorf("a connection beyond the limit: got accepted, want it closed")
	}
	if got := log.String(); strings.Count(got, "level=WARN") != 1 || !strings.Contains(got, " MaxEndpoints=1 failed=1") {
		t.Errorf("log: got %q, want one line with the limit", got)
	}
	first.Final(0)
	next(t, "OnConnectionClosed", s.Closed)
	s.isWell(t)
	if got := s.b.Stats().AcceptShed; got != 1 {
		t.Errorf("Stats.AcceptShed: got %d, want 1", got)
	}
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

// TestConnectionWithoutMemory: its peer goes by another transport, and the log says why.
func TestConnectionWithoutMemory(t *testing.T) {
	var log lockedBuffer
	s := serve(t, shm.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))}, netio.Params{})
	onLoop(t, s.b.Loop(), func() { shm.DismissForMemory(s.l) })
	if got := log.String(); !strings.Contains(got, "level=WARN") || !strings.Contains(got, netio.ErrNoMemory.Error()) {
		t.Errorf("log: got %q, want a warning that there is no memory", got)
	}
}
