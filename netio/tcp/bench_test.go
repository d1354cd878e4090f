// SPDX-License-Identifier: Apache-2.0

package tcp_test

import (
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"testing"

	"tagbus/internal/testkit/backendtest"
	"tagbus/netio"
	"tagbus/netio/reactor"
	"tagbus/netio/tcp"
)

// ways are the three ways to send.
var ways = []string{"copy", "zero-copy", "buffered"}

// pump sends messages of one size as fast as they go, on its loop.
type pump struct {
	netio.NopHandler
	way    string
	header []byte
	data   [][]byte
	ep     chan netio.Endpoint
	left   int
	done   chan struct{} // all completed
	open   int
}

func newPump(way string, size int) *pump {
	return &pump{way: way, data: [][]byte{make([]byte, size)}, ep: make(chan netio.Endpoint, 1), done: make(chan struct{}, 1)}
}

func (p *pump) OnConnectionEstablished(ep netio.Endpoint) { p.ep <- ep }

func (p *pump) OnSendCompleted(c netio.Completion) {
	p.open--
	if p.left > 0 {
		p.fill(c.Endpoint)
	} else if p.open == 0 {
		p.done <- struct{}{}
	}
}

// fill sends until the queue is full or all is sent.
func (p *pump) fill(ep netio.Endpoint) {
	for p.left > 0 && p.send(ep) == nil {
		p.left--
		p.open++
	}
}

func (p *pump) send(ep netio.Endpoint) error {
	switch p.way {
	case "copy":
		return ep.SendCopy(0, p.header, p.data...)
	case "zero-copy":
		return ep.Send(0, p.header, p.data...)
	}
	b, err := ep.Buffer()
	if err != nil {
		return err
	}
	b.Extend(len(p.data[0])) // filling it is not what is measured
	return ep.SendBuffer(b)
}

// sink counts messages.
type sink struct {
	netio.NopHandler
	left int
	done chan struct{}
}

func (s *sink) OnData(netio.Endpoint, []byte) {
	if s.left--; s.left == 0 {
		s.done <- struct{}{}
	}
}

// pumpAndSink connects a pump to a sink, each with a loop of its own.
func pumpAndSink(tb testing.TB, cfg tcp.Config, way string, size int) (*pump, *sink, netio.Endpoint, *backendtest.Runner) {
	tb.Helper()
	p, s := newPump(way, size), &sink{done: make(chan struct{}, 1)}
	params := netio.Params{
		Receive:  netio.ReceiveParams{MaxMessageBytes: size},
		ZeroCopy: netio.ZeroCopyParams{Outstanding: min(4096, max(16, 2<<20/size))},
	}
	if way == "buffered" {
		params.Buffered = netio.BufferedParams{Buffers: 32, BufferBytes: size}
	}
	server := openBackend(tb, s, cfg)
	l, err := server.OpenListenEndpoint(netip.MustParseAddrPort("127.0.0.1:0"), params)
	if err != nil {
		tb.Fatalf("listen: got error %v, want none", err)
	}
	client, loop := openBackendLoop(tb, p, cfg)
	if err := client.OpenEndpoint(l.Addr(), params); err != nil {
		tb.Fatalf("open endpoint: got error %v, want none", err)
	}
	return p, s, <-p.ep, loop
}

// run sends n messages and returns when they have arrived.
func (p *pump) run(s *sink, ep netio.Endpoint, loop *backendtest.Runner, n int) {
	s.left, p.left = n, n
	loop.Post(func() { p.fill(ep) })
	<-s.done
	<-p.done
}

func BenchmarkThroughput(b *testing.B) {
	for _, congestion := range []string{tcp.SystemCongestionControl, "reno"} {
		for _, size := range []int{64, 1 << 10, 16 << 10, 64 << 10, 130_900, 1 << 20} {
			for _, way := range ways {
				name := fmt.Sprintf("congestion=%s/size=%d/way=%s", congestion, size, way)
				b.Run(name, func(b *testing.B) { benchmarkThroughput(b, congestion, way, size) })
			}
		}
	}
}

func benchmarkThroughput(b *testing.B, congestion, way string, size int) {
	p, s, ep, loop := pumpAndSink(b, tcp.Config{CongestionControl: congestion}, way, size)
	p.run(s, ep, loop, 2000+(8<<20)/size) // the window opens, memory is committed
	b.SetBytes(int64(size))
	b.ReportAllocs()
	b.ResetTimer()
	p.run(s, ep, loop, b.N)
	b.StopTimer()
	took := b.Elapsed()
	b.ReportMetric(float64(rawThroughput(b, congestion, size, b.N))/float64(took), "x-of-raw")
}

// echo answers each message with the same bytes.
type echo struct {
	netio.NopHandler
	data [1][]byte
}

func (e *echo) OnData(ep netio.Endpoint, data []byte) {
	e.data[0] = data
	_ = ep.SendCopy(0, nil, e.data[:]...)
}

// ping sends the next message when the answer to the last has come.
type ping struct {
	netio.NopHandler
	data [][]byte
	ep   chan netio.Endpoint
	left int
	done chan struct{}
}

func (p *ping) OnConnectionEstablished(ep netio.Endpoint) { p.ep <- ep }

func (p *ping) OnData(ep netio.Endpoint, _ []byte) {
	if p.left--; p.left == 0 {
		p.done <- struct{}{}
		return
	}
	_ = ep.SendCopy(0, nil, p.data...)
}

func BenchmarkPingPong(b *testing.B) {
	for name, mode := range map[string]reactor.WaitMode{"netpoll": reactor.WaitNetpoll, "thread": reactor.WaitThread} {
		b.Run("wait="+name, func(b *testing.B) {
			if mode == reactor.WaitThread {
				defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 2))
			}
			p, ep, loop := pingAndEcho(b, reactor.Config{Wait: mode})
			run := func(n int) {
				p.left = n
				loop.Post(func() { _ = ep.SendCopy(0, nil, p.data...) })
				<-p.done
			}
			run(100)
			b.ReportAllocs()
			b.ResetTimer()
			run(b.N)
			b.StopTimer()
			took := float64(b.Elapsed())
			b.ReportMetric(float64(rawPingPong(b, b.N))/took, "x-of-raw")
			b.ReportMetric(float64(netPingPong(b, b.N))/took, "x-of-net.Conn")
		})
	}
}

func pingAndEcho(tb testing.TB, cfg reactor.Config) (*ping, netio.Endpoint, *backendtest.Runner) {
	tb.Helper()
	p := &ping{data: [][]byte{make([]byte, 64)}, ep: make(chan netio.Endpoint, 1), done: make(chan struct{}, 1)}
	server, _ := openBackendOn(tb, cfg, &echo{}, tcp.Config{})
	l, err := server.OpenListenEndpoint(netip.MustParseAddrPort("127.0.0.1:0"), netio.Params{})
	if err != nil {
		tb.Fatalf("listen: got error %v, want none", err)
	}
	client, loop := openBackendOn(tb, cfg, p, tcp.Config{})
	if err := client.OpenEndpoint(l.Addr(), netio.Params{}); err != nil {
		tb.Fatalf("open endpoint: got error %v, want none", err)
	}
	return p, <-p.ep, loop
}

// BenchmarkRoundTrip is a goroutine that sends 64 bytes and waits for the answer, which
// reaches it through a channel: by Send, which leaves the system call to the loop, or
// by SendDirect. The other side answers on its loop in the same way.
func BenchmarkRoundTrip(b *testing.B) {
	for _, way := range []string{"send", "direct"} {
		b.Run("way="+way, func(b *testing.B) {
			p, ep := roundTrip(b, way == "direct", tcp.Config{})
			run := func(n int) {
				for range n {
					if err := p.send(ep); err != nil {
						b.Fatalf("send: got error %v, want none", err)
					}
					<-p.answers
				}
			}
			run(100)
			b.ReportAllocs()
			b.ResetTimer()
			run(b.N)
		})
	}
}

// trip is one end of a round trip.
type trip struct {
	netio.NopHandler
	direct  bool
	data    [][]byte
	ep      chan netio.Endpoint
	answers chan struct{} // nil: answers itself
}

func (p *trip) OnConnectionEstablished(ep netio.Endpoint) { p.ep <- ep }

func (p *trip) OnData(ep netio.Endpoint, _ []byte) {
	if p.answers != nil {
		p.answers <- struct{}{}
	} else if err := p.send(ep); err != nil && !errors.Is(err, netio.ErrClosed) {
		panic(err)
	}
}

func (p *trip) send(ep netio.Endpoint) error {
	if !p.direct {
		return ep.Send(0, nil, p.data...)
	}
	_, err := ep.SendDirect(0, nil, p.data...)
	return err
}

// roundTrip connects two ends, each on a loop of its own.
func roundTrip(tb testing.TB, direct bool, cfg tcp.Config) (*trip, netio.Endpoint) {
	tb.Helper()
	newTrip := func() *trip {
		return &trip{direct: direct, data: [][]byte{make([]byte, 64)}, ep: make(chan netio.Endpoint, 1)}
	}
	there, here := newTrip(), newTrip()
	here.answers = make(chan struct{}, 1)
	server, _ := openBackendOn(tb, reactor.Config{}, there, cfg)
	l, err := server.OpenListenEndpoint(loopback, netio.Params{})
	if err != nil {
		tb.Fatalf("listen: got error %v, want none", err)
	}
	client, _ := openBackendOn(tb, reactor.Config{}, here, cfg)
	if err := client.OpenEndpoint(l.Addr(), netio.Params{}); err != nil {
		tb.Fatalf("open endpoint: got error %v, want none", err)
	}
	return here, <-here.ep
}

// BenchmarkThreadSafety shows what the locks of a Safe backend cost.
func BenchmarkThreadSafety(b *testing.B) {
	for _, model := range []netio.ThreadSafety{netio.Safe, netio.Unsafe} {
		for _, way := range ways {
			b.Run(fmt.Sprintf("model=%v/way=%s", model, way), func(b *testing.B) {
				p, s, ep, loop := pumpAndSink(b, tcp.Config{Config: netio.Config{ThreadSafety: model}}, way, 64)
				p.run(s, ep, loop, 100_000)
				b.ReportAllocs()
				b.ResetTimer()
				p.run(s, ep, loop, b.N)
			})
		}
	}
}
