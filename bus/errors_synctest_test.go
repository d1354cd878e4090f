// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/bus/directory"
	"tagbus/netio"
	"tagbus/subscription"
	"tagbus/tags"
)

// announceCopy announces the only entry of the directory once more, changed, with
// tag 7.
func (b *bed) announceCopy(change func(e *directory.Entry)) {
	b.tb.Helper()
	entries, err := b.dir.List()
	must(b.tb, err)
	e := entries[0]
	e.Instance, e.Tags = "copy", tags.Of(7)
	change(&e)
	_, err = b.dir.Announce(e)
	must(b.tb, err)
}

func TestSubscriber_refusesAnEntryThatCannotBeUsedWithItsCause(t *testing.T) {
	tests := []struct {
		name   string
		change func(e *directory.Entry)
		is     func(err error) bool
	}{
		{"another backend", func(e *directory.Entry) { e.Backend = "rdma:verbs" }, func(err error) bool {
			var other *bus.BackendError
			return errors.As(err, &other) && *other == bus.BackendError{Role: directory.Publisher, Theirs: "rdma:verbs", Ours: "memory"}
		}},
		{"a publisher that is not there any more", func(*directory.Entry) {}, func(err error) bool {
			return errors.Is(err, bus.ErrStaleEntry)
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				b.publisher(bus.PublisherConfig{Tags: tags.Of(1)})
				b.announceCopy(test.change)
				s := b.subscriber(bus.SubscriberConfig{})
				_, err := s.Subscribe(tags.Of(1, 7), ignore)
				must(t, err)
				time.Sleep(time.Second)
				if !slices.ContainsFunc(s.of(bus.Refused), func(e bus.Event) bool { return test.is(e.Err) }) {
					t.Errorf("got events %v, want one that is refused for that", s.events)
				}
			})
		})
	}
}

func TestSubscriber_Subscribe_refusesTooManyPolicies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newBed(t).subscriber(bus.SubscriberConfig{})
		for i := range 17 {
			_, err := s.SubscribeWith(tags.Of(1), ignore, bus.SubscriptionConfig{BacklogBytes: 1 + i})
			if want := i == 16; errors.Is(err, bus.ErrTooManyPolicies) != want {
				t.Errorf("subscription %d: got error %v, want ErrTooManyPolicies: %v", i+1, err, want)
			}
		}
	})
}

func TestReceiver_refusesTooManySenders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		r := b.receiver(bus.ReceiverConfig{Tags: tags.Of(1), MaxSenders: 1}, ignore)
		first := b.sender(bus.SenderConfig{Tags: tags.Of(1)})
		must(t, first.SendContext(t.Context(), 1, nil))
		time.Sleep(time.Second)
		b.sender(bus.SenderConfig{Tags: tags.Of(1)})
		time.Sleep(time.Second)
		wantCause(t, r.member, bus.ErrTooManySenders)
	})
}

func TestPublisher_refusesAPeerThatDoesNotSayHello(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1)})
		r := b.receiver(bus.ReceiverConfig{Tags: tags.Of(2)}, ignore)
		b.impostor(&stranger{}, "mute", tags.Of(3))
		s := b.subscriber(bus.SubscriberConfig{})
		_, err := s.Subscribe(tags.Of(3), ignore)
		must(t, err)
		backend, _ := b.stranger(&stranger{})
		must(t, backend.OpenEndpoint(p.Addr(), netio.Params{}))
		must(t, backend.OpenEndpoint(r.Addr(), netio.Params{}))
		time.Sleep(7 * time.Second)
		for _, m := range []*member{p.member, r.member, s.member} {
			wantCause(t, m, bus.ErrHelloTimeout)
		}
	})
}

// Messages that show only in the final positions have no other cause.
func TestSubscriber_reportsWhatIsMissingAtThePublishersEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		b.impostor(&stranger{answer: [][]byte{
			hello(t, subscription.Hello{Instance: "x", MaxMessageBytes: 1 << 14}),
			control(t, &subscription.Subscribed{ID: 1}),
			control(t, &subscription.Goodbye{List: listOf(1, 3)}),
		}}, "x", tags.Of(1))
		s := b.subscriber(bus.SubscriberConfig{})
		subscribe(t, s, tags.Of(1), ignore)
		time.Sleep(time.Second)
		gaps := s.of(bus.Gap)
		if len(gaps) != 1 || !errors.Is(gaps[0].Err, bus.ErrPublisherEnded) || gaps[0].Count != 3 {
			t.Errorf("got gaps %v, want one of 3 messages: %v", gaps, bus.ErrPublisherEnded)
		}
	})
}

func TestParsePolicy_refusesAPolicyThatIsNone(t *testing.T) {
	if _, err := bus.ParsePolicy("sometimes"); !errors.Is(err, bus.ErrPolicy) {
		t.Errorf("ParsePolicy: got error %v, want ErrPolicy", err)
	}
	cfg := bus.SubscriptionConfig{Policy: bus.Policy{Kind: bus.Sample}}
	if err := cfg.Validate(); !errors.Is(err, bus.ErrPolicy) || !errors.Is(err, bus.ErrInvalidConfig) {
		t.Errorf("Validate: got error %v, want ErrPolicy and ErrInvalidConfig", err)
	}
}

func TestSubscriber_namesADamagedPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		x := &stranger{answer: [][]byte{
			hello(t, subscription.Hello{Instance: "impostor", MaxMessageBytes: 1 << 14}),
			{1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0x80, 1},
		}}
		b.impostor(x, "impostor", tags.Of(1))
		s := b.subscriber(bus.SubscriberConfig{})
		_, err := s.Subscribe(tags.Of(1), ignore)
		must(t, err)
		time.Sleep(time.Second)
		synctest.Wait()
		named := slices.ContainsFunc(s.events, func(e bus.Event) bool {
			var damage *bus.PageError
			return errors.As(e.Err, &damage) && *damage == bus.PageError{Offset: 8, Reason: "tag cut off"} && errors.Is(e.Err, bus.ErrProtocol)
		})
		if !named {
			t.Errorf("got events %v, want a *PageError at byte 8", s.events)
		}
	})
}
