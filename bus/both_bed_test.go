// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"net/netip"
	"testing"

	"tagbus/bus"
	"tagbus/bus/directory"
	"tagbus/netio"
	"tagbus/subscription"
	"tagbus/tags"
)

type sender struct {
	*bus.Sender
	*member
}

type receiver struct {
	*bus.Receiver
	*member
}

// sender opens a sender on a host of its own.
func (b *bed) sender(cfg bus.SenderConfig) *sender {
	b.tb.Helper()
	m := b.member()
	if cfg.OnEvent == nil {
		cfg.OnEvent = m.note
	}
	cfg.Sending = thrifty(cfg.Sending)
	s, err := bus.NewSender(b.opener(m), b.dir, cfg)
	must(b.tb, err)
	b.tb.Cleanup(func() {
		must(b.tb, s.Close())
		m.loop.Close()
	})
	return &sender{s, m}
}

// receiver opens a receiver, on a host of its own unless it is told where to
// listen.
func (b *bed) receiver(cfg bus.ReceiverConfig, h bus.Handler) *receiver {
	b.tb.Helper()
	m := b.member()
	if cfg.Listen.IsValid() {
		m.host = cfg.Listen.Addr()
	} else {
		cfg.Listen = anyPort(m.host)
	}
	if cfg.OnEvent == nil {
		cfg.OnEvent = m.note
	}
	r, err := bus.NewReceiver(b.opener(m), b.dir, cfg, h)
	must(b.tb, err)
	b.tb.Cleanup(func() {
		must(b.tb, r.Close())
		m.loop.Close()
	})
	return &receiver{r, m}
}

// receiverByHand announces x as a receiver, with the instance "x".
func (b *bed) receiverByHand(x *stranger, set tags.Set) {
	b.tb.Helper()
	backend, host := b.stranger(x)
	listen, err := backend.OpenListenEndpoint(netip.AddrPortFrom(host, 0), netio.Params{})
	must(b.tb, err)
	_, err = b.dir.Announce(directory.Entry{
		Instance: "x", Role: directory.Receiver, Backend: backend.Name(), Tags: set,
		Addresses: []netip.AddrPort{listen.Addr()}, PageBytes: 64 << 20, MaxMessageBytes: 64 << 20,
	})
	must(b.tb, err)
}

// inbox records what a receiver gets, by the name of the sender.
type inbox map[string]*collector

func (in inbox) handle(m bus.Message) {
	c := in[m.Publisher.Name]
	if c == nil {
		c = newCollector()
		in[m.Publisher.Name] = c
	}
	c.handle(m)
}

// want compares what a sender has delivered of a tag.
func (in inbox) want(t *testing.T, sender string, tag tags.Tag, want ...string) {
	t.Helper()
	c := in[sender]
	if c == nil {
		c = newCollector()
	}
	if len(c.data[tag]) != len(want) {
		t.Errorf("from %s: got %d messages of tag %v, want %d", sender, len(c.data[tag]), tag, len(want))
		return
	}
	for i, data := range c.data[tag] {
		if data != want[i] {
			t.Errorf("from %s: got %q as message %d of tag %v, want %q", sender, data, i, tag, want[i])
		}
	}
	if len(c.bad) > 0 {
		t.Errorf("from %s: %v", sender, c.bad)
	}
}

// twinOf dials a receiver as the sender s would that has lost its connection.
func (b *bed) twinOf(t *testing.T, s *sender, r *receiver) *stranger {
	t.Helper()
	twin := &stranger{answer: [][]byte{hello(t, subscription.Hello{
		Instance: s.Instance(), Expect: r.Instance(), Role: subscription.RoleSender, MaxMessageBytes: 1 << 20,
	})}}
	backend, _ := b.stranger(twin)
	must(t, backend.OpenEndpoint(r.Addr(), netio.Params{}))
	return twin
}
