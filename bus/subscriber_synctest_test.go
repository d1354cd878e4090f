// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tagbus/bus"
	"tagbus/tags"
)

func TestSubscriber_Subscribe_beforeThePublisherExists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		s := b.subscriber(bus.SubscriberConfig{})
		c := newCollector()
		sub, err := s.Subscribe(tags.Of(1), c.handle)
		must(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := sub.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("wait without a publisher: got %v, want DeadlineExceeded", err)
		}
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1)})
		must(t, sub.Wait(t.Context()))
		must(t, p.Publish(1, []byte("x")))
		must(t, p.Drain(t.Context()))
		synctest.Wait()
		if got := c.count(); got != 1 {
			t.Errorf("got %d messages, want 1", got)
		}
	})
}

func TestSubscription_getsItsMessagesOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1, 2, 3)})
		s := b.subscriber(bus.SubscriberConfig{})
		first, second, special := newCollector(), newCollector(), newCollector()
		sub := subscribe(t, s, tags.Of(1, 2), first.handle)
		must(t, sub.Handle(2, special.handle))
		if err := sub.Handle(3, special.handle); err == nil {
			t.Error("a handler for a tag outside the set was accepted")
		}
		must(t, p.Publish(1, []byte("a")))
		must(t, p.Publish(2, []byte("b")))
		time.Sleep(time.Second)
		subscribe(t, s, tags.Of(1, 3), second.handle)
		must(t, p.Publish(1, []byte("c")))
		must(t, p.Publish(3, []byte("d")))
		time.Sleep(time.Second)
		must(t, sub.Unsubscribe(t.Context()))
		must(t, p.Publish(1, []byte("e")))
		must(t, p.Publish(2, []byte("f")))
		must(t, p.Drain(t.Context()))
		synctest.Wait()
		for _, test := range []struct {
			name string
			got  map[tags.Tag][]string
			want map[tags.Tag][]string
		}{
			{"catch-all of the first", first.data, map[tags.Tag][]string{1: {"a", "c"}}},
			{"handler of tag 2", special.data, map[tags.Tag][]string{2: {"b"}}},
			{"second", second.data, map[tags.Tag][]string{1: {"c", "e"}, 3: {"d"}}},
		} {
			if d := cmp.Diff(test.want, test.got); d != "" {
				t.Errorf("%s (-want +got):\n%s", test.name, d)
			}
		}
		if st := s.Stats(); st.Lost != 0 || st.Unwanted != 0 || st.Messages != 5 {
			t.Errorf("stats: got %+v, want 5 messages, none lost or unwanted", st)
		}
	})
}

func TestSubscriber_Subscribe_againIsNoGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1)})
		s := b.subscriber(bus.SubscriberConfig{})
		c := newCollector()
		keep := func(m bus.Message) { c.data[1] = append(c.data[1], fmt.Sprintf("%s %d", m.Data, m.Counter)) }
		for i := range 3 {
			must(t, p.Publish(1, []byte("unheard")))
			sub := subscribe(t, s, tags.Of(1), keep)
			must(t, p.Publish(1, fmt.Append(nil, i)))
			time.Sleep(time.Second)
			must(t, sub.Unsubscribe(t.Context()))
			time.Sleep(time.Minute) // long enough to disconnect
		}
		if d := cmp.Diff([]string{"0 2", "1 4", "2 6"}, c.data[1]); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
		if gaps := s.of(bus.Gap); len(gaps) > 0 {
			t.Errorf("gaps: %v", gaps)
		}
		if st := p.Stats(); len(st.Subscribers) != 0 {
			t.Errorf("an unused connection stays: %+v", st.Subscribers)
		}
	})
}

func TestSubscription_Messages_iterating(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1), Sending: bus.Sending{PageBytes: 1024, QueueBytes: 4096, MaxMessageBytes: 1000}})
		s := b.subscriber(bus.SubscriberConfig{Receiving: bus.Receiving{QueueBytes: 2000}})
		b.net.SetWindow(netip.AddrPort{}, netip.AddrPortFrom(s.host, 0), 4096)
		sub := subscribe(t, s, tags.Of(1), nil)
		const total = 1000
		published := make(chan struct{})
		go func() {
			defer close(published)
			for i := range total {
				if err := p.PublishContext(context.Background(), 1, fmt.Appendf(nil, "%0100d", i)); err != nil {
					t.Error(err)
				}
			}
			p.Flush()
		}()
		synctest.Wait()
		if st := p.Stats(); st.Messages >= total || st.Refusals == 0 {
			t.Errorf("the publisher does not wait for a slow reader: %+v", st)
		}
		next := 0
		for round := range 2 { // breaking off loses nothing
			for m, err := range sub.Messages(t.Context()) {
				must(t, err)
				if want := fmt.Sprintf("%0100d", next); string(m.Data) != want || m.Counter != uint64(next+1) {
					t.Fatalf("message %d: got %s, counter %d", next, m.Data, m.Counter)
				}
				if next++; next == total/2*(round+1) {
					break
				}
			}
		}
		<-published
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		for _, err := range sub.Messages(ctx) {
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("iteration without messages: got %v, want DeadlineExceeded", err)
			}
		}
		must(t, sub.Close())
		for m, err := range sub.Messages(t.Context()) {
			t.Errorf("after close: got %v, %v", m, err)
		}
		with := subscribe(t, s, tags.Of(1), func(bus.Message) {})
		for _, err := range with.Messages(t.Context()) {
			if !errors.Is(err, bus.ErrHasHandler) {
				t.Errorf("iterating beside a handler: got %v", err)
			}
		}
	})
}

func TestHandler_thatPanicsCostsNoMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1)})
		s := b.subscriber(bus.SubscriberConfig{})
		c := newCollector()
		subscribe(t, s, tags.Of(1), func(m bus.Message) {
			if m.Counter%3 == 0 {
				panic("every third")
			}
		})
		subscribe(t, s, tags.Of(1), c.handle)
		for i := range 10 {
			must(t, p.Publish(1, fmt.Append(nil, i)))
		}
		must(t, p.Drain(t.Context()))
		synctest.Wait()
		if got := c.count(); got != 10 || len(c.bad) > 0 {
			t.Errorf("the other subscription got %d messages, want 10; %v", got, c.bad)
		}
		if st := s.Stats(); st.Panics != 3 || st.Messages != 10 {
			t.Errorf("stats: got %+v, want 3 panics, 10 messages", st)
		}
		var pe *bus.PanicError
		if e := s.of(bus.Problem); len(e) != 3 || !errors.As(e[0].Err, &pe) || pe.Tag != 1 || pe.Value != "every third" {
			t.Errorf("events: got %v", e)
		} else if text := pe.Error(); !strings.HasPrefix(text, "bus: handler of tag 0x0000000000000001 panicked: every third at ") || !strings.Contains(text, "subscriber_synctest_test.go:") {
			t.Errorf("the panic: got %q, want its value and its place", text)
		}
	})
}

// TestSubscriber_callbacksMayCallEverything is what users of earlier systems deadlocked
// on.
func TestSubscriber_callbacksMayCallEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1, 2)})
		s := b.subscriber(bus.SubscriberConfig{})
		done := make(chan struct{})
		calls := 0
		var sub *bus.Subscription
		handler := func(bus.Message) {
			if calls++; calls > 1 {
				t.Error("called after Close inside the handler")
				return
			}
			other, err := s.Subscribe(tags.Of(2), func(bus.Message) {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
				close(done)
			})
			must(t, err)
			for name, err := range map[string]error{
				"Wait":        other.Wait(t.Context()),
				"Unsubscribe": sub.Unsubscribe(t.Context()),
			} {
				if !errors.Is(err, bus.ErrOnLoop) {
					t.Errorf("%s inside a handler: got %v, want ErrOnLoop", name, err)
				}
			}
			must(t, sub.Close())
		}
		sub = subscribe(t, s, tags.Of(1), handler)
		must(t, p.Publish(1, nil))
		must(t, p.Publish(1, nil))
		time.Sleep(time.Second)
		must(t, p.Publish(2, nil))
		<-done
		time.Sleep(time.Second)
		if _, err := s.Subscribe(tags.Of(1), handler); !errors.Is(err, bus.ErrClosed) {
			t.Errorf("subscribe after close: got %v, want ErrClosed", err)
		}
	})
}

func TestPublisher_Close_insideItsEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		var p *publisher
		closed := make(chan error, 1)
		cfg := bus.PublisherConfig{Tags: tags.Of(1)}
		p = b.publisher(cfg)
		s := b.subscriber(bus.SubscriberConfig{})
		subscribe(t, s, tags.Of(1), func(bus.Message) {})
		must(t, p.Publish(1, nil))
		p.loop.Post(func() { closed <- p.Close() })
		must(t, <-closed)
		synctest.Wait()
		if err := p.Publish(1, nil); !errors.Is(err, bus.ErrClosed) {
			t.Errorf("publish after close: got %v, want ErrClosed", err)
		}
		if err := p.Drain(t.Context()); !errors.Is(err, bus.ErrClosed) {
			t.Errorf("drain after close: got %v, want ErrClosed", err)
		}
	})
}
