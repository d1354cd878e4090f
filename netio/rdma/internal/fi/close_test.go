// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package fi_test

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"tagbus/netio/rdma/internal/fi"
)

// pollFD waits until a descriptor is readable.
func pollFD(tb testing.TB, fd int) {
	tb.Helper()
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(patience.Milliseconds()))
	if err != nil && !errors.Is(err, unix.EINTR) || n == 0 && err == nil {
		tb.Fatalf("poll a descriptor for %v: got %d and error %v, want it readable", patience, n, err)
	}
}

func TestShutdownReachesTheOtherSide(t *testing.T) {
	c := connect(t, false)
	defer c.close(t)
	exchange(t, c.client, c.server, 5)
	succeed(t, c.client.ep.Shutdown())
	flushed := 0
	var last fi.Event
	await(t, "the end of the connection", func() bool {
		for _, done := range c.server.drain(t) { // tcp looks at its socket only here
			if done.Err() == 0 {
				t.Fatalf("completion after the end: got %+v, want failed ones", done)
			}
			flushed++
		}
		for _, last = range c.server.eq.Read() {
			return true
		}
		return false
	})
	if last.Type != fi.Shutdown || last.Context != serverContext {
		t.Errorf("event: got %+v, want the end of the server's connection", last)
	}
}

// TestClosedEndpointGivesBackItsReceives counts them: what is posted comes back
// as a completion, also of an endpoint that is closed.
func TestClosedEndpointGivesBackItsReceives(t *testing.T) {
	c := connect(t, false)
	defer c.close(t)
	succeed(t, c.server.ep.Close())
	seen := map[uint64]bool{}
	await(t, "all receives", func() bool {
		for _, done := range c.server.drain(t) {
			if done.Err() == 0 || seen[done.Context] {
				t.Fatalf("completion of receive %d: got error %v, want each once with one", done.Context, done.Err())
			}
			seen[done.Context] = true
		}
		return len(seen) == slots
	})
}

func TestClosingTwiceDoesNothing(t *testing.T) {
	c := connect(t, true)
	for range 2 {
		succeed(t, c.server.ep.Close())
		succeed(t, c.server.srx.Close())
		succeed(t, c.server.mr.Close())
	}
	c.close(t)
	succeed(t, c.server.fabric.Close())
	succeed(t, c.pep.Close())
}

func TestMemoryOfGoCanBeRegistered(t *testing.T) {
	c := connect(t, false)
	defer c.close(t)
	mem := []byte("from the heap of Go")
	mr := must(c.client.domain.Register(mem))(t)
	op := fi.Op{EP: c.client.ep.Handle(), Flags: fi.Completion, Count: 1}
	op.Pieces[0] = fi.Piece{Base: uint64(uintptr(unsafe.Pointer(&mem[0]))), Len: uint64(len(mem)), Desc: mr.Desc()}
	c.client.ring.Ops[0] = op
	c.client.post(t, 1)
	done := waitCompletions(t, c.server)
	at := int(done[0].Context) * slotBytes
	if got := string(c.server.mem[at : at+done[0].Len()]); got != string(mem) {
		t.Errorf("message: got %q, want %q", got, mem)
	}
	waitCompletions(t, c.client)
	succeed(t, mr.Close())
}

// usage is what the process holds.
func usage(tb testing.TB) (files, kilobytes, threads int) {
	tb.Helper()
	debug.FreeOSMemory()
	tasks := must(os.ReadDir("/proc/self/task"))(tb)
	text := must(os.ReadFile("/proc/self/statm"))(tb)
	var size, resident int
	_, err := fmt.Sscan(string(text), &size, &resident)
	succeed(tb, err)
	entries := must(os.ReadDir("/proc/self/fd"))(tb) // last: the first file that Go reads brings two that stay
	return len(entries), resident * os.Getpagesize() / 1024, len(tasks)
}

func TestRoundsLeaveNothingBehind(t *testing.T) {
	round := func() {
		c := connect(t, false)
		exchange(t, c.client, c.server, 2)
		c.close(t)
	}
	before, rounds := 20, 500
	if testing.Short() { // for a device that is slow
		before, rounds = 5, 10
	}
	for range before { // until caches are warm
		round()
	}
	files, kilobytes, threads := usage(t)
	for range rounds {
		round()
	}
	filesNow, kilobytesNow, threadsNow := usage(t)
	t.Logf("%d rounds: %d to %d files, %d to %d KiB, %d to %d threads", rounds, files, filesNow, kilobytes, kilobytesNow, threads, threadsNow)
	if filesNow > files || kilobytesNow > kilobytes+max(20*rounds, 4<<10) || threadsNow > threads+2 {
		t.Errorf("after %d rounds: got %d files, %d KiB, %d threads, want the %d, %d, %d of before",
			rounds, filesNow, kilobytesNow, threadsNow, files, kilobytes, threads)
	}
}
