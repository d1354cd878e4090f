// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/bus/directory"
	"tagbus/tags"
)

// set reads a set.
func set(t *testing.T, text string) tags.Set {
	t.Helper()
	s, err := tags.ParseSet(text)
	must(t, err)
	return s
}

func TestSubscriber_Offers_whichTagsAreNear(t *testing.T) {
	const nine = " (10.9.9.9:9)" // where they all are
	tests := []struct {
		name, wanted string
		publishers   []string // their tags; they are called a, b, ...
		none         bool
		want         string
	}{
		{"nothing there", "7", nil, false, "0 publishers here, 0 of tags 0x0000000000000007"},
		{"one that has it", "7", []string{"1-10"}, false, "1 publisher here, 1 of tags 0x0000000000000007"},
		{"one of three has it", "7", []string{"1", "5-9", "20"}, false, "3 publishers here, 1 of tags 0x0000000000000007"},
		{
			"one that has another", "7",
			[]string{"9"},
			true,
			"1 publisher here, none of tags 0x0000000000000007; nearest sets: a" + nine + " has 0x0000000000000009",
		},
		{
			"the nearest come first", "7",
			[]string{"100", "1-5", "9-12", "6&7"},
			true,
			"4 publishers here, none of tags 0x0000000000000007; nearest sets: d" + nine + " has 0x0000000000000006&0x0000000000000007, b" + nine + " has 0x0000000000000001-0x0000000000000005, " +
				"c" + nine + " has 0x0000000000000009-0x000000000000000c",
		},
		{
			"between two wanted ones", "10-20,1000",
			[]string{"990", "500", "5"},
			true,
			"3 publishers here, none of tags 0x000000000000000a-0x0000000000000014,0x00000000000003e8; nearest sets: c" + nine + " has 0x0000000000000005, " +
				"a" + nine + " has 0x00000000000003de, b" + nine + " has 0x00000000000001f4",
		},
		{
			"at both ends", "0,0xffffffffffffffff",
			[]string{"5", "0xfffffffffffffff0"},
			true,
			"2 publishers here, none of tags 0x0000000000000000,0xffffffffffffffff; nearest sets: a" + nine + " has 0x0000000000000005, b" + nine + " has 0xfffffffffffffff0",
		},
		{
			"one that has nothing yet", "7",
			[]string{"", "1"},
			true,
			"2 publishers here, none of tags 0x0000000000000007; nearest sets: b" + nine + " has 0x0000000000000001, a" + nine + " has none",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				for i, text := range test.publishers {
					var tags tags.Set
					if text != "" {
						tags = set(t, text)
					}
					name := string(rune('a' + i))
					b.announce(name, name, directory.Publisher, tags)
				}
				b.announce("r", "r", directory.Receiver, set(t, "7")) // of no account
				s := b.subscriber(bus.SubscriberConfig{})
				synctest.Wait()
				got, err := s.Offers(t.Context(), set(t, test.wanted))
				must(t, err)
				if got.String() != test.want || got.None() != test.none {
					t.Errorf("got %v, none %v\nwant %s, none %v", got, got.None(), test.want, test.none)
				}
				onLoop := make(chan bus.Offers, 1)
				s.loop.Post(func() {
					o, err := s.Offers(t.Context(), set(t, test.wanted))
					must(t, err)
					onLoop <- o
				})
				if o := <-onLoop; o.String() != test.want {
					t.Errorf("on the loop: got %v, want %s", o, test.want)
				}
			})
		})
	}
}

func TestSender_Offers_whichReceiversAreNear(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		s := b.sender(bus.SenderConfig{Common: bus.Common{Name: "s"}})
		want := func(wanted, want string, none bool) {
			t.Helper()
			synctest.Wait()
			got, err := s.Offers(t.Context(), set(t, wanted))
			must(t, err)
			if got.String() != want || got.None() != none {
				t.Errorf("got %v, none %v\nwant %s, none %v", got, got.None(), want, none)
			}
		}
		b.announce("p", "p", directory.Publisher, set(t, "7")) // of no account
		want("7", "0 receivers here, 0 of tags 0x0000000000000007", false)
		b.announce("r", "r", directory.Receiver, set(t, "9"))
		want("7", "1 receiver here, none of tags 0x0000000000000007; nearest sets: r (10.9.9.9:9) has 0x0000000000000009", true)
		b.announce("q", "q", directory.Receiver, set(t, "7"))
		want("7", "2 receivers here, 1 of tags 0x0000000000000007", false)
		must(t, s.Close())
		if _, err := s.Offers(t.Context(), set(t, "7")); !errors.Is(err, bus.ErrClosed) {
			t.Errorf("got %v of a sender that is closed, want ErrClosed", err)
		}
	})
}

// What is said stays short, and what is done stays little, however many publishers with
// however many tags there are.
func TestOffers_areBounded(t *testing.T) {
	scattered := func(n, first int) tags.Set {
		all := make([]tags.Tag, n)
		for i := range all {
			all[i] = tags.Tag(first + 2*i)
		}
		return tags.Of(all...)
	}
	const publishers = 50
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		for i := range publishers {
			b.announce(fmt.Sprintf("small%04d", i), strings.Repeat("x", 255), directory.Publisher, scattered(1000, 1000))
		}
		s := b.subscriber(bus.SubscriberConfig{})
		synctest.Wait()
		wanted := scattered(1000, 1001)
		got, err := s.Offers(t.Context(), wanted)
		if err != nil || !got.None() || got.Publishers != publishers || len(got.Nearest) != 3 || len(got.String()) > 2048 {
			t.Errorf("got %v, %v, want none of %d publishers, and the 3 nearest in 2,048 bytes", got, err, publishers)
		}
		bus.WithOfferSteps(10_000, func() {
			got, err = s.Offers(t.Context(), wanted)
		})
		if err != nil || got.None() || got.Publishers != publishers || got.Unseen < 30 || got.Unseen == publishers {
			t.Errorf("got %v with %d not looked at, %v, want that most are not looked at, so that none cannot be said", got, got.Unseen, err)
		}
	})
}

func TestSubscriber_Offers_fail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		s := b.subscriber(bus.SubscriberConfig{})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.Offers(ctx, tags.Of(1)); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want the end of the context", err)
		}
		onLoop := make(chan error, 1)
		s.loop.Post(func() {
			_, err := s.Offers(ctx, tags.Of(1))
			onLoop <- err
		})
		if err := <-onLoop; !errors.Is(err, context.Canceled) {
			t.Errorf("on the loop: got %v, want the end of the context", err)
		}
		must(t, s.Close())
		if _, err := s.Offers(t.Context(), tags.Of(1)); !errors.Is(err, bus.ErrClosed) {
			t.Errorf("got %v, want ErrClosed", err)
		}
	})
}

func TestSubscription_namesTheTagsThatThePublisherHas(t *testing.T) {
	for _, test := range []struct {
		name         string
		asked, has   tags.Set
		wantedParts  int
		wantedString string
	}{
		{"all tags", tags.Everything(), set(t, "5-9"), 1, "0x0000000000000005-0x0000000000000009"},
		{"some of them", set(t, "1-6,20"), set(t, "5-9"), 1, "0x0000000000000005-0x0000000000000006"},
		{"a pattern", set(t, "4&5"), set(t, "0-7"), 1, "0x0000000000000004&0xfffffffffffffffd"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				p := b.publisher(bus.PublisherConfig{Tags: test.has})
				s := b.subscriber(bus.SubscriberConfig{})
				subscribe(t, s, test.asked, func(bus.Message) {})
				synctest.Wait() // events are told a little later
				e, _ := s.first(bus.Subscribed)
				if e.Tags.String() != test.wantedString || e.Tags.Parts() != test.wantedParts {
					t.Errorf("got %v, want %s", e, test.wantedString)
				}
				if e, _ := p.first(bus.Subscribed); !e.Tags.Equal(test.asked) {
					t.Errorf("at the publisher: got %v, want what was asked for", e)
				}
				b.net.Reset(p.Addr(), anyPort(s.host))
				time.Sleep(10 * time.Second)
				if e, _ := s.first(bus.Resubscribed); e.Tags.String() != test.wantedString {
					t.Errorf("again: got %v, want %s", e, test.wantedString)
				}
			})
		})
	}
}

// Of very many tags an answer names those that the publisher has.
func TestSubscription_toManyTagsNamesThoseOfThePublisher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		many := make([]tags.Tag, 300)
		for i := range many {
			many[i] = tags.Tag(2 * i)
		}
		b.publisher(bus.PublisherConfig{Tags: tags.Of(4, 1000)})
		s := b.subscriber(bus.SubscriberConfig{})
		subscribe(t, s, tags.Of(many...), func(bus.Message) {})
		synctest.Wait()
		if e, _ := s.first(bus.Subscribed); !e.Tags.Equal(tags.Of(4)) {
			t.Errorf("got %v, want the tag of both", e)
		}
	})
}
