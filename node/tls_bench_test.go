// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"fmt"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tagbus/bus"
	"tagbus/internal/testkit/pki"
	"tagbus/netio/shm"
	"tagbus/node"
	"tagbus/tags"
)

// BenchmarkTLS publishes over the backends tcp and tls in turn, to one subscriber that
// reads each byte's cache line. One op is 64 MiB over each, or 200,000 messages of 40 bytes.
// cpu-x and time-x: the processor time and the time of tcp in those of tls.
func BenchmarkTLS(b *testing.B) {
	for _, bb := range []struct{ size, n int }{{40, 200_000}, {64 << 10, 1024}, {1 << 20, 64}} {
		b.Run(fmt.Sprintf("size=%d", bb.size), func(b *testing.B) {
			credentials := newCredentials(b)
			plain := newPair(b, node.Config{Backend: "tcp"}, bb.size, bb.n)
			sealed := newPair(b, node.Config{Backend: "tls", TLS: credentials}, bb.size, bb.n)
			b.ResetTimer()
			for range b.N {
				plain.round(b)
				sealed.round(b)
			}
			bytes := float64(b.N) * float64(bb.n) * float64(bb.size)
			b.ReportMetric(plain.cpu.Seconds()/sealed.cpu.Seconds(), "cpu-x")
			b.ReportMetric(plain.took.Seconds()/sealed.took.Seconds(), "time-x")
			b.ReportMetric(float64(plain.cpu)/bytes, "tcp-ns/B")
			b.ReportMetric(float64(sealed.cpu)/bytes, "tls-ns/B")
		})
	}
}

// BenchmarkAccessWithinHost publishes in turn by shared memory of which all is shared, by that of each connection, where
// certificates and a policy decide, over tcp and over tls, to one subscriber that reads each byte's cache line. One op is 64 MiB
// over each, or 200,000 messages of 40 bytes. NAME-x: the time of NAME in those of the memory of each connection.
func BenchmarkAccessWithinHost(b *testing.B) {
	for _, bb := range []struct{ size, n int }{{40, 200_000}, {64 << 10, 1024}, {1 << 20, 64}} {
		b.Run(fmt.Sprintf("size=%d", bb.size), func(b *testing.B) {
			ca := pki.NewCA(b, "cn:site")
			guarded := func(backend string) node.Config {
				return node.Config{Backend: backend, Access: newAccess(b, ca, "uri:spiffe://x/bench", `{"rules":[{"who":"uri:spiffe://x/bench","publish":"*","subscribe":"*"}]}`).access, SHM: shm.Config{Folder: shortFolder(b)}}
			}
			ways := []struct {
				name string
				*pair
			}{
				{"own", newPair(b, guarded("shm"), bb.size, bb.n)},
				{"shared", newPair(b, node.Config{Backend: "shm", SHM: shm.Config{Folder: shortFolder(b)}}, bb.size, bb.n)},
				{"tcp", newPair(b, node.Config{Backend: "tcp"}, bb.size, bb.n)},
				{"tls", newPair(b, guarded("tls"), bb.size, bb.n)},
			}
			b.ResetTimer()
			for range b.N {
				for _, way := range ways {
					way.round(b)
				}
			}
			bytes := float64(b.N) * float64(bb.n) * float64(bb.size)
			for _, way := range ways {
				b.ReportMetric(way.took.Seconds()/ways[0].took.Seconds(), way.name+"-x")
				b.ReportMetric(bytes/way.took.Seconds()/1e6, way.name+"-MB/s")
			}
		})
	}
}

// pair is a publisher with its subscriber.
type pair struct {
	p         *bus.Publisher
	data      []byte
	n, got    int
	sum       byte
	all       chan struct{}
	took, cpu time.Duration
}

func newPair(b *testing.B, cfg node.Config, size, n int) *pair {
	b.Helper()
	cfg.Bus = b.TempDir()
	l := &pair{data: make([]byte, size), n: n, all: make(chan struct{}, 1)}
	var err error
	if l.p, err = openNodeWith(b, cfg).NewPublisher(bus.PublisherConfig{Tags: tags.Of(1)}); err != nil {
		b.Fatal(err)
	}
	s, err := openNodeWith(b, cfg).NewSubscriber(bus.SubscriberConfig{})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := s.Subscribe(tags.Of(1), func(m bus.Message) {
		for i := 0; i < len(m.Data); i += 64 {
			l.sum += m.Data[i]
		}
		if l.got++; l.got%l.n == 0 {
			l.all <- struct{}{}
		}
	}); err != nil {
		b.Fatal(err)
	}
	if err := l.p.WaitSubscribers(b.Context(), 1, tags.Of(1)); err != nil {
		b.Fatal(err)
	}
	l.round(b)
	l.took, l.cpu = 0, 0
	return l
}

// round publishes n messages and waits until they have arrived.
func (l *pair) round(b *testing.B) {
	b.Helper()
	began, before := time.Now(), processorTime(b)
	for range l.n {
		if err := l.p.PublishContext(b.Context(), 1, l.data); err != nil {
			b.Fatal(err)
		}
	}
	l.p.Flush()
	<-l.all
	l.took += time.Since(began)
	l.cpu += processorTime(b) - before
}

// processorTime returns what the process has used so far.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
