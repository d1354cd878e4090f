// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"net/netip"
	"testing"

	"tagbus/bus/directory/memory"
	"tagbus/bus/internal/wire"
	"tagbus/bus/internal/wire/wiretest"
	"tagbus/internal/testkit/memnet"
	"tagbus/tags"
)

// BenchmarkReceive is the way of messages from the transport to handlers, on the loop of
// a subscriber, without the transport: one page again and again. One op is a message.
func BenchmarkReceive(b *testing.B) {
	for _, x := range []struct {
		name          string
		size          int
		tags, targets int
		subscribe     func(*Subscriber, tags.Set) (*Subscription, error)
	}{
		{"40B", 40, 1, 1, byHandler},
		{"1KiB", 1 << 10, 1, 1, byHandler},
		{"40B/targets=4", 40, 1, 4, byHandler},
		{"40B/tags=1000", 40, 1000, 1, byHandler},
		{"40B/tags=1000/targets=4", 40, 1000, 4, byHandler},
		{"40B/batch", 40, 1, 1, byBatch},
		{"40B/tags=1000/batch", 40, 1000, 1, byBatch},
	} {
		b.Run(x.name, func(b *testing.B) { benchmarkReceive(b, x.size, x.tags, x.targets, x.subscribe) })
	}
}

func byHandler(s *Subscriber, set tags.Set) (*Subscription, error) {
	return s.Subscribe(set, func(m Message) { handled += len(m.Data) })
}

func byBatch(s *Subscriber, set tags.Set) (*Subscription, error) {
	return s.SubscribeBatch(set, func(all []Message) { handled += len(all[0].Data) * len(all) }, SubscriptionConfig{})
}

// handled bytes, so that no handler is empty. Loop only.
var handled int

func benchmarkReceive(b *testing.B, size, count, targets int, subscribe func(*Subscriber, tags.Set) (*Subscription, error)) {
	s, instance := benchSubscriber(b, SubscriberConfig{})
	set, err := tags.Range(1, tags.Tag(count))
	must(b, err)
	for range targets {
		sub, err := subscribe(s, set)
		must(b, err)
		must(b, sub.Wait(b.Context()))
	}
	page, messages := benchPage(size, count)
	b.SetBytes(int64(size))
	b.ReportAllocs()
	done := make(chan struct{})
	subscriberOf(s).loop.Post(func() {
		defer close(done)
		src := subscriberOf(s).sources[instance]
		src.onData(page)
		b.ResetTimer()
		for n := 0; n < b.N; n += messages {
			src.onData(page)
		}
		b.StopTimer()
	})
	<-done
	if handled == 0 {
		b.Fatal("nothing came")
	}
}

// benchSubscriber opens a subscriber and a publisher of everything, and returns the instance of that.
func benchSubscriber(b *testing.B, cfg SubscriberConfig) (s *Subscriber, instance string) {
	b.Helper()
	network, dir := memnet.New(), memory.New()
	open := func(host string) (*memnet.Loop, netip.AddrPort) {
		loop := memnet.NewLoop()
		b.Cleanup(loop.Close)
		return loop, netip.AddrPortFrom(netip.MustParseAddr(host), 0)
	}
	loop, addr := open("10.0.0.1")
	p, err := NewPublisher(network.Opener(loop, memnet.Config{Host: addr.Addr()}), dir, PublisherConfig{Tags: tags.Everything(), Listening: Listening{Listen: addr}})
	must(b, err)
	b.Cleanup(func() { must(b, p.Close()) })
	loop, addr = open("10.0.0.2")
	s, err = NewSubscriber(network.Opener(loop, memnet.Config{Host: addr.Addr()}), dir, cfg)
	must(b, err)
	b.Cleanup(func() { must(b, s.Close()) })
	return s, p.Instance()
}

// benchPage returns a page of messages of tags in turn.
func benchPage(size, count int) (page []byte, messages int) {
	var w wire.Writer
	w.Reset(make([]byte, 128<<10))
	payload := make([]byte, size)
	for w.Append(tags.Tag(1+messages%count), 0, 0, payload) {
		messages++
	}
	return wiretest.Sent(&w, 0), messages
}
