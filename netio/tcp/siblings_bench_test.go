// SPDX-License-Identifier: Apache-2.0

package tcp_test

import (
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tagbus/internal/testkit/backendtest"
	"tagbus/netio"
	"tagbus/netio/reactor"
	"tagbus/netio/tcp"
)

// fountain is a backend that sends as much as its connections take.
type fountain struct {
	netio.NopHandler
	b       netio.Backend
	data    []byte
	running atomic.Bool
	on      chan netio.Endpoint
}

const fountainSends = 4 // under way on each connection

func (f *fountain) OnConnectionEstablished(ep netio.Endpoint) { f.on <- ep }

func (f *fountain) OnSendCompleted(c netio.Completion) {
	if f.running.Load() {
		_ = c.Endpoint.Send(0, nil, f.data) // fails when the benchmark has ended
	}
}

// newFountain connects a fountain to drains that throw away what comes without
// copying it (MSG_TRUNC in tcp(7)), so that sending is nearly all of the work.
func newFountain(b *testing.B, loops, conns int, drained *atomic.Int64) *fountain {
	b.Helper()
	f := &fountain{data: make([]byte, 128<<10), on: make(chan netio.Endpoint, conns)}
	backend, _ := backendtest.Open(b, reactor.Config{}, f, func(loop *reactor.EventLoop) netio.Opener {
		return tcp.OpenerOn(loop, backendtest.StartLoops(b, loops), tcp.Config{})
	})
	f.b = backend
	l, err := backend.OpenListenEndpoint(loopback, netio.Params{ZeroCopy: netio.ZeroCopyParams{Outstanding: fountainSends}})
	if err != nil {
		b.Fatalf("OpenListenEndpoint: got error %v, want none", err)
	}
	for range conns {
		c, err := net.DialTCP("tcp", nil, net.TCPAddrFromAddrPort(l.Addr()))
		if err != nil {
			b.Fatalf("dial: got error %v, want none", err)
		}
		b.Cleanup(func() { _ = c.Close() })
		go drain(c, drained)
	}
	return f
}

func drain(c *net.TCPConn, drained *atomic.Int64) {
	raw, err := c.SyscallConn()
	if err != nil {
		return
	}
	place := make([]byte, 1<<20)
	_ = raw.Read(func(fd uintptr) bool { // until it is closed
		for {
			n, _, err := unix.Recvfrom(int(fd), place, unix.MSG_TRUNC|unix.MSG_DONTWAIT)
			if err != nil || n <= 0 {
				return n == 0 && err == nil
			}
			drained.Add(int64(n))
		}
	})
}

// rate returns the bytes per second of one more second.
func (f *fountain) rate(eps []netio.Endpoint, drained *atomic.Int64) float64 {
	f.running.Store(true)
	for _, ep := range eps {
		for range fountainSends {
			_ = ep.Send(0, nil, f.data)
		}
	}
	start, before := time.Now(), drained.Load()
	<-time.After(time.Second)
	rate := float64(drained.Load()-before) / time.Since(start).Seconds()
	f.running.Store(false)
	return rate
}

// BenchmarkLoops sends on four connections with one loop, and with two that share
// them, in turn. One op is a second of each. ratio: how many times as much two send.
func BenchmarkLoops(b *testing.B) {
	const conns = 4
	var drained [2]atomic.Int64
	var fountains [2]*fountain
	var eps [2][]netio.Endpoint
	for i := range fountains {
		fountains[i] = newFountain(b, 2*i, conns, &drained[i])
		for range conns {
			eps[i] = append(eps[i], next(b, "OnConnectionEstablished", fountains[i].on))
		}
	}
	var sum [2]float64
	b.ResetTimer()
	for range b.N {
		for i, f := range fountains {
			sum[i] += f.rate(eps[i], &drained[i])
		}
	}
	for i, name := range []string{"one", "two"} {
		b.ReportMetric(sum[i]/float64(b.N)/1e9, fmt.Sprintf("%s-GB/s", name))
	}
	b.ReportMetric(sum[1]/sum[0], "ratio")
}
