// SPDX-License-Identifier: Apache-2.0

package tcp_test

import (
	"bytes"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"tagbus/internal/testkit"
	"tagbus/netio"
	"tagbus/netio/tcp"
)

// connectionBytes is what a connection may take of the process, with all that
// there is but receive buffers. Measured: about 2 KiB.
const connectionBytes = 8 << 10

// needFiles raises the limit of descriptors to n, or skips the test.
func needFiles(tb testing.TB, n uint64) {
	tb.Helper()
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		tb.Fatalf("Getrlimit: got error %v, want none", err)
	}
	if limit.Cur >= n {
		return
	}
	if limit.Max < n {
		tb.Skipf("the test needs %d descriptors, and the hard limit is %d", n, limit.Max)
	}
	before := limit
	limit.Cur = n
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		tb.Fatalf("Setrlimit to %d: got error %v, want none", n, err)
	}
	tb.Cleanup(func() { _ = unix.Setrlimit(unix.RLIMIT_NOFILE, &before) })
}

// residentBytes returns the memory of the process that is not free.
func residentBytes(tb testing.TB) int {
	tb.Helper()
	debug.FreeOSMemory()
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		tb.Fatalf("ReadFile: got error %v, want none", err)
	}
	pages, err := strconv.Atoi(string(bytes.Fields(statm)[1]))
	if err != nil {
		tb.Fatalf("statm: got %q, want numbers", statm)
	}
	return pages * os.Getpagesize()
}

// rawPeer is a peer that takes nothing of the process but a descriptor.
type rawPeer int

func dialPeer(tb testing.TB, s *served) rawPeer {
	tb.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		tb.Fatalf("socket: got error %v, want none", err)
	}
	tb.Cleanup(func() { _ = unix.Close(fd) })
	if err := unix.Connect(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}, Port: int(s.l.Addr().Port())}); err != nil {
		tb.Fatalf("connect: got error %v, want none", err)
	}
	return rawPeer(fd)
}

// send writes all of data, which the system has room for.
func (p rawPeer) send(tb testing.TB, data []byte) {
	tb.Helper()
	for len(data) > 0 {
		n, err := unix.Write(int(p), data)
		if err == syscall.EINTR { //nolint:errorlint // it is an errno
			continue
		}
		if err != nil {
			tb.Fatalf("write: got error %v, want none", err)
		}
		data = data[n:]
	}
}

// parts counts what the endpoints of a backend have received, and keeps nothing.
type parts struct {
	netio.NopHandler
	b                             netio.Backend
	established, messages, closed int
	used                          int // most bytes of memory beside the pool, at any message
}

func (p *parts) OnConnectionEstablished(netio.Endpoint) { p.established++ }

func (p *parts) OnConnectionClosed(netio.Endpoint, []netio.Key, error) { p.closed++ }

func (p *parts) OnData(netio.Endpoint, []byte) {
	p.messages++
	used, _ := tcp.BackendBytes(p.b)
	p.used = max(p.used, used)
}

// TestEndpoint_sharedReceiveMemoryIsConstant opens 1 and then 1,000 connections of which each
// holds a part of a message, then completes it, and so on: the memory for what is
// received stays the same, and that of the process grows by what an endpoint itself
// takes.
func TestEndpoint_sharedReceiveMemoryIsConstant(t *testing.T) {
	const many, buffers, size, rounds = 1000, 16, 16 << 10, 3
	needFiles(t, 2*many+200)
	cases := []struct {
		name    string
		cfg     tcp.Config
		receive netio.ReceiveParams
	}{
		{"shared by the endpoints of the backend", shared(buffers, size), netio.ReceiveParams{}},
		{
			"shared by the endpoints of the listen endpoint",
			tcp.Config{},
			netio.ReceiveParams{Buffers: buffers, MaxMessageBytes: size, Shared: true},
		},
	}
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			h := &parts{}
			h.b = openBackend(t, h, tcp.WithPartialTimeout(tt.cfg, -1))
			l, err := h.b.OpenListenEndpoint(loopback, netio.Params{Receive: tt.receive})
			if err != nil {
				t.Fatalf("OpenListenEndpoint: got error %v, want none", err)
			}
			s := &served{b: h.b, l: l}
			message := frame(pattern(size, 1))
			var peers []rawPeer
			sent := 0
			measure := func(n int) (receive, resident int) {
				for len(peers) < n {
					peers = append(peers, dialPeer(t, s))
				}
				waitFor(t, s.b.Loop(), "connections", func() bool { return h.established == n })
				for range rounds {
					for _, p := range peers {
						p.send(t, message[:size/2])
					}
					waitFor(t, s.b.Loop(), "parts in buffers", func() bool {
						return poolOf(s).Used() == min(n, buffers) && len(poolOf(s).Waiting()) == n-min(n, buffers)
					})
					resident = max(resident, residentBytes(t))
					for _, p := range peers {
						p.send(t, message[size/2:])
					}
					sent += n
					waitFor(t, s.b.Loop(), "messages", func() bool { return h.messages == sent })
				}
				onLoop(t, s.b.Loop(), func() {
					receive = poolOf(s).Bytes() + h.used
					if h.closed != 0 {
						t.Errorf("connections that ended: got %d, want none", h.closed)
					}
				})
				return receive, resident
			}
			one, residentOne := measure(1)
			all, residentAll := measure(many)
			if one != all || one != buffers*(size+64) {
				t.Errorf("memory for what is received: got %d bytes with 1 connection and %d with %d, want %d", one, all, many, buffers*(size+64))
			}
			// The buffers of the pool are touched in the second measurement only.
			perConnection := (residentAll - residentOne - all) / many
			t.Logf("memory of the process: %d bytes with 1 connection, %d with %d: %d for each beside the buffers", residentOne, residentAll, many, perConnection)
			if perConnection > connectionBytes && !testkit.Race {
				t.Errorf("memory of the process for each connection: got %d bytes, want at most %d", perConnection, connectionBytes)
			}
		})
	}
}

// poolOf returns the pool that the endpoints of a listen endpoint share.
func poolOf(s *served) tcp.ReceivePool {
	pools := []tcp.ReceivePool{tcp.ReceivePoolOf(s.b), tcp.ReceivePoolOf(s.l)}
	return pools[slices.IndexFunc(pools, func(p tcp.ReceivePool) bool { return !p.None() })]
}
