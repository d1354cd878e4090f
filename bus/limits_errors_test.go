package bus

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"tagbus/bus/directory/memory"
	"tagbus/netio/netiotest"
	"tagbus/tags"
)

// opened returns a publisher in memory, and a subscriber to tag 1 of it.
func opened(t *testing.T, onEvent func(Event)) (p *Publisher) {
	t.Helper()
	network, dir := netiotest.NewNetwork(), memory.New()
	loop, other := netiotest.NewLoop(), netiotest.NewLoop()
	t.Cleanup(loop.Close)
	t.Cleanup(other.Close)
	host := netip.MustParseAddr("10.0.0.1")
	p, err := NewPublisher(network.Opener(loop, netiotest.Config{Host: host}), dir,
		PublisherConfig{Tags: tags.Of(1), Listen: netip.AddrPortFrom(host, 0), OnEvent: onEvent})
	must(t, err)
	t.Cleanup(func() { must(t, p.Close()) })
	s, err := NewSubscriber(network.Opener(other, netiotest.Config{Host: host.Next()}), dir, SubscriberConfig{})
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	sub, err := s.Subscribe(tags.Of(1), func(Message) {})
	must(t, err)
	must(t, sub.Wait(t.Context()))
	return p
}

func TestAPublisherThatRemembersTooManyRemovedTagsAddsNone(t *testing.T) {
	p := opened(t, nil)
	p.mu.Lock()
	p.removed = maxRemovedTags
	p.mu.Unlock()
	if err := p.AddTags(tags.Of(2)); !errors.Is(err, ErrTooManyRemoved) {
		t.Errorf("AddTags: got error %v, want ErrTooManyRemoved", err)
	}
	if p.Tags().Contains(2) {
		t.Error("got a tag that was refused")
	}
}

func TestTheSubscriberWithTheLargestAccountIsDisconnected(t *testing.T) {
	lost := make(chan error, 10)
	p := opened(t, func(e Event) {
		if e.Kind == Lost {
			lost <- e.Err
		}
	})
	counts := new(lossCounts)
	large := &laneAccount{byTag: make(map[tags.Tag]*lossCounts)}
	for tag := range tags.Tag(maxAccountTags/maxLanes + 1) {
		large.byTag[tag] = counts
	}
	p.loop.Post(func() {
		p.mu.Lock()
		for _, a := range p.accounts.byInstance {
			for number := range uint16(maxLanes) {
				a.lanes[number] = large // one for all, as memory is short here too
			}
		}
		p.mu.Unlock()
		p.checkAccounts(time.Now().Add(time.Hour))
	})
	if err := <-lost; !errors.Is(err, ErrAccountMemory) {
		t.Errorf("got lost with %v, want ErrAccountMemory", err)
	}
}
