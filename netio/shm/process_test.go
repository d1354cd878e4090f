// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shm_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"tagbus/internal/testkit/backendtest"
	"tagbus/netio"
	"tagbus/netio/netiotest"
	"tagbus/netio/reactor"
	"tagbus/netio/shm"
)

// Variables by which the test binary runs as another process.
const (
	childRole   = "SHM_TEST_ROLE" // "send", "listen" or "relay"
	childFolder = "SHM_TEST_FOLDER"
	childAddr   = "SHM_TEST_ADDR"
)

// child is another process.
type child struct {
	*exec.Cmd
	in  io.Closer // it ends when this is closed, or the test ends
	out *bufio.Reader
}

// startChild starts another process, until the end of the test.
func startChild(t *testing.T, role, folder, addr string) *child {
	t.Helper()
	c := &child{Cmd: exec.Command(os.Args[0])}
	c.Env = append(os.Environ(), childRole+"="+role, childFolder+"="+folder, childAddr+"="+addr)
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.in, c.out = in, bufio.NewReader(out)
	if err := c.Start(); err != nil {
		t.Fatalf("start another process: got error %v, want none", err)
	}
	t.Cleanup(c.kill)
	return c
}

// kill ends the process in the middle of whatever it does.
func (c *child) kill() {
	_ = c.Process.Kill()
	_ = c.Wait()
	_ = c.in.Close()
}

// line returns the next line that the process writes.
func (c *child) line(t *testing.T) string {
	t.Helper()
	text, err := c.out.ReadString('\n')
	if err != nil {
		t.Fatalf("read from the other process: got error %v, want a line", err)
	}
	return strings.TrimSpace(text)
}

// runChild is the other process.
func runChild(role string) {
	must := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, "child:", err)
			os.Exit(2)
		}
	}
	if role == "relay" {
		must(runRelay(os.Getenv(childFolder), os.Getenv(childAddr)))
		return
	}
	loop, err := reactor.New(reactor.Config{})
	must(err)
	cfg := shm.Config{Folder: os.Getenv(childFolder)}
	addr := netip.MustParseAddrPort(os.Getenv(childAddr))
	if role == "send" {
		s, err := newSource()
		must(err)
		b, err := shm.Opener(loop, cfg)(s)
		must(err)
		must(b.OpenEndpoint(addr, netio.Params{ZeroCopy: netio.ZeroCopyParams{Region: s.region}}))
	} else {
		s := &sink{}
		s.data = func(uint64) { must(s.wrong) }
		b, err := shm.Opener(loop, cfg)(s)
		must(err)
		l, err := b.OpenListenEndpoint(addr, netio.Params{})
		must(err)
		_, err = fmt.Println(l.Addr())
		must(err)
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	must(loop.Run(context.Background()))
}

// kills is how many processes are killed in a test.
func kills() int { return netiotest.Few(12, 3) }

// TestSenderIsKilled: at any point. What it has published whole arrives, nothing else, and
// the end shows.
func TestSenderIsKilled(t *testing.T) {
	dir := folder(t)
	s := &sink{}
	ends, due := make(chan error, 1), make(chan struct{}, 1)
	s.closed = func(cause error) { ends <- cause }
	b, _ := backendtest.Open(t, reactor.Config{}, s, opener(shm.Config{Folder: dir}))
	l, err := b.OpenListenEndpoint(netip.MustParseAddrPort("127.0.0.1:0"), netio.Params{})
	if err != nil {
		t.Fatalf("OpenListenEndpoint: got error %v, want none", err)
	}
	for range kills() {
		after := 1 + rand.Uint64N(2000)
		onLoop(t, b.Loop(), func() {
			s.data = func(n uint64) {
				if n == after {
					due <- struct{}{}
				}
			}
		})
		c := startChild(t, "send", dir, l.Addr().String())
		next(t, "messages", due)
		c.kill()
		cause := next(t, "OnConnectionClosed", ends)
		var op *netio.OpError
		if !errors.As(cause, &op) || !errors.Is(cause, unix.ECONNRESET) && !errors.Is(cause, netio.ErrTruncated) {
			t.Errorf("cause after the sender was killed: got %v, want an *OpError with %v or %v", cause, unix.ECONNRESET, netio.ErrTruncated)
		}
		onLoop(t, b.Loop(), func() {
			if s.wrong != nil {
				t.Errorf("messages of a sender that was killed: got %v", s.wrong)
			}
		})
	}
	if got := names(t, dir); len(got) != 1 {
		t.Errorf("names in the folder: got %q, want that of the listen endpoint", got)
	}
}

// TestReceiverIsKilled: at any point. All keys are reported, in order, and who listens
// next replaces the socket that was left.
func TestReceiverIsKilled(t *testing.T) {
	dir := folder(t)
	addr := "127.0.0.1:1337"
	for range kills() {
		c := startChild(t, "listen", dir, addr)
		if got := c.line(t); got != addr {
			t.Fatalf("address of the other process: got %q, want %q", got, addr)
		}
		s, err := newSource()
		if err != nil {
			t.Fatalf("AllocSharedRegion: got error %v, want none", err)
		}
		after := 1 + rand.IntN(2000)
		due, ends := make(chan struct{}, 1), make(chan error, 1)
		s.completed = func(n int) {
			if n == after {
				due <- struct{}{}
			}
		}
		s.closed = func(_ []netio.Key, cause error) { ends <- cause }
		b, _ := backendtest.Open(t, reactor.Config{}, s, opener(shm.Config{Folder: dir}))
		if err := b.OpenEndpoint(netip.MustParseAddrPort(addr), netio.Params{ZeroCopy: netio.ZeroCopyParams{Region: s.region}}); err != nil {
			t.Fatalf("OpenEndpoint: got error %v, want none", err)
		}
		next(t, "completions", due)
		c.kill()
		if cause := next(t, "OnConnectionClosed", ends); !errors.Is(cause, unix.ECONNRESET) {
			t.Errorf("cause after the receiver was killed: got %v, want %v", cause, unix.ECONNRESET)
		}
		if err := b.Close(); err != nil {
			t.Errorf("Close: got error %v, want none", err)
		}
		if !slices.Equal(s.reported, s.accepted) {
			t.Errorf("keys: got %d reported, want the %d that were accepted, in order", len(s.reported), len(s.accepted))
		}
		_ = netio.FreeRegion(s.region)
	}
	if _, err := listen(t, shm.Config{Folder: dir}, "127.0.0.1:2"); err != nil {
		t.Errorf("OpenListenEndpoint: got error %v, want none", err)
	}
	if got := names(t, dir); len(got) != 1 || got[0] != "127.0.0.1:2" {
		t.Errorf("names in the folder: got %q, want none of the process that was killed", got)
	}
}
