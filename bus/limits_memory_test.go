// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"tagbus/bus"
	"tagbus/bus/directory/memory"
	"tagbus/internal/testkit"
	"tagbus/netio/reactor"
	"tagbus/netio/tcp"
	"tagbus/subscription"
	"tagbus/tags"
)

// What docs/architecture.md, "Bounds", says that a publisher takes, in bytes.
const (
	bytesPerTag          = 100 // that was published
	bytesPerRange        = 80  // of a subscription
	bytesPerSubscription = 800 // of a tag
)

// heap returns the bytes of the heap that are in use.
func heap() int {
	var m runtime.MemStats
	for range 2 { // what the first one finds is gone after the second
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// TestPublisher_heapStaysWithinItsBounds: what tags, ranges and subscriptions take
// is what the documentation says, and is given back.
func TestPublisher_heapStaysWithinItsBounds(t *testing.T) {
	if testkit.Race {
		t.Skip("needs a build without the race detector, which takes memory too")
	}
	const free = 1 << 20 // of the beds and of the runtime
	ranges, group := subscription.MaxParts/8, 4096
	if limits() {
		ranges, group = subscription.MaxParts, 1<<16
	}
	list := every(ranges)
	set := tags.Of(list...)
	b := newBed(t)
	p := b.publisher(bus.PublisherConfig{Tags: tagRange(t, 0, tags.Tag(2*ranges))})
	s := b.lean(p, "ranges")
	at := heap()
	grown := func(what string, n, each int) {
		t.Helper()
		now := heap()
		t.Logf("%-40s %4d bytes each", what, (now-at)/n)
		if most := n*each + free; now-at > most {
			t.Errorf("%s: got %d bytes more for %d, want at most %d", what, now-at, n, most)
		}
	}
	s.subscribed(t, subscription.Subscribe{ID: 1}, set)
	grown("a subscription to ranges", ranges, bytesPerRange)
	s.send(t, &subscription.Unsubscribe{ID: 1})
	s.wants(t, subscription.KindUnsubscribed, 1)
	grown("when it has ended", ranges, 0)

	for i, tag := range list[:group] {
		s.ask(t, subscription.Subscribe{ID: uint64(i + 1), WithNext: i+1 < group}, tags.Of(tag))
	}
	s.wants(t, subscription.KindSubscribed, group)
	grown("a group of subscriptions", group, bytesPerSubscription)
	for i := range group {
		s.send(t, &subscription.Unsubscribe{ID: uint64(i + 1)})
	}
	s.wants(t, subscription.KindUnsubscribed, group)

	at = heap()
	for _, tag := range list {
		must(t, p.Publish(tag, nil))
	}
	grown("tags", ranges, bytesPerTag)
}

// What an idle subscriber takes of the heap, in bytes: at its publisher and at its own side,
// with a backend of its own, and in the list of clients, together; 8 KiB of it until the backend trims its memory.
const bytesPerIdleSubscriber = 32 << 10

// TestPublisher_heapOfIdleSubscribersStaysWithinItsBounds: over their TCP connections go hellos
// and a subscription, and nothing else.
func TestPublisher_heapOfIdleSubscribersStaysWithinItsBounds(t *testing.T) {
	if testkit.Race {
		t.Skip("needs a build without the race detector, which takes memory too")
	}
	const (
		subscribers = 200
		free        = 256 << 10 // what a process takes once, such as tables that grow
	)
	loop, err := reactor.New(reactor.Config{})
	must(t, err)
	ran := make(chan error, 1)
	go func() { ran <- loop.Run(context.Background()) }()
	t.Cleanup(func() {
		loop.Stop()
		must(t, errors.Join(<-ran, loop.Close()))
	})
	open, dir := tcp.Opener(loop, tcp.Config{}), memory.New()
	p, err := bus.NewPublisher(open, dir, bus.PublisherConfig{Tags: tags.Of(1)})
	must(t, err)
	t.Cleanup(func() { must(t, p.Close()) })
	at := heap()
	for range subscribers {
		s, err := bus.NewSubscriber(open, dir, bus.SubscriberConfig{})
		must(t, err)
		t.Cleanup(func() { must(t, s.Close()) })
		sub, err := s.Subscribe(tags.Of(1), func(bus.Message) {})
		must(t, err)
		must(t, sub.Wait(t.Context()))
	}
	each := (heap() - at - free) / subscribers
	t.Logf("%d bytes each", each)
	if each > bytesPerIdleSubscriber {
		t.Errorf("an idle subscriber: got %d bytes, want at most %d", each, bytesPerIdleSubscriber)
	}
}
