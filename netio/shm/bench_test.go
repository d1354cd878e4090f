// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shm_test

import (
	"fmt"
	"net/netip"
	"sync/atomic"
	"testing"

	"tagbus/internal/testkit"
	"tagbus/internal/testkit/backendtest"
	"tagbus/netio"
	"tagbus/netio/reactor"
	"tagbus/netio/shm"
	"tagbus/netio/tcp"
)

// pump sends messages of one size as fast as they go, on its loop.
type pump struct {
	netio.NopHandler
	way    string // "copy", "lend" or "direct"
	header []byte
	data   [][]byte
	ep     chan netio.Endpoint
	left   int
	open   int
	over   bool          // done was told
	done   chan struct{} // all completed
}

func (p *pump) OnConnectionEstablished(ep netio.Endpoint) { p.ep <- ep }

func (p *pump) OnSendReady(ep netio.Endpoint) { p.fill(ep) }

func (p *pump) OnSendCompleted(c netio.Completion) {
	p.open--
	p.fill(c.Endpoint)
}

// fill sends until the queue is full or all is sent.
func (p *pump) fill(ep netio.Endpoint) {
	for p.left > 0 {
		done, err := p.send(ep)
		if err != nil {
			return
		}
		p.left--
		if !done {
			p.open++
		}
	}
	if p.open == 0 && !p.over {
		p.over = true
		p.done <- struct{}{}
	}
}

func (p *pump) send(ep netio.Endpoint) (done bool, err error) {
	switch p.way {
	case "copy":
		return false, ep.SendCopy(0, p.header, p.data...)
	case "direct":
		return ep.SendDirect(0, p.header, p.data...)
	}
	return false, ep.Send(0, p.header, p.data...)
}

// drainSink counts messages.
type drainSink struct {
	netio.NopHandler
	left atomic.Int64 // the race detector does not see that a message comes behind its send
	done chan struct{}
}

func (s *drainSink) OnData(netio.Endpoint, []byte) {
	if s.left.Add(-1) == 0 {
		s.done <- struct{}{}
	}
}

// OnDataParts implements netio.PartsHandler.
func (s *drainSink) OnDataParts(ep netio.Endpoint, _, data []byte) (taken bool) {
	s.OnData(ep, data)
	return true
}

// openers are the backends that are compared.
func openers(tb testing.TB) map[string]backendtest.Opener {
	tb.Helper()
	return map[string]backendtest.Opener{
		"shm": opener(shm.Config{Folder: folder(tb)}),
		"tcp": func(loop *reactor.EventLoop) netio.Opener { return tcp.Opener(loop, tcp.Config{}) },
	}
}

// flow is a pump that is connected to a sink, each with a loop of its own.
type flow struct {
	*pump
	sink *drainSink
	to   netio.Endpoint
	loop *backendtest.Runner
}

func newFlow(tb testing.TB, open backendtest.Opener, way string, size int) *flow {
	tb.Helper()
	region, err := netio.AllocSharedRegion(size)
	if err != nil {
		tb.Fatalf("AllocSharedRegion: got error %v, want none", err)
	}
	tb.Cleanup(func() { _ = netio.FreeRegion(region) })
	f := &flow{
		pump: &pump{way: way, header: make([]byte, 8), data: [][]byte{region}, ep: make(chan netio.Endpoint, 1), done: make(chan struct{}, 1)},
		sink: &drainSink{done: make(chan struct{}, 1)},
	}
	params := netio.Params{
		Receive:  netio.ReceiveParams{MaxMessageBytes: size + 8},
		ZeroCopy: netio.ZeroCopyParams{Outstanding: 64, Region: region},
	}
	server, _ := backendtest.Open(tb, reactor.Config{}, f.sink, open)
	l, err := server.OpenListenEndpoint(netip.MustParseAddrPort("127.0.0.1:0"), params)
	if err != nil {
		tb.Fatalf("listen: got error %v, want none", err)
	}
	client, loop := backendtest.Open(tb, reactor.Config{}, f.pump, open)
	if err := client.OpenEndpoint(l.Addr(), params); err != nil {
		tb.Fatalf("open endpoint: got error %v, want none", err)
	}
	f.to, f.loop = <-f.ep, loop
	return f
}

// run sends n messages and returns when they have arrived.
func (f *flow) run(n int) {
	f.sink.left.Store(int64(n))
	f.loop.Post(func() {
		f.left, f.over = n, false
		f.fill(f.to)
	})
	<-f.sink.done
	<-f.done
}

func BenchmarkThroughput(b *testing.B) {
	for _, size := range []int{64, 1 << 10, 16 << 10, 64 << 10, 1 << 20} {
		for _, header := range []bool{false, true} {
			for _, way := range []string{"copy", "lend", "direct"} {
				for _, backend := range []string{"tcp", "shm"} {
					b.Run(fmt.Sprintf("size=%d/header=%t/way=%s/backend=%s", size, header, way, backend), func(b *testing.B) {
						f := newFlow(b, openers(b)[backend], way, size)
						if !header {
							f.header = nil
						}
						f.run(1000)
						b.SetBytes(int64(size))
						b.ReportAllocs()
						b.ResetTimer()
						f.run(b.N)
					})
				}
			}
		}
	}
}

// echo answers each message with the same bytes.
type echo struct{ netio.NopHandler }

func (echo) OnData(ep netio.Endpoint, data []byte) { _, _ = ep.SendDirect(0, nil, data) }

// pinger sends the next message when the answer to the last one has come.
type pinger struct {
	netio.NopHandler
	ep   chan netio.Endpoint
	data []byte
	left int
	done chan struct{}
}

func (p *pinger) OnConnectionEstablished(ep netio.Endpoint) { p.ep <- ep }

func (p *pinger) OnData(ep netio.Endpoint, _ []byte) {
	if p.left--; p.left == 0 {
		p.done <- struct{}{}
		return
	}
	_, _ = ep.SendDirect(0, nil, p.data)
}

func BenchmarkRoundTrip(b *testing.B) {
	for _, backend := range []string{"tcp", "shm"} {
		b.Run("backend="+backend, func(b *testing.B) {
			open := openers(b)[backend]
			server, _ := backendtest.Open(b, reactor.Config{}, echo{}, open)
			l, err := server.OpenListenEndpoint(netip.MustParseAddrPort("127.0.0.1:0"), netio.Params{})
			if err != nil {
				b.Fatalf("listen: got error %v, want none", err)
			}
			p := &pinger{ep: make(chan netio.Endpoint, 1), data: make([]byte, 64), done: make(chan struct{}, 1)}
			client, loop := backendtest.Open(b, reactor.Config{}, p, open)
			if err := client.OpenEndpoint(l.Addr(), netio.Params{}); err != nil {
				b.Fatalf("open endpoint: got error %v, want none", err)
			}
			ep := <-p.ep
			b.ReportAllocs()
			b.ResetTimer()
			p.left = b.N
			loop.Post(func() { _, _ = ep.SendDirect(0, nil, p.data) })
			<-p.done
		})
	}
}

// TestDataPathAllocatesNothing: neither side, in no way to send, once the memory is there
// that it needs.
func TestDataPathAllocatesNothing(t *testing.T) {
	const messages = 1000
	runs := 20
	if testkit.Race {
		runs = 2
	}
	for _, way := range []string{"copy", "lend", "direct"} {
		for _, size := range []int{20, 1000, 40 << 10} {
			t.Run(fmt.Sprintf("%s, %d bytes", way, size), func(t *testing.T) {
				f := newFlow(t, openers(t)["shm"], way, size)
				run := func() { f.run(messages) }
				run()
				few := float64(messages / 50)
				if testkit.Race {
					few = messages // the detector's own, and blocks of the heap
				}
				if got := testing.AllocsPerRun(runs, run); got > few {
					t.Errorf("allocations for %d messages: got %v, want up to %v", messages, got, few)
				}
			})
		}
	}
}
