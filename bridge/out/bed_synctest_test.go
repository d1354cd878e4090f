// SPDX-License-Identifier: Apache-2.0

package out_test

import (
	"context"
	"encoding/binary"
	"net/netip"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tagbus/bridge/durable"
	"tagbus/bridge/internal/kafkaserver"
	"tagbus/bridge/internal/memlog"
	"tagbus/bridge/out"
	"tagbus/bridge/record"
	"tagbus/bus"
	"tagbus/bus/directory/memory"
	"tagbus/internal/testkit/memnet"
	"tagbus/tags"
)

func TestMain(m *testing.M) {
	kafkaserver.Main()
	goleak.VerifyTestMain(m)
}

// bed is a bus in memory, in which each process has a host of its own.
type bed struct {
	t       *testing.T
	network *memnet.Network
	dir     *memory.Directory
	host    netip.Addr
	log     *memlog.Log
	events  events
}

// events are those of the bridges.
type events struct {
	mu       sync.Mutex
	all      []bus.Event
	problems []error
}

func newBed(t *testing.T) *bed {
	t.Helper()
	b := &bed{t: t, network: memnet.New(), dir: memory.New(), host: netip.MustParseAddr("10.0.0.1"), log: memlog.New(1<<20, nil)}
	t.Cleanup(func() { b.must(b.dir.Close()) })
	return b
}

func (b *bed) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// publisher opens a publisher, and returns what closes it.
func (b *bed) publisher(set tags.Set, change ...func(*bus.PublisherConfig)) (p *bus.Publisher, host netip.Addr, end func()) {
	b.t.Helper()
	loop := memnet.NewLoop()
	b.host = b.host.Next()
	cfg := bus.PublisherConfig{
		Tags: set, Listening: bus.Listening{Listen: netip.AddrPortFrom(b.host, 0)}, Common: bus.Common{Name: "pump"},
		Sending: bus.Sending{PageBytes: 4096, MaxMessageBytes: 4000, QueueBytes: 64 << 10, PoolBytes: 4 << 20, CacheMessages: 5},
	}
	for _, f := range change {
		f(&cfg)
	}
	p, err := bus.NewPublisher(b.network.Opener(loop, memnet.Config{Host: b.host}), b.dir, cfg)
	b.must(err)
	end = sync.OnceFunc(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_ = p.Drain(ctx) // of a host that was killed, too
		_ = p.Close()
		loop.Close()
	})
	b.t.Cleanup(end)
	return p, b.host, end
}

// opener opens the subscriber of a bridge.
type opener struct {
	*bed
	loop *memnet.Loop
	host netip.Addr
}

// NewSubscriber implements out.Opener.
func (o *opener) NewSubscriber(cfg bus.SubscriberConfig) (*bus.Subscriber, error) {
	return bus.NewSubscriber(o.network.Opener(o.loop, memnet.Config{Host: o.host}), o.dir, cfg)
}

// newLoop returns a loop that ends with the test.
func newLoop(t *testing.T) *memnet.Loop {
	t.Helper()
	loop := memnet.NewLoop()
	t.Cleanup(loop.Close)
	return loop
}

// bridge starts a bridge.
func (b *bed) bridge(cfg out.Config) (*out.Bridge, *opener) {
	b.t.Helper()
	b.host = b.host.Next()
	o := &opener{b, newLoop(b.t), b.host}
	cfg.OnEvent = func(e bus.Event) {
		b.events.mu.Lock()
		defer b.events.mu.Unlock()
		b.events.all = append(b.events.all, e)
	}
	cfg.OnProblem = func(err error) {
		b.events.mu.Lock()
		defer b.events.mu.Unlock()
		b.events.problems = append(b.events.problems, err)
	}
	bridge, err := out.Start(b.t.Context(), o, b.log, cfg)
	b.must(err)
	return bridge, o
}

// kill ends a bridge as a kill of its process does, and makes the log ready for the next one.
func (b *bed) kill(bridge *out.Bridge, o *opener) {
	_ = b.log.Close()
	b.network.Kill(o.host)
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	_ = bridge.Close(ended)
	b.log = b.log.Reopen(nil)
}

// publish publishes messages of a tag, each with its number among them.
func (b *bed) publish(p *bus.Publisher, tag tags.Tag, n int) {
	b.t.Helper()
	for range n {
		b.must(p.PublishContext(b.t.Context(), tag, binary.BigEndian.AppendUint64(nil, uint64(tag))))
	}
	p.Flush()
}

// chain is what a log says of one publisher and tag.
type chain struct {
	begin, next, messages, lost uint64
	causes                      map[record.Cause]uint64
	end                         record.How
}

// read reads the log, and fails the test unless all chains are contiguous.
func (b *bed) read() map[durable.Key]chain {
	b.t.Helper()
	all := make(map[durable.Key]chain)
	for _, e := range b.log.Entries() {
		r, err := record.Parse(e.Data)
		b.must(err)
		c, ok := all[e.Key]
		if !ok {
			c = chain{begin: r.First, next: r.First, causes: make(map[record.Cause]uint64)}
		}
		if ok == (r.Kind == record.Begin) || r.First != c.next {
			b.t.Errorf("entry %d: got %v, want it at %d", e.Position, r, c.next)
		}
		c.next, c.end = r.Next(), r.How
		switch r.Kind {
		case record.Messages:
			c.messages += r.Count
			for m := range r.Messages() {
				if got := binary.BigEndian.Uint64(m.Data); got != uint64(r.Tag) {
					b.t.Errorf("entry %d: message %d of tag %v is one of %d", e.Position, m.Counter, r.Tag, got)
				}
			}
		case record.Lost:
			c.lost += r.Count
			for _, s := range r.Causes {
				c.causes[s.Cause] += s.Count
			}
		default:
		}
		all[e.Key] = c
	}
	return all
}

// of returns the chain of a publisher's tag.
func (b *bed) of(p *bus.Publisher, tag tags.Tag) chain {
	b.t.Helper()
	return b.read()[durable.Key{Tag: tag, Instance: p.Instance()}]
}

// wait lets a second pass, which takes no time in a bubble.
func (b *bed) wait() { time.Sleep(time.Second) }
