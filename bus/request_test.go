package bus

import (
	"net/netip"
	"testing"

	"tagbus/bus/directory/memory"
	"tagbus/netio/memnet"
	"tagbus/tags"
)

// Tags that come and go must not add up in the memory of a subscriber.
func TestASubscriberForgetsTagsThatItDoesNotWantAnyMore(t *testing.T) {
	network, dir := memnet.New(), memory.New()
	open := func(host string) (*memnet.Loop, netip.AddrPort) {
		loop := memnet.NewLoop()
		t.Cleanup(loop.Close)
		return loop, netip.AddrPortFrom(netip.MustParseAddr(host), 0)
	}
	loop, addr := open("10.0.0.1")
	p, err := NewPublisher(network.Opener(loop, memnet.Config{Host: addr.Addr()}), dir, PublisherConfig{Tags: tags.Everything(), Listen: addr})
	check(t, err)
	defer func() { check(t, p.Close()) }()
	loop, addr = open("10.0.0.2")
	s, err := NewSubscriber(network.Opener(loop, memnet.Config{Host: addr.Addr()}), dir, SubscriberConfig{})
	check(t, err)
	defer func() { check(t, s.Close()) }()

	const changes, each = 50, 200
	got := make(chan struct{}, each)
	sub, err := s.Subscribe(tags.Of(0), func(Message) { got <- struct{}{} })
	check(t, err)
	for i := range tags.Tag(changes) {
		set, err := tags.Range(1+i*each, (i+1)*each)
		check(t, err)
		check(t, sub.Add(set))
		check(t, sub.Wait(t.Context()))
		for tag := range set.All() {
			check(t, p.PublishContext(t.Context(), tag, nil))
		}
		for range each {
			<-got
		}
		check(t, sub.Remove(set))
		check(t, sub.Wait(t.Context()))
	}
	counts := make(chan [2]int)
	s.loop.Post(func() {
		n := s.sources[p.instance].lane(0)
		counts <- [2]int{n.received.Len(), len(n.byTag) + len(n.wide)}
	})
	if n := <-counts; n[0] > minPrune+each || n[1] > 1 {
		t.Errorf("after %d tags: %d remembered, %d in the index; want at most %d and 1", changes*each, n[0], n[1], minPrune+each)
	}
}

func check(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}
