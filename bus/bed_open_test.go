// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"context"
	"net/netip"
	"testing"
	"testing/synctest"

	"tagbus/bus"
	"tagbus/bus/directory"
	"tagbus/bus/directory/memory"
	"tagbus/internal/testkit/memnet"
	"tagbus/netio"
	"tagbus/netio/multi"
	"tagbus/tags"
)

// anybody stands for every address in a rule of the network.
var anybody netip.AddrPort

// anyPort stands for every address of a host in a rule of the network.
func anyPort(host netip.Addr) netip.AddrPort { return netip.AddrPortFrom(host, 0) }

// opener opens a backend of a bed for a member.
func (b *bed) opener(m *member) netio.Opener {
	open := b.net.Opener(m.loop, memnet.Config{Host: m.host, RegionOnly: b.regionOnly, Direct: b.direct, Certificates: b.shows})
	if b.fault != nil {
		open = memnet.FailNth(open, b.fault)
	}
	return b.parts.opener(b.broken.opener(b.both(m, open)))
}

// both returns the opener of a backend beside that of the better way, if there is one.
func (b *bed) both(m *member, open netio.Opener) netio.Opener {
	if b.near == nil {
		return open
	}
	return multi.Opener(multi.Part{Open: func(h netio.Handler) (netio.Backend, error) {
		near, err := b.near.Opener(m.loop, memnet.Config{Name: "near", Host: m.host})(h)
		return &nearBackend{near, m.host, &b.shared}, err
	}}, multi.Part{Open: open})
}

// nearBackend is one for processes of one host.
type nearBackend struct {
	netio.Backend
	host   netip.Addr
	shared *bool
}

// OpenListenEndpoint implements netio.Backend. It notes whether peers can be given the memory of what is sent.
func (b *nearBackend) OpenListenEndpoint(addr netip.AddrPort, p netio.Params) (netio.ListenEndpoint, error) {
	_, *b.shared = netio.RegionFile(p.ZeroCopy.Region)
	return b.Backend.OpenListenEndpoint(addr, p)
}

// NewName implements netio.NamedBackend.
func (b *nearBackend) NewName() netip.AddrPort { return netip.AddrPortFrom(b.host, 0) }

// openPublisher is bed.publisher with an OnEvent of the test's own.
func (b *bed) openPublisher(dir directory.Directory, cfg bus.PublisherConfig) (*bus.Publisher, *member) {
	b.tb.Helper()
	m := b.member()
	cfg.Listen = anyPort(m.host)
	cfg.Sending = thrifty(cfg.Sending)
	p, err := bus.NewPublisher(b.opener(m), dir, cfg)
	must(b.tb, err)
	b.tb.Cleanup(func() {
		must(b.tb, p.Close())
		m.loop.Close()
	})
	return p, m
}

// openSubscriber is bed.subscriber with an OnEvent of the test's own.
func (b *bed) openSubscriber(cfg bus.SubscriberConfig) (*bus.Subscriber, *member) {
	b.tb.Helper()
	m := b.member()
	s, err := bus.NewSubscriber(b.opener(m), b.dir, cfg)
	must(b.tb, err)
	b.tb.Cleanup(func() {
		must(b.tb, s.Close())
		m.loop.Close()
	})
	return s, m
}

// stall holds back everything that is sent to a host, nearly from the first
// byte on.
func (b *bed) stall(host netip.Addr) {
	b.net.SetWindow(anybody, anyPort(host), 1)
	b.net.Stall(anybody, anyPort(host))
}

// impostor announces tags of its own and serves them with a Handler made by
// hand.
func (b *bed) impostor(h netio.Handler, instance string, set tags.Set) {
	b.tb.Helper()
	m := b.member()
	backend, err := b.opener(m)(h)
	must(b.tb, err)
	b.tb.Cleanup(func() {
		must(b.tb, backend.Close())
		m.loop.Close()
	})
	listen, err := backend.OpenListenEndpoint(anyPort(m.host), netio.Params{})
	must(b.tb, err)
	_, err = b.dir.Announce(directory.Entry{
		Instance: instance, Backend: "memory", Addresses: []netip.AddrPort{listen.Addr()},
		Tags: set, PageBytes: 1024, MaxMessageBytes: 1024,
	})
	must(b.tb, err)
}

// fill publishes until there is no room though all have received what they
// can.
func fill(t *testing.T, p *publisher, tag tags.Tag) {
	t.Helper()
	for range 1000 {
		accepted := 0
		for p.Publish(tag, make([]byte, 900)) == nil {
			accepted++
		}
		if accepted == 0 {
			return
		}
		synctest.Wait()
	}
	t.Fatal("the publisher takes everything")
}

// patience is a context that ends after too many waits for it. A waiter that is woken
// for nothing again and again would never let a bubble's time go on.
type patience struct {
	context.Context
	waits  int
	cancel context.CancelFunc
}

const mostWaits = 100

func newPatience(ctx context.Context) *patience {
	p := &patience{}
	p.Context, p.cancel = context.WithCancel(ctx)
	return p
}

// Done is called once for every wait.
func (p *patience) Done() <-chan struct{} {
	if p.waits++; p.waits > mostWaits {
		p.cancel()
	}
	return p.Context.Done()
}

// keeper is a directory that remembers what was announced in it last.
type keeper struct {
	*memory.Directory
	entry        directory.Entry
	registration directory.Registration
}

func (k *keeper) Announce(e directory.Entry) (directory.Registration, error) {
	r, err := k.Directory.Announce(e)
	k.entry, k.registration = e, r
	return r, err
}

// gaps returns the counts of the Gap events, by tag.
func gaps(m *member) map[tags.Tag]uint64 {
	sum := make(map[tags.Tag]uint64)
	for _, e := range m.of(bus.Gap) {
		sum[e.Tag] += e.Count
	}
	return sum
}
