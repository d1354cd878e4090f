// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"errors"
	"net/netip"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/bus/directory"
	"tagbus/bus/directory/memory"
	"tagbus/internal/testkit/memnet"
	"tagbus/tags"
)

// clients returns the entries of the clients of a bed.
func (b *bed) clients() []directory.Entry {
	b.tb.Helper()
	synctest.Wait()
	entries, err := b.dir.Clients().List()
	if err != nil {
		b.tb.Fatal(err)
	}
	return entries
}

// TestSubscriber_withoutPublisherIsListed: soon after its start, with what it wants, until it closes,
// and beside the entries that others read.
func TestSubscriber_withoutPublisherIsListed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		monitor := netip.MustParseAddrPort("10.0.0.9:9100")
		s := b.subscriber(bus.SubscriberConfig{Common: bus.Common{Name: "eb", Monitor: monitor}})
		if got := b.clients(); len(got) != 0 {
			t.Errorf("got %v at once, want that a short look leaves nothing", got)
		}
		if _, err := s.Subscribe(tags.Of(1), func(bus.Message) {}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(250 * time.Millisecond)
		got := b.clients()
		if len(got) != 1 {
			t.Fatalf("got %v, want the subscriber", got)
		}
		e := got[0]
		if e.Instance != s.Instance() || e.Name != "eb" || e.Role != directory.Subscriber || e.Monitor != monitor || e.PID == 0 || !e.Tags.Equal(tags.Of(1)) || e.Since.IsZero() {
			t.Errorf("got %+v, want what the subscriber is", e)
		}
		if published, err := b.dir.List(); len(published) > 0 || err != nil {
			t.Errorf("got %v, %v among the publishers, want none", published, err)
		}
		for tag := range tags.Tag(100) { // written seldom
			if _, err := s.Subscribe(tags.Of(1000+2*tag), func(bus.Message) {}); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(5 * time.Second)
		if got := b.clients(); !got[0].Equal(e) {
			t.Errorf("got %v after 5 s, want no change yet", got)
		}
		time.Sleep(5 * time.Second)
		if got := b.clients(); got[0].Tags.Parts() != 64 || !got[0].Tags.Contains(1) {
			t.Errorf("got %v, want 64 of the tags", got)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if got := b.clients(); len(got) != 0 {
			t.Errorf("got %v after Close, want none", got)
		}
	})
}

// TestSender_isListed, and what asks for it is not.
func TestSender_isListed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		s := b.sender(bus.SenderConfig{Common: bus.Common{Name: "trigger"}, Tags: tags.Of(7)})
		b.sender(bus.SenderConfig{Dialing: bus.Dialing{Unlisted: true}})
		b.subscriber(bus.SubscriberConfig{Dialing: bus.Dialing{Unlisted: true}})
		b.receiver(bus.ReceiverConfig{Tags: tags.Of(7)}, func(bus.Message) {})
		time.Sleep(time.Second)
		if got := b.clients(); len(got) != 1 || got[0].Role != directory.Sender || got[0].Instance != s.Instance() || !got[0].Tags.Equal(tags.Of(7)) {
			t.Errorf("got %v, want the sender", got)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if got := b.clients(); len(got) != 0 {
			t.Errorf("got %v after Close, want none", got)
		}
	})
}

// TestSender_theEntryFollowsWhatItWaitsFor, if it was not told its tags before.
func TestSender_theEntryFollowsWhatItWaitsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		s := b.sender(bus.SenderConfig{})
		b.receiver(bus.ReceiverConfig{Tags: tags.Of(7)}, func(bus.Message) {})
		time.Sleep(time.Second)
		must(t, s.WaitReceivers(t.Context(), tags.Of(7)))
		time.Sleep(10 * time.Second)
		if got := b.clients(); len(got) != 1 || !got[0].Tags.Equal(tags.Of(7)) {
			t.Errorf("got %v, want a sender of tag 7", got)
		}
	})
}

// grudging is a directory of clients that refuses, or does not answer.
type grudging struct {
	directory.Directory
	clients *memory.Directory
	refuse  atomic.Bool
	hangs   chan struct{} // until it is closed; nil: it answers
	asked   atomic.Int64
}

func (g *grudging) Clients() directory.Directory { return (*grudgingClients)(g) }

type grudgingClients grudging

func (g *grudgingClients) Announce(e directory.Entry) (directory.Registration, error) {
	g.asked.Add(1)
	if g.hangs != nil {
		<-g.hangs
	}
	if g.refuse.Load() {
		return nil, errors.New("read-only file system")
	}
	return g.clients.Announce(e)
}

func (g *grudgingClients) Watch(func(directory.Event)) (func(), error) { return func() {}, nil }
func (g *grudgingClients) List() ([]directory.Entry, error)            { return g.clients.List() }

// TestSubscriber_aDirectoryThatListsNoClients fails no subscription, is asked seldom, and lists the subscriber
// once it can.
func TestSubscriber_aDirectoryThatListsNoClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		g := &grudging{Directory: b.dir, clients: memory.New()}
		g.refuse.Store(true)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1)})
		m := b.member()
		defer m.loop.Close()
		s, err := bus.NewSubscriber(b.net.Opener(m.loop, memnet.Config{Host: m.host}), g, bus.SubscriberConfig{Common: bus.Common{OnEvent: m.note}})
		if err != nil {
			t.Fatal(err)
		}
		sub, err := s.Subscribe(tags.Of(1), func(bus.Message) {})
		if err != nil {
			t.Fatal(err)
		}
		if err := sub.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if n := g.asked.Load(); n < 5 || n > 11 {
			t.Errorf("got %d tries in 10 minutes, want one a minute", n)
		}
		if problems := m.of(bus.Problem); len(problems) > 0 {
			t.Errorf("got %v, want that nothing is said", problems)
		}
		g.refuse.Store(false)
		time.Sleep(time.Minute)
		synctest.Wait()
		if entries, _ := g.clients.List(); len(entries) != 1 {
			t.Errorf("got %v, want the subscriber once it can be listed", entries)
		}
		if err := errors.Join(s.Close(), p.Close()); err != nil {
			t.Error(err)
		}
		if entries, _ := g.clients.List(); len(entries) != 0 {
			t.Errorf("got %v after Close, want none", entries)
		}
	})
}

// TestSubscriber_isNotHeldUpByADirectoryWithoutAnswer: neither its start nor its end.
func TestSubscriber_isNotHeldUpByADirectoryWithoutAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		g := &grudging{Directory: b.dir, clients: memory.New(), hangs: make(chan struct{})}
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1)})
		m := b.member()
		defer m.loop.Close()
		s, err := bus.NewSubscriber(b.net.Opener(m.loop, memnet.Config{Host: m.host}), g, bus.SubscriberConfig{})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if n := g.asked.Load(); n != 1 {
			t.Errorf("got %d tries, want the one that hangs", n)
		}
		sub, err := s.Subscribe(tags.Of(1), func(bus.Message) {})
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		if err := sub.Wait(t.Context()); err != nil || time.Since(begun) > time.Second {
			t.Errorf("got %v after %v, want the subscription at once", err, time.Since(begun))
		}
		begun = time.Now()
		if err := s.Close(); err != nil || time.Since(begun) > 500*time.Millisecond {
			t.Errorf("got %v from Close after %v, want at most 250 ms more", err, time.Since(begun))
		}
		close(g.hangs)
		synctest.Wait()
		if entries, _ := g.clients.List(); len(entries) != 0 {
			t.Errorf("got %v once it answers, want that it is withdrawn", entries)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
}
