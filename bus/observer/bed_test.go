// SPDX-License-Identifier: Apache-2.0

package observer_test

import (
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/bus/directory"
	"tagbus/bus/directory/memory"
	"tagbus/bus/observer"
	"tagbus/internal/testkit/memnet"
	"tagbus/netio"
	"tagbus/subscription"
	"tagbus/tags"
)

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// bed is a bus in memory, with a host and a loop for each program.
type bed struct {
	tb   testing.TB
	net  *memnet.Network
	dir  *memory.Directory
	host netip.Addr // the last

	mu     sync.Mutex
	opened map[netip.Addr]*opened
}

// opened counts the connections of a host.
type opened struct{ ever, now, most int }

func newBed(tb testing.TB) *bed {
	tb.Helper()
	b := &bed{tb: tb, net: memnet.New(), dir: memory.New(), host: netip.MustParseAddr("10.0.0.0"), opened: make(map[netip.Addr]*opened)}
	b.net.Observe(func(e memnet.Event) {
		b.mu.Lock()
		defer b.mu.Unlock()
		c := b.opened[e.Local.Addr()]
		if c == nil {
			c = new(opened)
			b.opened[e.Local.Addr()] = c
		}
		if e.Kind == memnet.Established {
			c.ever++
			c.now++
			c.most = max(c.most, c.now)
		}
		if e.Kind == memnet.Closed {
			c.now--
		}
	})
	return b
}

// connections returns the connections of a host.
func (b *bed) connections(host netip.Addr) opened {
	synctest.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	if c := b.opened[host]; c != nil {
		return *c
	}
	return opened{}
}

// program returns the opener of a program on a host of its own.
func (b *bed) program() (netip.Addr, netio.Opener) {
	b.host = b.host.Next()
	return b.host, b.opener(b.host)
}

// opener returns the opener of a program on a host.
func (b *bed) opener(host netip.Addr) netio.Opener {
	loop := memnet.NewLoop()
	b.tb.Cleanup(loop.Close)
	return b.net.Opener(loop, memnet.Config{Host: host})
}

// publisher opens a publisher, at a port if it is not 0.
func (b *bed) publisher(cfg bus.PublisherConfig) *bus.Publisher {
	b.tb.Helper()
	host, open := b.program()
	if !cfg.Listen.IsValid() {
		cfg.Listen = netip.AddrPortFrom(host, 0)
	}
	cfg.Tags = cfg.Tags.Union(tags.Of(1))
	p, err := bus.NewPublisher(open, b.dir, cfg)
	must(b.tb, err)
	b.tb.Cleanup(func() { must(b.tb, p.Close()) })
	return p
}

// entry returns the entry of an instance.
func (b *bed) entry(instance string) directory.Entry {
	b.tb.Helper()
	entries, err := b.dir.List()
	must(b.tb, err)
	for _, e := range entries {
		if e.Instance == instance {
			return e
		}
	}
	b.tb.Fatalf("no entry of %s", instance)
	return directory.Entry{}
}

// observer opens an observer, and returns its host.
func (b *bed) observer(cfg observer.Config) (*observer.Observer, netip.Addr) {
	b.tb.Helper()
	host, open := b.program()
	o, err := observer.New(open, cfg)
	must(b.tb, err)
	b.tb.Cleanup(func() { must(b.tb, o.Close()) })
	return o, host
}

// stranger is a program made by hand, which listens. It answers each first byte of a message
// as it is told to, and notes the connections.
type stranger struct {
	netio.NopHandler
	reply map[byte][][]byte // to a message with this first byte
	quits bool              // it closes after its reply
}

func (s *stranger) OnData(ep netio.Endpoint, data []byte) {
	reply := s.reply[data[0]]
	for _, answer := range reply {
		_ = ep.SendCopy(0, nil, answer)
	}
	if s.quits && (s.reply['T'] == nil || data[0] != 'T') {
		_ = ep.Close()
	}
}

// listen makes s listen on a host of its own, and returns an entry that leads there.
func (b *bed) listen(s netio.Handler) directory.Entry {
	b.tb.Helper()
	host, open := b.program()
	backend, err := open(s)
	must(b.tb, err)
	b.tb.Cleanup(func() { must(b.tb, backend.Close()) })
	l, err := backend.OpenListenEndpoint(netip.AddrPortFrom(host, 0), netio.Params{ZeroCopy: netio.ZeroCopyParams{Outstanding: 4096}})
	must(b.tb, err)
	return directory.Entry{
		Instance: "stranger", Backend: "memory", Addresses: []netip.AddrPort{l.Addr()},
		PageBytes: 1, MaxMessageBytes: 1, Since: time.Now(),
	}
}

// anyPort stands for all ports of a host.
func anyPort(host netip.Addr) netip.AddrPort { return netip.AddrPortFrom(host, 0) }

// helloOf is the hello of an instance that is observed.
func helloOf(tb testing.TB, instance string) []byte {
	tb.Helper()
	data, err := subscription.AppendHello(nil, subscription.Hello{Instance: instance, Name: "daq", Host: "felix1", PID: 7, MaxMessageBytes: subscription.MaxControlBytes})
	must(tb, err)
	return data
}

func control(tb testing.TB, m subscription.Message) []byte {
	tb.Helper()
	data, err := subscription.Append(nil, m)
	must(tb, err)
	return data
}

// scattered returns a set of n tags that take as many bytes as they can.
func scattered(n int) tags.Set {
	list := make([]tags.Tag, n)
	for i := range list {
		list[i] = tags.MaxTag / tags.Tag(n) * tags.Tag(i)
	}
	return tags.Of(list...)
}
