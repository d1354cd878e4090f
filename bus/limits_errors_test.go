// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"errors"
	"net/netip"
	"testing"

	"tagbus/bus/directory/memory"
	"tagbus/internal/testkit/memnet"
	"tagbus/subscription"
	"tagbus/tags"
)

// opened returns a publisher in memory, and a subscriber to tag 1 of it.
func opened(t *testing.T, onEvent func(Event)) (p *Publisher) {
	t.Helper()
	network, dir := memnet.New(), memory.New()
	loop, other := memnet.NewLoop(), memnet.NewLoop()
	t.Cleanup(loop.Close)
	t.Cleanup(other.Close)
	host := netip.MustParseAddr("10.0.0.1")
	p, err := NewPublisher(network.Opener(loop, memnet.Config{Host: host}), dir,
		PublisherConfig{Tags: tags.Of(1), Listening: Listening{Listen: netip.AddrPortFrom(host, 0)}, Common: Common{OnEvent: onEvent}})
	must(t, err)
	t.Cleanup(func() { must(t, p.Close()) })
	s, err := NewSubscriber(network.Opener(other, memnet.Config{Host: host.Next()}), dir, SubscriberConfig{})
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	sub, err := s.Subscribe(tags.Of(1), func(Message) {})
	must(t, err)
	must(t, sub.Wait(t.Context()))
	return p
}

func TestPublisher_AddTags_addsNoneWithTooManyRemovedTags(t *testing.T) {
	p := opened(t, nil)
	publisherOf(p).maxRemoved = 0
	if err := p.AddTags(tags.Of(2)); !errors.Is(err, ErrTooManyRemoved) {
		t.Errorf("AddTags: got error %v, want ErrTooManyRemoved", err)
	}
	if p.Tags().Contains(2) {
		t.Error("got a tag that was refused")
	}
}

func TestPublisher_disconnectsWhoHasTheLargestAccount(t *testing.T) {
	lost := make(chan error, 10)
	p := opened(t, func(e Event) {
		if e.Kind == Lost {
			lost <- e.Err
		}
	})
	publisherOf(p).loop.Post(func() {
		for l := range publisherOf(p).links {
			for tag := range tags.Tag(100) {
				l.out.Lanes[0].Account.Add(subscription.CauseFull, tag, 1)
			}
		}
		publisherOf(p).boundAccounts(100)
	})
	if err := <-lost; !errors.Is(err, ErrAccountMemory) {
		t.Errorf("got lost with %v, want ErrAccountMemory", err)
	}
}
