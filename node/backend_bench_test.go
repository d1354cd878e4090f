// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package node_test

import (
	"context"
	"testing"
	"time"

	"tagbus/bus"
	"tagbus/node"
	"tagbus/tags"
)

// line is a publisher and its subscriber over a backend, in a node each.
type line struct {
	p     *bus.Publisher
	got   int // of the loop, and of who has read all
	all   chan struct{}
	spent time.Duration
}

// lineMessages are published before all are waited for.
const lineMessages = 200_000

func openLine(b *testing.B, name string) *line {
	b.Helper()
	dir := b.TempDir()
	cfg := bus.PublisherConfig{Tags: tags.Of(1)}
	if name != "tcp" {
		cfg.Listen = listen()
	}
	l := &line{all: make(chan struct{}, 1)}
	var err error
	if l.p, err = openNodeWith(b, node.Config{Bus: dir, Backend: name}).NewPublisher(cfg); err != nil {
		b.Fatal(err)
	}
	s, err := openNodeWith(b, node.Config{Bus: dir, Backend: name}).NewSubscriber(bus.SubscriberConfig{})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := s.Subscribe(tags.Of(1), func(bus.Message) {
		if l.got++; l.got%lineMessages == 0 {
			l.all <- struct{}{}
		}
	}); err != nil {
		b.Fatal(err)
	}
	if err := l.p.WaitSubscribers(b.Context(), 1, tags.Of(1)); err != nil {
		b.Fatal(err)
	}
	return l
}

// round publishes lineMessages and waits until they have arrived.
func (l *line) round(b *testing.B, data []byte) {
	b.Helper()
	start := time.Now()
	for range lineMessages {
		if err := l.p.PublishContext(context.Background(), 1, data); err != nil {
			b.Fatal(err)
		}
	}
	l.p.Flush()
	<-l.all
	l.spent += time.Since(start)
}

// rate returns the messages per second of n rounds.
func (l *line) rate(n int) float64 { return float64(n*lineMessages) / l.spent.Seconds() }

// BenchmarkAgainstTCP publishes small messages, which travel together in pages, over
// netio/tcp and over the backend of the tests in turn. One op is a round of 200,000
// on each. ratio: how many times as many per second as over netio/tcp.
func BenchmarkAgainstTCP(b *testing.B) {
	b.Run("size=64", func(b *testing.B) {
		plain, fabric := openLine(b, "tcp"), openLine(b, backend)
		data := make([]byte, 64)
		for _, l := range []*line{plain, fabric} { // caches, pools
			l.round(b, data)
			l.spent = 0
		}
		b.ReportAllocs()
		b.ResetTimer()
		for range b.N {
			plain.round(b, data)
			fabric.round(b, data)
		}
		b.ReportMetric(plain.rate(b.N), "tcp-messages/s")
		b.ReportMetric(fabric.rate(b.N), "fabric-messages/s")
		b.ReportMetric(fabric.rate(b.N)/plain.rate(b.N), "ratio")
	})
}
