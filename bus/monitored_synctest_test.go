// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"errors"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/tags"
)

// TestPublisher_Stats_readersShareTheSmallestNumbers: the fewest free pages stay for a minute at least
// and two at most, however many callers look, and whether they look often or seldom.
func TestPublisher_Stats_readersShareTheSmallestNumbers(t *testing.T) {
	tests := []struct {
		name  string
		every time.Duration
	}{
		{"each second", time.Second},
		{"each 15 s", 15 * time.Second},
		{"each minute", time.Minute},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1), Sending: bus.Sending{PageBytes: 1024, MaxMessageBytes: 1000, QueueBytes: 8 << 10, PoolBytes: 64 << 10}})
				s := b.subscriber(bus.SubscriberConfig{})
				subscribe(t, s, tags.Of(1), func(bus.Message) {})
				b.net.Stall(netip.AddrPort{}, netip.AddrPortFrom(s.host, 0))
				for range 4 {
					must(t, p.Publish(1, make([]byte, 900)))
				}
				b.net.Resume(netip.AddrPort{}, netip.AddrPortFrom(s.host, 0))
				time.Sleep(time.Second)
				if st := p.Stats(); st.PagesFree != st.Pages {
					t.Fatalf("got %d of %d pages free, want all", st.PagesFree, st.Pages)
				}
				begin := time.Now()
				for since := time.Duration(0); since <= 3*time.Minute; since = time.Since(begin) {
					for reader := range 2 {
						st := p.Stats()
						few := st.MinPagesFree < st.Pages
						if since <= time.Minute && !few || since >= 2*time.Minute && few {
							t.Errorf("reader %d after %v: got %d free at least of %d, want fewer for one to two minutes", reader, since, st.MinPagesFree, st.Pages)
						}
					}
					time.Sleep(test.every)
				}
			})
		})
	}
}

// TestPublisher_Stats_bothSidesCountWhatBreaks: a connection that ends without goodbye counts on both
// sides, one that ends in order on none.
func TestPublisher_Stats_bothSidesCountWhatBreaks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1)})
		s, leaver := b.subscriber(bus.SubscriberConfig{}), b.subscriber(bus.SubscriberConfig{})
		subscribe(t, s, tags.Of(1), func(bus.Message) {})
		subscribe(t, leaver, tags.Of(1), func(bus.Message) {})
		must(t, leaver.Close())
		time.Sleep(time.Minute)
		check := func(when string, want uint64) {
			t.Helper()
			if pub, sub := p.Stats().Broken, s.Stats().Broken; pub != want || sub != want {
				t.Errorf("%s: got %d at the publisher and %d at the subscriber, want %d", when, pub, sub, want)
			}
		}
		check("after a goodbye", 0)
		for _, subscriber := range p.Stats().Subscribers {
			b.net.Reset(p.Addr(), subscriber.Peer.Addr)
		}
		time.Sleep(time.Minute)
		check("after a reset", 1)
		must(t, p.Drain(t.Context()))
		time.Sleep(time.Minute)
		check("after the publisher's end", 1)
	})
}

// TestPublisher_State_whatAGoneSubscriberWasSent: the numbers of the connection that ended.
func TestPublisher_State_whatAGoneSubscriberWasSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1)})
		s := b.subscriber(bus.SubscriberConfig{})
		subscribe(t, s, tags.Of(1), func(bus.Message) {})
		for range 3 {
			must(t, p.Publish(1, make([]byte, 40)))
		}
		p.Flush()
		synctest.Wait()
		was := p.Stats().Subscribers[0]
		must(t, s.Close())
		synctest.Wait()
		gone := p.Stats().Gone
		if len(gone) != 1 || was.Messages != 3 {
			t.Fatalf("got %d gone, and %d messages before, want 1 and 3", len(gone), was.Messages)
		}
		if g := gone[0]; g.Peer != was.Peer || g.Messages != was.Messages || g.Bytes != was.Bytes || g.Pages != was.Pages {
			t.Errorf("got %+v, want the numbers of %+v", g, was)
		}
	})
}

// TestPublisher_Stats_sayThatTheEntryIsFailing for as long as it is.
func TestPublisher_Stats_sayThatTheEntryIsFailing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1)})
		r := b.receiver(bus.ReceiverConfig{Tags: tags.Of(2)}, func(bus.Message) {})
		for _, cause := range []error{nil, errors.New("no space left"), nil} {
			b.dir.Fail(p.Instance(), cause)
			b.dir.Fail(r.Instance(), cause)
			time.Sleep(time.Second)
			if pub, rcv := p.Stats().EntryFailing, r.Stats().EntryFailing; pub != (cause != nil) || rcv != pub {
				t.Errorf("with the cause %v: got %v at the publisher and %v at the receiver", cause, pub, rcv)
			}
		}
	})
}

// An entry that was failing when its program ended was said to fail for ever.
func TestPublisher_Stats_anEntryThatIsWithdrawnIsNotFailing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		drained, closed := b.publisher(bus.PublisherConfig{Tags: tags.Of(1)}), b.publisher(bus.PublisherConfig{Tags: tags.Of(2)})
		r, gone := b.receiver(bus.ReceiverConfig{Tags: tags.Of(3)}, ignore), b.receiver(bus.ReceiverConfig{Tags: tags.Of(4)}, ignore)
		for _, instance := range []string{drained.Instance(), closed.Instance(), r.Instance(), gone.Instance()} {
			b.dir.Fail(instance, errors.New("no space left"))
		}
		time.Sleep(time.Second)
		must(t, drained.Drain(t.Context()))
		must(t, closed.Close())
		must(t, r.Drain(t.Context()))
		must(t, gone.Close())
		for i, failing := range []bool{drained.Stats().EntryFailing, closed.Stats().EntryFailing, r.Stats().EntryFailing, gone.Stats().EntryFailing} {
			if failing {
				t.Errorf("entry %d is withdrawn: got that it is failing", i)
			}
		}
	})
}
