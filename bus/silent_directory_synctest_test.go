// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"context"
	"errors"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/bus/directory"
	"tagbus/bus/directory/directorytest"
	"tagbus/tags"
)

// silentBed is a bed whose directory may stop returning from its calls.
type silentBed struct {
	*bed
	dir *directorytest.Silent
}

func newSilentBed(t *testing.T) *silentBed {
	t.Helper()
	b := newBed(t)
	return &silentBed{b, directorytest.NewSilent(b.dir)}
}

// role is a part of a bus that uses a directory.
type role struct {
	*member
	close func() error
	drain func(context.Context) error // nil: there is none
}

// roles open each kind of role.
var roles = []struct {
	name string
	open func(t *testing.T, b *silentBed) role
}{
	{"publisher", func(t *testing.T, b *silentBed) role {
		t.Helper()
		m := b.member()
		p, err := bus.NewPublisher(b.opener(m), b.dir, bus.PublisherConfig{Tags: tags.Of(1), Listening: bus.Listening{Listen: netip.AddrPortFrom(m.host, 0)}, Common: bus.Common{OnEvent: m.note}})
		must(t, err)
		return role{m, p.Close, p.Drain}
	}},
	{"receiver", func(t *testing.T, b *silentBed) role {
		t.Helper()
		m := b.member()
		r, err := bus.NewReceiver(b.opener(m), b.dir, bus.ReceiverConfig{Tags: tags.Of(2), Listening: bus.Listening{Listen: netip.AddrPortFrom(m.host, 0)}, Common: bus.Common{OnEvent: m.note}}, func(bus.Message) {})
		must(t, err)
		return role{m, r.Close, r.Drain}
	}},
	{"subscriber", func(t *testing.T, b *silentBed) role {
		t.Helper()
		m := b.member()
		s, err := bus.NewSubscriber(b.opener(m), b.dir, bus.SubscriberConfig{Common: bus.Common{OnEvent: m.note}})
		must(t, err)
		_, err = s.Subscribe(tags.Of(1), func(bus.Message) {})
		must(t, err)
		return role{m, s.Close, nil}
	}},
	{"sender", func(t *testing.T, b *silentBed) role {
		t.Helper()
		m := b.member()
		s, err := bus.NewSender(b.opener(m), b.dir, bus.SenderConfig{Tags: tags.Of(2), Common: bus.Common{OnEvent: m.note}})
		must(t, err)
		return role{m, s.Close, s.Drain}
	}},
	{"requester", func(t *testing.T, b *silentBed) role {
		t.Helper()
		m := b.member()
		sender, err := bus.NewSender(b.opener(m), b.dir, bus.SenderConfig{Tags: tags.Of(2), Common: bus.Common{OnEvent: m.note}})
		must(t, err)
		n := b.member()
		sub, err := bus.NewSubscriber(b.opener(n), b.dir, bus.SubscriberConfig{Common: bus.Common{OnEvent: n.note}})
		must(t, err)
		r, err := bus.NewRequester(sender, sub, bus.RequesterConfig{Command: 2, Reply: 1})
		must(t, err)
		t.Cleanup(n.loop.Close)
		return role{m, func() error { return errors.Join(r.Close(), sub.Close(), sender.Close()) }, nil}
	}},
}

// TestPublisher_rolesOnADirectoryThatDoesNotReturn: each is opened, says so, works once the directory is
// back, and ends while it is away.
func TestPublisher_rolesOnADirectoryThatDoesNotReturn(t *testing.T) {
	for _, test := range roles {
		for _, end := range []string{"close", "drain"} {
			t.Run(test.name+" "+end, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b := newSilentBed(t)
					b.dir.Goes()
					start := time.Now()
					r := test.open(t, b)
					defer r.loop.Close()
					if took := time.Since(start); took > 2*directory.Patience { // a requester has two
						t.Errorf("opening took %v, want at most %v for each call", took, directory.Patience)
					}
					synctest.Wait()
					if e, _ := r.first(bus.Problem); !errors.Is(e.Err, directory.ErrSilent) {
						t.Errorf("got events %v, want a problem with ErrSilent", r.kinds())
					}
					b.dir.Comes()
					time.Sleep(time.Second)
					b.meets(t, test.name)
					b.dir.Goes()
					defer b.dir.Comes()
					start = time.Now()
					switch {
					case end == "close":
						_ = r.close() // the directory's error
						if took := time.Since(start); took > directory.Patience {
							t.Errorf("Close took %v, want at most %v", took, directory.Patience)
						}
					case r.drain != nil:
						ctx, cancel := context.WithTimeout(t.Context(), time.Second)
						defer cancel()
						_ = r.drain(ctx)
						if took := time.Since(start); took > time.Second {
							t.Errorf("Drain took %v, want at most 1s: its context ends then", took)
						}
						_ = r.close()
					default:
						_ = r.close()
					}
				})
			})
		}
	}
}

// meets fails the test unless a role finds its counterpart.
func (b *silentBed) meets(t *testing.T, name string) {
	t.Helper()
	other := map[string]string{"publisher": "subscriber", "receiver": "sender", "subscriber": "publisher", "sender": "receiver", "requester": "receiver"}[name]
	for _, test := range roles {
		if test.name == other {
			o := test.open(t, b)
			t.Cleanup(o.loop.Close)
			time.Sleep(time.Second)
			if e, _ := o.first(bus.Problem); e.Err != nil {
				t.Errorf("the %s has problem %v, want none", other, e.Err)
			}
			if len(o.of(bus.Connected))+len(o.of(bus.Subscribed)) == 0 {
				t.Errorf("the %s has events %v, want that it meets the %s", other, o.kinds(), name)
			}
			must(t, o.close())
		}
	}
}

// TestPublisher_Close_thatCannotLeaveTheDirectory get their goodbye at once, and lose
// nothing.
func TestPublisher_Close_thatCannotLeaveTheDirectory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newSilentBed(t)
		m := b.member()
		p, err := bus.NewPublisher(b.opener(m), b.dir, bus.PublisherConfig{Tags: tags.Of(1), Listening: bus.Listening{Listen: netip.AddrPortFrom(m.host, 0)}})
		must(t, err)
		defer m.loop.Close()
		s := b.subscriber(bus.SubscriberConfig{})
		got := 0
		_, err = s.Subscribe(tags.Of(1), func(bus.Message) { got++ })
		must(t, err)
		must(t, p.WaitSubscribers(t.Context(), 1, tags.Of(1)))
		must(t, p.Publish(1, []byte("x")))
		b.dir.Goes()
		start := time.Now()
		drained := make(chan error, 1)
		go func() { drained <- p.Drain(t.Context()) }()
		time.Sleep(100 * time.Millisecond)
		if _, at := s.first(bus.Goodbye); at.IsZero() || at.Sub(start) > 100*time.Millisecond || got != 1 {
			t.Errorf("got events %v and %d messages, want the goodbye at once and 1", s.kinds(), got)
		}
		if err := <-drained; !errors.Is(err, directory.ErrSilent) || time.Since(start) > directory.Patience {
			t.Errorf("got %v from Drain after %v, want ErrSilent of the withdrawal within %v", err, time.Since(start), directory.Patience)
		}
		must(t, p.Close())
		if len(s.of(bus.Vanished))+len(s.of(bus.Gap)) > 0 {
			t.Errorf("got events %v, want no loss", s.kinds())
		}
		b.dir.Comes()
		time.Sleep(time.Second)
		if entries, err := b.bed.dir.List(); err != nil || len(entries) != 0 {
			t.Errorf("got %v, %v, want that the entry is withdrawn once the directory is back", entries, err)
		}
	})
}
