// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package rdma_test

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"tagbus/netio"
	"tagbus/netio/rdma"
	"tagbus/netio/rdma/internal/fi"
	"tagbus/netio/reactor"
)

// benchSizes are those of the messages, with how many are under way.
var benchSizes = []struct{ size, window int }{{64, 256}, {1 << 10, 256}, {64 << 10, 64}, {1 << 20, 16}}

// benchLoop is a loop that does little else, as a readout would have it.
var benchLoop = reactor.Config{Wait: reactor.WaitThread}

// spareP gives Go two more Ps than processors: with both sides in one process, and
// away in C, it would have none left, and search each 20 µs for one to take away. Of
// two processes each would have its own.
func spareP(b *testing.B) {
	b.Helper()
	before := runtime.GOMAXPROCS(runtime.NumCPU() + 2)
	b.Cleanup(func() { runtime.GOMAXPROCS(before) })
}

// BenchmarkSend sends over one connection of this package, as fast as
// completions allow, from a region, and for comparison by a loop in C over bare
// libfabric, to a receiver that does nothing but post its buffers again. The loop in
// C has no flow control.
func BenchmarkSend(b *testing.B) {
	for _, s := range benchSizes {
		b.Run(fmt.Sprintf("sender=rdma/size=%d", s.size), func(b *testing.B) { benchBackend(b, s.size, s.window) })
		b.Run(fmt.Sprintf("sender=C/size=%d", s.size), func(b *testing.B) { benchBare(b, s.size, s.window) })
	}
}

// BenchmarkConnect opens and closes a connection: most of it is to register the
// receive buffers of both sides, 20 of that size each.
func BenchmarkConnect(b *testing.B) {
	for _, size := range []int{64 << 10, 256 << 10, 1 << 20} {
		b.Run(fmt.Sprintf("size=%d", size), func(b *testing.B) {
			p := netio.Params{Receive: netio.ReceiveParams{MaxMessageBytes: size}}
			s := serve(b, newWatcher(), rdma.Config{}, p)
			w := newWatcher()
			client := openBackend(b, w, rdma.Config{Provider: provider()})
			b.ReportAllocs()
			end := measureCPU(b)
			for range b.N {
				if err := client.OpenEndpoint(s.l.Addr(), p); err != nil {
					b.Fatal(err)
				}
				ep := next(b, "OnConnectionEstablished", w.Established)
				next(b, "OnConnectionEstablished", s.Established)
				if err := ep.Close(); err != nil {
					b.Fatal(err)
				}
				next(b, "OnConnectionClosed", w.Closed)
				next(b, "OnConnectionClosed", s.Closed)
			}
			end()
		})
	}
}

// measureCPU begins to measure the time of processors that both sides take, and
// returns what ends it: on a machine that does other things, too, it says more
// than the time that passes.
func measureCPU(b *testing.B) (end func()) {
	b.Helper()
	now := func() time.Duration {
		var u unix.Rusage
		if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	began := now()
	b.ResetTimer()
	return func() {
		b.StopTimer()
		b.ReportMetric(float64(now()-began)/float64(b.N), "cpu-ns/op")
	}
}

// counter is a handler that counts messages.
type counter struct {
	netio.NopHandler
	left atomic.Int64
	done chan struct{}
}

func (c *counter) OnData(netio.Endpoint, []byte) {
	if c.left.Add(-1) == 0 {
		c.done <- struct{}{}
	}
}

// pump sends the next message at each completion.
type pump struct {
	netio.NopHandler
	established chan netio.Endpoint
	region      []byte
	size        int
	left        int // only on the loop
}

func (p *pump) OnConnectionEstablished(ep netio.Endpoint) { p.established <- ep }

func (p *pump) OnSendCompleted(c netio.Completion) { p.send(c.Endpoint, c.Key) }

// send sends message key, which is its place in the region.
func (p *pump) send(ep netio.Endpoint, key netio.Key) {
	if p.left--; p.left < 0 {
		return
	}
	at := int(key) * p.size
	if err := ep.Send(key, nil, p.region[at:at+p.size]); err != nil {
		panic(err)
	}
}

func benchBackend(b *testing.B, size, window int) {
	spareP(b)
	c := &counter{done: make(chan struct{}, 1)}
	server, _ := openBackendOn(b, benchLoop, c, rdma.Config{Provider: provider()})
	l, err := server.OpenListenEndpoint(loopback(), netio.Params{Receive: netio.ReceiveParams{MaxMessageBytes: size, Buffers: window}})
	if err != nil {
		b.Fatal(err)
	}
	p := &pump{established: make(chan netio.Endpoint, 1), region: newRegion(b, size*window), size: size}
	client, _ := openBackendOn(b, benchLoop, p, rdma.Config{Provider: provider()})
	if err := client.OpenEndpoint(l.Addr(), netio.Params{ZeroCopy: netio.ZeroCopyParams{Region: p.region, Outstanding: window}}); err != nil {
		b.Fatal(err)
	}
	ep := next(b, "OnConnectionEstablished", p.established)
	b.SetBytes(int64(size))
	b.ReportAllocs()
	end := measureCPU(b)
	c.left.Store(int64(b.N))
	onLoop(b, client.Loop(), func() {
		p.left = b.N
		for key := range window {
			p.send(ep, netio.Key(key))
		}
	})
	<-c.done
	end()
}

// bare is one side of a connection without this package.
type bare struct {
	*stranger
	mem  []byte
	mr   *fi.MR
	ring *fi.Ring
}

func newBare(b *testing.B, x *stranger, size, window int) *bare {
	b.Helper()
	e := &bare{stranger: x, mem: newRegion(b, size*window), ring: fi.NewRing(window, 1, window)}
	var err error
	if e.mr, err = x.domain.Register(e.mem); err != nil {
		b.Fatal(err)
	}
	if err := e.cq.Close(); err != nil { // for one that is large enough
		b.Fatal(err)
	}
	if e.cq, err = x.domain.OpenCQ(2 * window); err != nil {
		b.Fatal(err)
	}
	e.ring.Drains[0] = e.cq.Drain()
	b.Cleanup(func() {
		if err := e.mr.Close(); err != nil {
			b.Error(err)
		}
		e.ring.Free()
	})
	return e
}

// receive receives count messages.
func (e *bare) receive(size, count int) error {
	posts := 0
	for got := 0; got < count; {
		n := e.ring.Turn(posts, 1, len(e.ring.Completed))
		got += n
		posts = n
		for i := range n {
			done := &e.ring.Completed[i]
			if err := done.Err(); err != 0 {
				return err
			}
			e.fill(&e.ring.Ops[i], int(done.Context), size)
		}
		if n == 0 && e.ring.Drains[0].Armed() {
			_, _ = unix.Poll([]unix.PollFd{{Fd: int32(e.cq.FD()), Events: unix.POLLIN}}, 1000)
		}
	}
	return nil
}

func (e *bare) fill(op *fi.Op, slot, size int) {
	*op = fi.Op{EP: e.ep.Handle(), Context: uint64(slot), Kind: fi.Recv, Flags: fi.Completion, Count: 1}
	op.Pieces[0] = fi.Piece{Base: uint64(uintptr(unsafe.Pointer(&e.mem[slot*size]))), Len: uint64(size), Desc: e.mr.Desc()}
}

func benchBare(b *testing.B, size, window int) {
	spareP(b)
	x := newStranger(b, loopback(), true)
	pep, err := x.fabric.OpenPEP(x.info)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = pep.Close() }()
	if err := errors.Join(pep.Bind(x.eq), pep.Listen()); err != nil {
		b.Fatal(err)
	}
	addr, err := pep.Name()
	if err != nil {
		b.Fatal(err)
	}
	server := newBare(b, x, size, window)
	client := newBare(b, newStranger(b, addr, false), size, window)
	client.open(b, client.info)
	if err := client.ep.Connect(client.info, nil); err != nil {
		b.Fatal(err)
	}
	client.eq.Read() // sends the request
	request := server.event(b)
	server.open(b, request.Info)
	for slot := range window {
		server.fill(&server.ring.Ops[slot], slot, size)
	}
	server.ring.Turn(window, 0, 0)
	if err := server.ep.Accept(nil); err != nil {
		b.Fatal(err)
	}
	request.Info.Free()
	server.event(b)
	client.event(b)

	b.SetBytes(int64(size))
	end := measureCPU(b)
	received := make(chan error, 1)
	go func() { received <- server.receive(size, b.N) }()
	if _, err := fi.SendLoop(client.ep, client.cq, client.mem, client.mr, size, b.N, window); err != nil {
		b.Fatal(err)
	}
	if err := <-received; err != nil {
		b.Fatal(err)
	}
	end()
}
