// SPDX-License-Identifier: Apache-2.0

package tcp_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tagbus/internal/testkit/backendtest"
	"tagbus/netio"
	"tagbus/netio/tcp"
)

// processorTime returns what the process has used so far.
func processorTime(tb testing.TB) time.Duration {
	tb.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		tb.Fatalf("getrusage: got error %v, want none", err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// hose is a pump with its sink.
type hose struct {
	p         *pump
	s         *sink
	ep        netio.Endpoint
	loop      *backendtest.Runner
	took, cpu time.Duration
}

func newHose(b *testing.B, cfg tcp.Config, way string, size int) *hose {
	b.Helper()
	l := &hose{}
	l.p, l.s, l.ep, l.loop = pumpAndSink(b, cfg, way, size)
	l.round(b, 2000+(64<<20)/size) // the window opens, memory is committed
	l.took, l.cpu = 0, 0
	return l
}

func (l *hose) round(b *testing.B, n int) {
	b.Helper()
	began, before := time.Now(), processorTime(b)
	l.p.run(l.s, l.ep, l.loop, n)
	l.took += time.Since(began)
	l.cpu += processorTime(b) - before
}

// BenchmarkTLS sends messages over plain TCP and over TLS in turn. One op is 64 MiB, or
// 200,000 small messages, over each. cpu-x and time-x: the processor time and the time of
// plain TCP in those of TLS; ns/B: of both ends together.
func BenchmarkTLS(b *testing.B) {
	for _, bb := range []struct {
		way     string
		size, n int
	}{{"copy", 40, 200_000}, {"zero-copy", 64 << 10, 1024}, {"zero-copy", 1 << 20, 64}} {
		b.Run(fmt.Sprintf("size=%d", bb.size), func(b *testing.B) {
			plain, sealed := newHose(b, tcp.Config{}, bb.way, bb.size), newHose(b, withTLS(b, tcp.Config{}), bb.way, bb.size)
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				plain.round(b, bb.n)
				sealed.round(b, bb.n)
			}
			bytes := float64(b.N) * float64(bb.n) * float64(bb.size)
			b.ReportMetric(plain.cpu.Seconds()/sealed.cpu.Seconds(), "cpu-x")
			b.ReportMetric(plain.took.Seconds()/sealed.took.Seconds(), "time-x")
			b.ReportMetric(float64(plain.cpu)/bytes, "tcp-ns/B")
			b.ReportMetric(float64(sealed.cpu)/bytes, "tls-ns/B")
			b.ReportMetric(bytes/1e9/sealed.took.Seconds(), "tls-GB/s")
		})
	}
}

// BenchmarkTLSRoundTrip is BenchmarkRoundTrip over plain TCP and over TLS in turn. x: how
// many times as long it takes over TLS.
func BenchmarkTLSRoundTrip(b *testing.B) {
	for _, way := range []string{"send", "direct"} {
		b.Run("way="+way, func(b *testing.B) {
			var took [2]time.Duration
			var ends [2]func(n int) time.Duration
			for i, cfg := range []tcp.Config{{}, withTLS(b, tcp.Config{})} {
				p, ep := roundTrip(b, way == "direct", cfg)
				ends[i] = func(n int) time.Duration {
					began := time.Now()
					for range n {
						if err := p.send(ep); err != nil {
							b.Fatalf("send: got error %v, want none", err)
						}
						<-p.answers
					}
					return time.Since(began)
				}
				ends[i](1000)
			}
			b.ReportAllocs()
			b.ResetTimer()
			const part = 100 // in turn
			for left := b.N; left > 0; left -= part {
				for i, end := range ends {
					took[i] += end(min(part, left))
				}
			}
			b.ReportMetric(took[1].Seconds()/took[0].Seconds(), "x")
			b.ReportMetric(float64(took[1])/float64(b.N), "tls-ns/op")
			b.ReportMetric(float64(took[0])/float64(b.N), "tcp-ns/op")
		})
	}
}

// BenchmarkTLSConnections opens connections, all at once, and keeps them. One op is one
// connection with its listen endpoint, both ends in this process. cpu-us/op: of both;
// heap-B/end: what the heap has more for an end of it, once each has received 64 KiB.
func BenchmarkTLSConnections(b *testing.B) {
	for _, name := range []string{"tcp", "tls"} {
		b.Run(name, func(b *testing.B) {
			cfg := tcp.Config{}
			if name == "tls" {
				cfg = withTLS(b, cfg)
			}
			server, client := newWatcher(), newWatcher()
			there, here := openBackend(b, server, cfg), openBackend(b, client, cfg)
			before := heap()
			b.ResetTimer()
			cpu := processorTime(b)
			for range b.N {
				l, err := there.OpenListenEndpoint(loopback, netio.Params{})
				if err == nil {
					err = here.OpenEndpoint(l.Addr(), netio.Params{})
				}
				if err != nil {
					b.Fatalf("open: got error %v, want none", err)
				}
			}
			message := make([]byte, 64<<10)
			var ends []netio.Endpoint
			for range b.N {
				ends = append(ends, next(b, "OnConnectionEstablished", client.Established), next(b, "OnConnectionEstablished", server.Established))
			}
			b.StopTimer()
			cpu = processorTime(b) - cpu
			for _, ep := range ends {
				if err := ep.Send(1, nil, message); err != nil {
					b.Fatalf("Send: got error %v, want none", err)
				}
			}
			for range b.N {
				next(b, "OnData", client.Data)
				next(b, "OnData", server.Data)
			}
			b.ReportMetric(float64(cpu.Microseconds())/float64(b.N), "cpu-us/op")
			b.ReportMetric(float64(heap()-before)/float64(2*b.N), "heap-B/end")
		})
	}
}

// heap returns the bytes in use.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
