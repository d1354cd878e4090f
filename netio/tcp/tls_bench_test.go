// SPDX-License-Identifier: Apache-2.0

package tcp_test

import (
	"fmt"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tagbus/netio"
	"tagbus/netio/internal/backendtest"
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
