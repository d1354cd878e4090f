// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"context"
	"crypto/x509"
	"iter"
	"net/netip"
	"sync"
	"testing"
	"time"

	"tagbus/bus"
	"tagbus/bus/directory/memory"
	"tagbus/internal/testkit/memnet"
	"tagbus/netio"
)

// bed is a bus in memory: a network and a directory, with a loop for every
// publisher and subscriber as if each were a process on a host of its own.
type bed struct {
	tb   testing.TB
	net  *memnet.Network
	dir  *memory.Directory
	host netip.Addr

	fault  *memnet.Fault // of backends to be opened; nil: none
	broken *breaker      // nil: nothing is
	parts  *parter       // nil: pages come in one
	config netio.Config  // of the subscribers' backends

	regionOnly bool               // publishers send only from memory of their pools
	direct     func(size int) int // see memnet.Config; nil: all

	shows  []*x509.Certificate // by what is opened next
	near   *memnet.Network     // a better way to each other for what is opened next; nil: none
	shared bool                // the pool of the last one that listens by near
}

func newBed(tb testing.TB) *bed {
	tb.Helper()
	return &bed{tb: tb, net: memnet.New(), dir: memory.New(), host: netip.MustParseAddr("10.0.0.0")}
}

// member is what publishers and subscribers of a bed have in common.
type member struct {
	loop *memnet.Loop
	host netip.Addr

	mu     sync.Mutex
	events []bus.Event
	times  []time.Time // of events
	hooks  map[bus.EventKind]func()
}

func (b *bed) member() *member {
	b.host = b.host.Next()
	m := &member{loop: memnet.NewLoop(), host: b.host}
	return m
}

func (m *member) note(e bus.Event) {
	m.mu.Lock()
	m.events = append(m.events, e)
	m.times = append(m.times, time.Now())
	hook := m.hooks[e.Kind]
	delete(m.hooks, e.Kind)
	m.mu.Unlock()
	if hook != nil {
		hook()
	}
}

// when calls f on the loop at the next event of a kind.
func (m *member) when(kind bus.EventKind, f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hooks = map[bus.EventKind]func(){kind: f}
}

// kinds returns the kinds of the events so far.
func (m *member) kinds() []bus.EventKind {
	m.mu.Lock()
	defer m.mu.Unlock()
	var kinds []bus.EventKind
	for _, e := range m.events {
		kinds = append(kinds, e.Kind)
	}
	return kinds
}

// of returns the events of a kind.
func (m *member) of(kind bus.EventKind) []bus.Event {
	m.mu.Lock()
	defer m.mu.Unlock()
	var events []bus.Event
	for _, e := range m.events {
		if e.Kind == kind {
			events = append(events, e)
		}
	}
	return events
}

// first returns the first event of a kind and its time; a zero event if there is
// none.
func (m *member) first(kind bus.EventKind) (bus.Event, time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, e := range m.events {
		if e.Kind == kind {
			return e, m.times[i]
		}
	}
	return bus.Event{}, time.Time{}
}

// last returns the time of the last event of a kind.
func (m *member) last(kind bus.EventKind) (at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, e := range m.events {
		if e.Kind == kind {
			at = m.times[i]
		}
	}
	return at
}

type publisher struct {
	*bus.Publisher
	*member
}

type subscriber struct {
	*bus.Subscriber
	*member
}

// thrifty returns a configuration with less memory than the defaults, which a thousand tests need not
// fill: the race detector notes something for each word of it.
func thrifty(cfg bus.Sending) bus.Sending {
	const queue = 2 << 20
	if cfg.PoolBytes == 0 && cfg.QueueBytes <= queue && cfg.MaxMessageBytes <= queue/2 && cfg.PageBytes <= queue/16 {
		if cfg.QueueBytes == 0 {
			cfg.QueueBytes = queue
		}
		cfg.PoolBytes = 16*cfg.QueueBytes + 64*cfg.PageBytes
	}
	if cfg.CacheBytes == 0 && cfg.CacheMessages > 0 {
		cfg.CacheBytes = 4 * queue
	}
	return cfg
}

// publisher opens a publisher on a host of its own.
func (b *bed) publisher(cfg bus.PublisherConfig) *publisher {
	b.tb.Helper()
	m := b.member()
	cfg.Listen = netip.AddrPortFrom(m.host, 0)
	cfg.OnEvent = m.note
	cfg.Sending = thrifty(cfg.Sending)
	p, err := bus.NewPublisher(b.opener(m), b.dir, cfg)
	if err != nil {
		b.tb.Fatal(err)
	}
	b.tb.Cleanup(func() {
		if err := p.Close(); err != nil {
			b.tb.Errorf("close publisher: %v", err)
		}
		m.loop.Close()
	})
	return &publisher{p, m}
}

// subscriber opens a subscriber on a host of its own.
func (b *bed) subscriber(cfg bus.SubscriberConfig) *subscriber {
	b.tb.Helper()
	m := b.member()
	cfg.OnEvent = m.note
	s, err := bus.NewSubscriber(b.parts.opener(b.broken.opener(b.both(m, b.net.Opener(m.loop, memnet.Config{Config: b.config, Host: m.host, Certificates: b.shows})))), b.dir, cfg)
	if err != nil {
		b.tb.Fatal(err)
	}
	b.tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.tb.Errorf("close subscriber: %v", err)
		}
		m.loop.Close()
	})
	return &subscriber{s, m}
}

// readAll reads until there is no more, and returns how many messages it had.
func readAll(ctx context.Context, sub interface {
	Messages(ctx context.Context) iter.Seq2[bus.Message, error]
},
) (n uint64) {
	for _, err := range sub.Messages(ctx) {
		if err != nil {
			break
		}
		n++
	}
	return n
}
