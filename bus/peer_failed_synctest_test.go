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

	"tagbus/bus"
	"tagbus/bus/directory"
	"tagbus/netio"
	"tagbus/subscription"
	"tagbus/tags"
)

// errInput is why the publishers of these tests fail.
var errInput = errors.New("raw.bin: record 7: cut off after 3 of 8 bytes")

func TestPublisher_DrainFailed_tellsSubscribersWhy(t *testing.T) {
	for _, test := range []struct {
		name string
		why  error
		want string // the event; empty: an orderly end
	}{
		{"an input that is damaged", errInput, "bus: it has ended because something failed there: raw.bin: record 7: cut off after 3 of 8 bytes"},
		{"several errors", errors.Join(errInput, errors.New("and more")), "bus: it has ended because something failed there: raw.bin: record 7: cut off after 3 of 8 bytes; and more"},
		{"a text that would clear the screen", errors.New("\x1b[2J"), `bus: it has ended because something failed there: \x1b[2J`},
		{"a long text", errors.New(strings.Repeat("x", 1000)), "bus: it has ended because something failed there: " + strings.Repeat("x", 252) + "..."},
		{"no failure", nil, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1), Common: bus.Common{Name: "felix"}})
				subscribers, got := [2]*subscriber{}, [2]*collector{newCollector(), newCollector()}
				for i := range subscribers {
					subscribers[i] = b.subscriber(bus.SubscriberConfig{})
					subscribe(t, subscribers[i], tags.Of(1), got[i].handle)
				}
				for range 100 {
					must(t, p.Publish(1, []byte("data")))
				}
				must(t, p.DrainFailed(t.Context(), test.why))
				synctest.Wait()
				for i, s := range subscribers {
					goodbyes := s.of(bus.Goodbye)
					if len(goodbyes) != 1 || len(s.of(bus.Refused))+len(s.of(bus.Problem))+len(s.of(bus.Vanished)) > 0 || got[i].count() != 100 {
						t.Fatalf("got %d messages and the events %v, want 100 messages, and one goodbye without a problem", got[i].count(), s.events)
					}
					err := goodbyes[0].Err
					if test.why == nil {
						if err != nil {
							t.Errorf("got %v, want none", err)
						}
						continue
					}
					if failed := (*bus.PeerFailedError)(nil); !errors.As(err, &failed) || !errors.Is(err, bus.ErrPeerFailed) || err.Error() != test.want {
						t.Errorf("got %v, want a *PeerFailedError: %s", err, test.want)
					}
					want := fmt.Sprintf("goodbye %v: %s", goodbyes[0].Peer, test.want)
					if text := goodbyes[0].String(); text != want {
						t.Errorf("the event is %q, want %q", text, want)
					}
				}
			})
		})
	}
}

func TestSender_DrainFailed_tellsReceiversWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		got := newCollector()
		r := b.receiver(bus.ReceiverConfig{Tags: tags.Of(1)}, got.handle)
		s := b.sender(bus.SenderConfig{})
		must(t, s.SendContext(t.Context(), 1, []byte("data")))
		must(t, s.DrainFailed(t.Context(), errInput))
		synctest.Wait()
		goodbyes := r.of(bus.Goodbye)
		if len(goodbyes) != 1 || got.count() != 1 {
			t.Fatalf("got %d messages and the events %v, want one of each", got.count(), r.events)
		}
		if err := goodbyes[0].Err; !errors.Is(err, bus.ErrPeerFailed) || !strings.HasSuffix(err.Error(), errInput.Error()) {
			t.Errorf("got %v, want %v", err, errInput)
		}
		if err := s.DrainFailed(t.Context(), errInput); !errors.Is(err, bus.ErrClosed) {
			t.Errorf("the second time: got %v, want ErrClosed", err)
		}
	})
}

// A subscriber that is lost when the publisher fails hears the reason when it comes back.
func TestPublisher_DrainFailed_aLostSubscriberHearsWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newEndRun(t, bus.PublisherConfig{})
		r.publish(10)
		time.Sleep(time.Second)
		r.reset()
		must(t, r.pub.DrainFailed(t.Context(), errInput))
		time.Sleep(time.Second)
		r.check("after the end")
		if goodbyes := r.sub.of(bus.Goodbye); len(goodbyes) != 1 || !errors.Is(goodbyes[0].Err, bus.ErrPeerFailed) {
			t.Errorf("got %v, want one with the reason", goodbyes)
		}
	})
}

// A subscriber that knows no EndingID takes the message for the refusal of a subscription
// that it has not asked for. It goes on, as it does with any such refusal.
func TestSubscriber_thatDoesNotKnowTheReasonOfAnEndGoesOn(t *testing.T) {
	for _, test := range []struct {
		name    string
		id      uint64
		refused int
		why     string
	}{
		{"an id that it knows", subscription.EndingID, 0, ": bus: it has ended because something failed there: broken"},
		{"an id that it does not know", subscription.EndingID - 1, 1, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				x := &stranger{answer: [][]byte{
					hello(t, subscription.Hello{Instance: "failing", MaxMessageBytes: 1 << 14}),
					control(t, &subscription.Subscribed{ID: 1}),
					control(t, &subscription.Refused{ID: test.id, Reason: "broken"}),
					control(t, &subscription.Goodbye{}),
				}}
				b.impostor(x, "failing", tags.Of(1))
				s := b.subscriber(bus.SubscriberConfig{})
				subscribe(t, s, tags.Of(1), func(bus.Message) {})
				time.Sleep(time.Minute)
				goodbyes := s.of(bus.Goodbye)
				if len(goodbyes) != 1 || len(s.of(bus.Refused)) != test.refused || len(s.of(bus.Lost)) > 0 {
					t.Fatalf("got the events %v, want one goodbye and %d refusals", s.events, test.refused)
				}
				if text, want := goodbyes[0].String(), fmt.Sprintf("goodbye %v%s", goodbyes[0].Peer, test.why); text != want {
					t.Errorf("got %q, want %q", text, want)
				}
			})
		})
	}
}

// What a subscriber of any age gets: the reason before the last Goodbye, as it is in
// docs/protocol.md.
func TestPublisher_DrainFailed_theReasonOnTheWire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1)})
		x := accountStranger(t)
		backend, _ := b.stranger(x)
		must(t, backend.OpenEndpoint(p.Addr(), netio.Params{}))
		synctest.Wait()
		x.got = nil
		ctx, cancel := context.WithTimeout(t.Context(), time.Second) // it does not leave
		defer cancel()
		if err := p.DrainFailed(ctx, errors.New("broken")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want that it waits", err)
		}
		want := []string{
			string(control(t, &subscription.Refused{ID: subscription.EndingID, Reason: "broken"})),
			string(control(t, &subscription.Goodbye{})),
		}
		var got []string
		for _, m := range x.got {
			got = append(got, string(m))
		}
		if fmt.Sprintf("%x", got) != fmt.Sprintf("%x", want) {
			t.Errorf("got %x, want %x", got, want)
		}
	})
}

// A publisher that says why it fails, and then goes without goodbye.
func TestSubscriber_aPublisherFailsAndVanishes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		x := &stranger{answer: [][]byte{
			hello(t, subscription.Hello{Instance: "failing", MaxMessageBytes: 1 << 14}),
			control(t, &subscription.Subscribed{ID: 1}),
			control(t, &subscription.Refused{ID: subscription.EndingID, Reason: "broken"}),
		}}
		backend, host := b.stranger(x)
		listen, err := backend.OpenListenEndpoint(anyPort(host), netio.Params{})
		must(t, err)
		entry, err := b.dir.Announce(directory.Entry{
			Instance: "failing", Backend: "memory", Addresses: []netip.AddrPort{listen.Addr()},
			Tags: tags.Of(1), PageBytes: 1024, MaxMessageBytes: 1024,
		})
		must(t, err)
		s := b.subscriber(bus.SubscriberConfig{})
		subscribe(t, s, tags.Of(1), func(bus.Message) {})
		synctest.Wait() // for the reason, which comes after the subscription
		must(t, entry.Withdraw())
		b.net.Kill(host)
		time.Sleep(time.Minute)
		vanished := s.of(bus.Vanished)
		if len(vanished) != 1 || !errors.Is(vanished[0].Err, bus.ErrPeerFailed) {
			t.Errorf("got %v, want one with the reason; events %v", vanished, s.events)
		}
	})
}
