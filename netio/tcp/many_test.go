// SPDX-License-Identifier: Apache-2.0

package tcp_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tagbus/internal/testkit"
	"tagbus/internal/testkit/backendtest"
	"tagbus/netio"
	"tagbus/netio/netiotest"
	"tagbus/netio/tcp"
)

// Of TestBackend_tenThousandConnectionsOpenedAndClosed.
const (
	manyConnections = 10_000
	manyWarm        = 1_000 // connections before the first measurement
	manyAtATime     = 64

	// manyHeapBytes is how much more may be in use at the end than after the
	// first 1,000 connections: 29 bytes for each of the others, less than any
	// trace that an endpoint could leave, and more than the noise.
	manyHeapBytes = 256 << 10

	// manyResidentBytes is the same for the memory that the system has given:
	// what the garbage collector has not returned yet, but not the ring of
	// sends (20 KiB) of each of 9,000 endpoints.
	manyResidentBytes = 32 << 20
)

// growth is what must not grow with the number of connections that have been.
type growth struct {
	goroutines, files, watched int
	backendUsed                int   // bytes in use by both backends
	backendFree                int   // bytes that they keep for later
	heap, resident             int64 // bytes
}

// measureGrowth measures when nothing is open but what listens.
//
//   - few: it waits until there are so few goroutines, as one that has nothing more to do may end later.
func measureGrowth(tb testing.TB, few int, backends ...netio.Backend) (g growth) {
	tb.Helper()
	for _, b := range backends {
		onLoop(tb, b.Loop(), func() {}) // behind the end of the last connection
		used, free := tcp.BackendBytes(b)
		g.backendUsed += used
		g.backendFree += free
	}
	runtime.GC()
	runtime.GC() // pools of the runtime survive one
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	g.heap = int64(m.HeapAlloc)
	for deadline := time.Now().Add(backendtest.Patience); runtime.NumGoroutine() > few && time.Now().Before(deadline); {
		runtime.Gosched()
	}
	g.goroutines = runtime.NumGoroutine()
	g.files = backendtest.OpenFiles(tb)
	g.watched = watchedDescriptors(tb)
	g.resident = processBytes(tb)
	return g
}

// watchedDescriptors counts the descriptors that all epoll instances of the process
// watch.
func watchedDescriptors(tb testing.TB) (n int) {
	tb.Helper()
	infos, err := filepath.Glob("/proc/self/fdinfo/*")
	if err != nil {
		tb.Fatalf("list the descriptors: got error %v, want none", err)
	}
	for _, info := range infos {
		text, err := os.ReadFile(info)
		if err == nil { // else it has been closed meanwhile
			n += strings.Count(string(text), "tfd:")
		}
	}
	return n
}

// processBytes returns how much memory the process has.
func processBytes(tb testing.TB) int64 {
	tb.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		tb.Fatalf("read the size of the process: got error %v, want none", err)
	}
	pages, err := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	if err != nil {
		tb.Fatalf("size of the process %q: got error %v, want none", text, err)
	}
	return pages * int64(os.Getpagesize())
}

// caller opens one connection after the other, some at a time, sends a message
// on each, wants it back, and closes those with an even number. The server
// closes the others. Its fields are used on its loop.
type caller struct {
	netio.NopHandler
	tb   testing.TB
	b    netio.Backend
	port uint16

	next, end int // of the numbers
	left      int // connections that have not ended
	done      chan struct{}
}

// address returns an address of the server of its own for each connection: a
// backend has only one active endpoint to an address.
func (c *caller) address(number int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 1 + byte(number>>16), byte(number >> 8), byte(number)}), c.port)
}

// dial opens the next connection, if there is one.
func (c *caller) dial() {
	if c.next == c.end {
		return
	}
	c.next++
	if err := c.b.OpenEndpoint(c.address(c.next), netio.Params{Context: c.next}); err != nil {
		c.tb.Errorf("OpenEndpoint of connection %d: got error %v, want none", c.next, err)
		c.ended()
	}
}

// ended goes on with the next connection.
func (c *caller) ended() {
	c.dial()
	if c.left--; c.left == 0 {
		c.done <- struct{}{}
	}
}

func (c *caller) OnConnectionRefused(addr netip.AddrPort, err error) {
	c.tb.Errorf("OnConnectionRefused: got one for %v (%v), want none", addr, err)
	c.ended()
}

func (c *caller) OnConnectionEstablished(ep netio.Endpoint) {
	message := binary.LittleEndian.AppendUint64(make([]byte, 0, 8), uint64(ep.Context().(int)))
	if err := ep.SendCopy(0, nil, message); err != nil {
		c.tb.Errorf("SendCopy: got error %v, want none", err)
	}
}

func (c *caller) OnData(ep netio.Endpoint, data []byte) {
	number := ep.Context().(int)
	if want := binary.LittleEndian.AppendUint64(nil, uint64(number)); !bytes.Equal(data, want) {
		c.tb.Errorf("answer of connection %d: got %x, want %x", number, data, want)
	}
	ep.SetContext(-number)
	if number%2 == 0 {
		_ = ep.Close()
	}
}

func (c *caller) OnConnectionClosed(ep netio.Endpoint, _ []netio.Key, cause error) {
	if number := ep.Context().(int); number > 0 {
		c.tb.Errorf("connection %d: got closed (%v) before the answer, want the answer", number, cause)
	}
	c.ended()
}

// answerer answers each message with itself and then, if it is odd, closes.
type answerer struct {
	netio.NopHandler
	tb     testing.TB
	closed atomic.Int64
	want   int64 // of closed, then done is told; changed while nothing is open
	done   chan struct{}
}

func (a *answerer) OnData(ep netio.Endpoint, data []byte) {
	ep.SetContext(data[0]%2 == 1)
	if err := ep.SendCopy(0, nil, data); err != nil {
		a.tb.Errorf("SendCopy: got error %v, want none", err)
	}
}

func (a *answerer) OnSendCompleted(c netio.Completion) {
	if c.Endpoint.Context() == true {
		_ = c.Endpoint.Close()
	}
}

func (a *answerer) OnConnectionClosed(netio.Endpoint, []netio.Key, error) {
	if a.closed.Add(1) == a.want {
		a.done <- struct{}{}
	}
}

// TestBackend_tenThousandConnectionsOpenedAndClosed opens, uses and closes connections
// and compares what the process has after the first 1,000 of them with what it
// has at the end. A race build, which is slower by a factor of ten, does with
// 3,000.
func TestBackend_tenThousandConnectionsOpenedAndClosed(t *testing.T) {
	connections := manyConnections
	if testkit.Race {
		connections = 3_000
	}
	netiotest.CheckLeaks(t)
	a := &answerer{tb: t, done: make(chan struct{}, 1)}
	server := openBackend(t, a, tcp.Config{})
	l, err := server.OpenListenEndpoint(netip.MustParseAddrPort("0.0.0.0:0"), netio.Params{})
	if err != nil {
		t.Fatalf("OpenListenEndpoint: got error %v, want none", err)
	}
	c := &caller{tb: t, port: l.Addr().Port(), done: make(chan struct{}, 1)}
	c.b = openBackend(t, c, tcp.Config{})
	run := func(end, few int) growth {
		onLoop(t, server.Loop(), func() { a.want = int64(end) })
		onLoop(t, c.b.Loop(), func() {
			c.left, c.end = end-c.next, end
			for range min(manyAtATime, c.left) {
				c.dial()
			}
		})
		next(t, "the end of the connections at the client", c.done)
		next(t, "the end of the connections at the server", a.done)
		return measureGrowth(t, few, server, c.b)
	}
	first := run(manyWarm, math.MaxInt)
	last := run(connections, first.goroutines)
	t.Logf("after %d connections: %+v", manyWarm, first)
	t.Logf("after %d connections: %+v", connections, last)
	checkGrowth(t, first, last)
	for _, b := range []netio.Backend{server, c.b} {
		s := b.Stats()
		if n := uint64(connections); s.Accepted+s.Opened != n || s.Closed != n || s.MessagesReceived != n || s.Refused+s.AcceptErrors+s.AcceptShed != 0 {
			t.Errorf("statistics of %d connections: got %+v, want each opened, used and closed", connections, s)
		}
	}
}

func checkGrowth(t *testing.T, first, last growth) {
	t.Helper()
	check := func(what string, first, last, bound int64) {
		if last > first+bound {
			t.Errorf("%s: got %d, want at most %d more than the %d before", what, last, bound, first)
		}
	}
	check("goroutines", int64(first.goroutines), int64(last.goroutines), 0)
	check("file descriptors", int64(first.files), int64(last.files), 0)
	check("watched descriptors", int64(first.watched), int64(last.watched), 0)
	check("bytes used by the backends", 0, int64(last.backendUsed), 0)
	check("bytes kept by the backends", int64(first.backendFree), int64(last.backendFree), 1<<20)
	check("bytes of the heap", first.heap, last.heap, manyHeapBytes)
	if !testkit.Race { // the detector has a memory of its own
		check("resident bytes", first.resident, last.resident, manyResidentBytes)
	}
}
