// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"net/netip"
	"testing"

	"tagbus/bus/directory/memory"
	"tagbus/bus/internal/tagmap"
	"tagbus/internal/testkit/memnet"
	"tagbus/tags"
)

// Tags that come and go must not add up in the memory of a subscriber.
func TestSubscriber_forgetsTagsThatItDoesNotWantAnyMore(t *testing.T) {
	network, dir := memnet.New(), memory.New()
	open := func(host string) (*memnet.Loop, netip.AddrPort) {
		loop := memnet.NewLoop()
		t.Cleanup(loop.Close)
		return loop, netip.AddrPortFrom(netip.MustParseAddr(host), 0)
	}
	loop, addr := open("10.0.0.1")
	p, err := NewPublisher(network.Opener(loop, memnet.Config{Host: addr.Addr()}), dir, PublisherConfig{Tags: tags.Everything(), Listening: Listening{Listen: addr}})
	must(t, err)
	defer func() { must(t, p.Close()) }()
	loop, addr = open("10.0.0.2")
	s, err := NewSubscriber(network.Opener(loop, memnet.Config{Host: addr.Addr()}), dir, SubscriberConfig{})
	must(t, err)
	defer func() { must(t, s.Close()) }()

	const changes, each = 50, 200
	got := make(chan struct{}, each)
	sub, err := s.Subscribe(tags.Of(0), func(Message) { got <- struct{}{} })
	must(t, err)
	for i := range tags.Tag(changes) {
		set, err := tags.Range(1+i*each, (i+1)*each)
		must(t, err)
		must(t, sub.Add(set))
		must(t, sub.Wait(t.Context()))
		for tag := range set.All() {
			must(t, p.PublishContext(t.Context(), tag, nil))
		}
		for range each {
			<-got
		}
		must(t, sub.Remove(set))
		must(t, sub.Wait(t.Context()))
	}
	count := make(chan int)
	subscriberOf(s).loop.Post(func() { count <- subscriberOf(s).sources[p.Instance()].in.Known(0).Len() })
	if n := <-count; n > tagmap.MinPrune+each {
		t.Errorf("after %d tags: %d remembered, want at most %d", changes*each, n, tagmap.MinPrune+each)
	}
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}
