// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"tagbus/bus"
	"tagbus/tags"
)

// sizes and fan-outs of the benchmarks: a typical e-link packet, a small
// frame, a large one.
var (
	benchSizes       = []int{40, 1 << 10, 64 << 10}
	benchSubscribers = []int{1, 4, 16}
)

// BenchmarkEndToEnd publishes on loopback to subscribers with a loop
// of their own each, in one process, and waits until all have everything. One
// op is one message published; deliveries/s counts all subscribers.
func BenchmarkEndToEnd(b *testing.B) {
	for _, subscribers := range benchSubscribers {
		for _, size := range benchSizes {
			b.Run(fmt.Sprintf("size=%d/subscribers=%d", size, subscribers), func(b *testing.B) {
				benchmarkEndToEnd(b, size, subscribers)
			})
		}
	}
}

func benchmarkEndToEnd(b *testing.B, size, subscribers int) {
	dir := b.TempDir()
	p := openPublisher(b, dir, bus.PublisherConfig{Tags: tags.Of(1)})
	var received, wanted atomic.Int64
	done := make(chan struct{}, 1)
	for range subscribers {
		n := openNode(b, dir)
		s, err := n.NewSubscriber(bus.SubscriberConfig{})
		if err != nil {
			b.Fatal(err)
		}
		var mine int64
		if _, err := s.Subscribe(tags.Of(1), func(bus.Message) {
			if mine++; mine == wanted.Load() && received.Add(1) == int64(subscribers) {
				done <- struct{}{}
			}
		}); err != nil {
			b.Fatal(err)
		}
	}
	if err := p.WaitSubscribers(b.Context(), subscribers, tags.Of(1)); err != nil {
		b.Fatal(err)
	}
	wanted.Store(int64(b.N))
	data := make([]byte, size)
	b.SetBytes(int64(size))
	b.ReportAllocs()
	b.ResetTimer()
	start := time.Now()
	for range b.N {
		if err := p.PublishContext(context.Background(), 1, data); err != nil {
			b.Fatal(err)
		}
	}
	p.Flush()
	<-done
	b.ReportMetric(float64(b.N)*float64(subscribers)/time.Since(start).Seconds(), "deliveries/s")
}

// BenchmarkPublish is the publisher's side alone: subscribers in another
// goroutine's time are not waited for.
func BenchmarkPublish(b *testing.B) {
	for _, subscribers := range append([]int{0}, benchSubscribers...) {
		for _, size := range benchSizes {
			b.Run(fmt.Sprintf("size=%d/subscribers=%d", size, subscribers), func(b *testing.B) {
				p := benchmarkPublisher(b, subscribers)
				data := make([]byte, size)
				b.SetBytes(int64(size))
				b.ReportAllocs()
				b.ResetTimer()
				for range b.N {
					if err := p.PublishContext(context.Background(), 1, data); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkPublishBatch is BenchmarkPublish with 64 messages per call. One op is
// one message.
func BenchmarkPublishBatch(b *testing.B) {
	for _, subscribers := range []int{0, 1} {
		b.Run(fmt.Sprintf("size=40/subscribers=%d", subscribers), func(b *testing.B) {
			p := benchmarkPublisher(b, subscribers)
			batch := make([]bus.Message, 64)
			for i := range batch {
				batch[i] = bus.Message{Tag: 1, Data: make([]byte, 40)}
			}
			b.SetBytes(40)
			b.ReportAllocs()
			b.ResetTimer()
			for left := b.N; left > 0; left -= len(batch) {
				if _, err := p.PublishBatchContext(context.Background(), batch[:min(left, len(batch))]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// benchmarkPublisher returns a publisher of tag 1 with subscribers that ignore
// what they get.
func benchmarkPublisher(b *testing.B, subscribers int) *bus.Publisher {
	b.Helper()
	dir := b.TempDir()
	p := openPublisher(b, dir, bus.PublisherConfig{Tags: tags.Of(1)})
	for range subscribers {
		s, err := openNode(b, dir).NewSubscriber(bus.SubscriberConfig{})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := s.Subscribe(tags.Of(1), func(bus.Message) {}); err != nil {
			b.Fatal(err)
		}
	}
	if err := p.WaitSubscribers(b.Context(), subscribers, tags.Of(1)); err != nil {
		b.Fatal(err)
	}
	return p
}

func openPublisher(tb testing.TB, dir string, cfg bus.PublisherConfig) *bus.Publisher {
	tb.Helper()
	if !cfg.Listen.IsValid() {
		cfg.Listen = listen()
	}
	p, err := openNode(tb, dir).NewPublisher(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}
