// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"tagbus/bus"
	"tagbus/internal/testkit"
	"tagbus/internal/testkit/memnet"
	"tagbus/netio"
	"tagbus/subscription"
	"tagbus/tags"
)

// lean is a subscriber made by hand that remembers next to nothing, so that many of
// them can subscribe to many tags. It acknowledges nothing and asks for nothing by
// itself.
type lean struct {
	netio.NopHandler
	hello     []byte
	backend   netio.Backend
	ep        netio.Endpoint
	ready     chan struct{}
	room      chan struct{} // of one place: OnSendReady
	positions int
	ended     chan error

	mu       sync.Mutex
	answers  []subscription.Message // except positions and beats
	answered chan struct{}          // of one place: there are some
}

// lean dials a publisher.
func (b *bed) lean(p *publisher, instance string) *lean {
	b.tb.Helper()
	s := &lean{ready: make(chan struct{}), room: make(chan struct{}, 1), answered: make(chan struct{}, 1), ended: make(chan error, 1)}
	var err error
	s.hello, err = subscription.AppendHello(nil, subscription.Hello{Instance: instance, MaxMessageBytes: 1 << 30})
	must(b.tb, err)
	m := b.member()
	s.backend, err = b.net.Opener(m.loop, memnet.Config{Host: m.host})(s)
	must(b.tb, err)
	b.tb.Cleanup(func() {
		must(b.tb, s.backend.Close())
		m.loop.Close()
	})
	must(b.tb, s.backend.OpenEndpoint(p.Addr(), netio.Params{
		Receive:  netio.ReceiveParams{MaxMessageBytes: 1 << 30},
		ZeroCopy: netio.ZeroCopyParams{Outstanding: 4096},
	}))
	<-s.ready
	return s
}

func (s *lean) OnConnectionEstablished(ep netio.Endpoint) {
	s.ep = ep
	_ = ep.SendCopy(0, nil, s.hello)
}

func (s *lean) OnData(_ netio.Endpoint, data []byte) {
	switch data[0] {
	case byte(subscription.KindPage), byte(subscription.KindBeat):
		return
	case 'T': // of the magic
		close(s.ready)
		return
	}
	m, err := subscription.Decode(data)
	if err != nil {
		panic(err)
	}
	if p, ok := m.(*subscription.Positions); ok {
		for _, err := range subscription.PositionsOf(p.List) {
			if err != nil {
				panic(err)
			}
			s.positions++
		}
		return
	}
	s.mu.Lock()
	s.answers = append(s.answers, m)
	s.mu.Unlock()
	select {
	case s.answered <- struct{}{}:
	default:
	}
}

func (s *lean) OnConnectionClosed(_ netio.Endpoint, _ []netio.Key, cause error) { s.ended <- cause }

// ask sends the parts of a subscription.
func (s *lean) ask(tb testing.TB, m subscription.Subscribe, set tags.Set) {
	tb.Helper()
	data, err := set.MarshalBinary()
	must(tb, err)
	for chunk := range slices.Chunk(data, 16<<10-128) {
		data = data[len(chunk):]
		part := m
		part.Set, part.More = chunk, len(data) > 0
		part.WithNext = m.WithNext && !part.More
		s.send(tb, &part)
	}
}

func (s *lean) send(tb testing.TB, m subscription.Message) {
	tb.Helper()
	b, err := subscription.Append(nil, m)
	must(tb, err)
	for err = s.ep.SendCopy(0, nil, b); errors.Is(err, netio.ErrNoResources); err = s.ep.SendCopy(0, nil, b) {
		<-s.room
	}
	must(tb, err)
}

func (s *lean) OnSendReady(netio.Endpoint) {
	select {
	case s.room <- struct{}{}:
	default:
	}
}

// take waits for an answer.
func (s *lean) take(tb testing.TB) subscription.Message {
	tb.Helper()
	for {
		s.mu.Lock()
		if len(s.answers) > 0 {
			m := s.answers[0]
			s.answers = s.answers[1:]
			s.mu.Unlock()
			return m
		}
		s.mu.Unlock()
		select {
		case <-s.answered:
		case cause := <-s.ended:
			tb.Fatalf("the connection ended: %v", cause)
		}
	}
}

// half returns a random half of the tags from 0 to n-1.
func half(random *rand.Rand, n int) tags.Set {
	var list []tags.Tag
	for tag := range n {
		if random.IntN(2) == 0 {
			list = append(list, tags.Tag(tag))
		}
	}
	return tags.Of(list...)
}

// used opens a publisher that has published each of the tags from 0 to n-1.
func (b *bed) used(n int, cfg bus.PublisherConfig) *publisher {
	b.tb.Helper()
	all, err := tags.Range(0, tags.Tag(n-1))
	must(b.tb, err)
	cfg.Tags = all
	p := b.publisher(cfg)
	for tag := range n {
		must(b.tb, p.Publish(tags.Tag(tag), nil))
	}
	return p
}

// checkSlices fails the test if a slice of the publisher's work was longer than it
// may be.
func checkSlices(tb testing.TB, p *publisher) {
	tb.Helper()
	if steps, longest := bus.WorkOf(p.Publisher); longest > bus.SliceSteps+bus.SliceSlack {
		tb.Errorf("got a slice of %d steps, of %d in all; want at most %d", longest, steps, bus.SliceSteps+bus.SliceSlack)
	}
}

// TestPublisher_manySubscribersOfRandomHalves has as many routes as tags from the 20th
// subscriber on: each subscription costs what it changes. With TAGBUS_TESTS=all there
// are 100,000 tags and 100 subscribers.
func TestPublisher_manySubscribersOfRandomHalves(t *testing.T) {
	known, subscribers := 30_000, 60
	switch {
	case limits():
		known, subscribers = 100_000, 100
	case testing.Short() || testkit.Race:
		known, subscribers = 10_000, 30
	}
	b := newBed(t)
	p := b.used(known, bus.PublisherConfig{})
	random := rand.New(rand.NewPCG(1, 2))
	var costs []uint64
	for i := range subscribers {
		s := b.lean(p, fmt.Sprint("half ", i))
		before, _ := bus.WorkOf(p.Publisher)
		s.ask(t, subscription.Subscribe{ID: 1}, half(random, known))
		if m := s.take(t); m.Kind() != subscription.KindSubscribed {
			t.Fatalf("subscriber %d: got %v, want it to be subscribed", i, m)
		}
		after, _ := bus.WorkOf(p.Publisher)
		costs = append(costs, after-before)
	}
	checkSlices(t, p)
	// A tag costs some steps, and one more for every two subscribers that it has.
	if most := uint64(known/2) * uint64(20+subscribers/2); costs[subscribers-1] > most {
		t.Errorf("the last subscription: got %d steps, want at most %d", costs[subscribers-1], most)
	}
}
