// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"errors"
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

// Users lost a publisher for ever after another one answered, a single time, at one
// of its addresses.
func TestSubscriber_triesAnAddressOfAnotherInstanceAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		other := b.publisher(bus.PublisherConfig{Tags: tags.Of(2)})
		dir := &keeper{Directory: b.dir}
		p, _ := b.openPublisher(dir, bus.PublisherConfig{Tags: tags.Of(1)})
		dir.entry.Addresses = append(dir.entry.Addresses, other.Addr())
		must(t, dir.registration.Update(dir.entry))
		s := b.subscriber(bus.SubscriberConfig{})
		c := newCollector()
		subscribe(t, s, tags.Of(1), c.handle)
		b.net.Refuse(p.Addr()) // for a second
		b.net.Reset(p.Addr(), anyPort(s.host))
		time.Sleep(time.Second)
		b.net.Admit(p.Addr())
		time.Sleep(time.Minute)
		must(t, p.Publish(1, nil))
		time.Sleep(time.Second)
		if c.count() != 1 {
			t.Errorf("a minute after the publisher was back: got %d messages, want 1; events %v", c.count(), s.events)
		}
	})
}

// Users' logs filled up with the same refusal, at every try.
func TestSubscriber_reportsARefusalOnce(t *testing.T) {
	tests := []struct {
		name string
		then func(*bed, *publisher)
		want string
	}{
		{"a publisher that cannot be reached", func(b *bed, p *publisher) { b.net.Refuse(p.Addr()) }, "refused"},
		{"a stale entry", func(b *bed, p *publisher) {
			entries, err := b.dir.List()
			must(b.tb, err)
			must(b.tb, p.Drain(b.tb.Context()))
			entries[0].Instance = "copy"
			entries[0].Addresses[0] = b.publisher(bus.PublisherConfig{Tags: tags.Of(9)}).Addr()
			_, err = b.dir.Announce(entries[0])
			must(b.tb, err)
		}, "stale"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				test.then(b, b.publisher(bus.PublisherConfig{Tags: tags.Of(1)}))
				s := b.subscriber(bus.SubscriberConfig{})
				_, err := s.Subscribe(tags.Of(1), func(bus.Message) {})
				must(t, err)
				time.Sleep(10 * time.Minute)
				synctest.Wait()
				if len(s.events) != 1 || s.events[0].Kind != bus.Refused || !strings.Contains(s.events[0].String(), test.want) {
					t.Errorf("events of ten minutes: got %d: %v..., want one refusal with %q", len(s.events), s.events[:min(3, len(s.events))], test.want)
				}
			})
		})
	}
}

// Users who closed a subscription while its publisher was being dialed kept an
// idle connection for ever.
func TestSubscriber_closesAnUnneededConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1)})
		s := b.subscriber(bus.SubscriberConfig{})
		b.net.SetDelay(anyPort(s.host), anybody, 10*time.Millisecond)
		sub, err := s.Subscribe(tags.Of(1), func(bus.Message) {})
		must(t, err)
		time.Sleep(time.Millisecond) // it is dialing
		must(t, sub.Close())
		time.Sleep(time.Minute)
		if got := len(p.Stats().Subscribers); got != 0 {
			t.Errorf("a minute after the only subscription was closed: got %d connections, want 0", got)
		}
	})
}

// Users whose subscriber could not have a timer saw it crash at its first
// connection.
func TestNewSubscriber_withoutATimerIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		m := b.member()
		t.Cleanup(m.loop.Close)
		open := func(h netio.Handler) (netio.Backend, error) {
			backend, err := b.opener(m)(h)
			return withLoop{backend, loopWithoutTimers{m.loop}}, err
		}
		s, err := bus.NewSubscriber(open, b.dir, bus.SubscriberConfig{})
		if !errors.Is(err, errNoTimer) {
			t.Errorf("got %v, want %v", err, errNoTimer)
		}
		if err == nil {
			s.Close()
		}
	})
}

var errNoTimer = errors.New("too many open files")

type loopWithoutTimers struct{ netio.Loop }

func (loopWithoutTimers) NewTimer(func()) (netio.Timer, error) { return nil, errNoTimer }

type withLoop struct {
	netio.Backend
	loop netio.Loop
}

func (b withLoop) Loop() netio.Loop { return b.loop }

// Users lost the connection for all their subscriptions, again and again, over
// one whose set was too large.
func TestSubscriber_Subscribe_aSetTooLargeCostsOthersNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		b.publisher(bus.PublisherConfig{Tags: tags.Everything()})
		s := b.subscriber(bus.SubscriberConfig{})
		subscribe(t, s, tags.Of(1), func(bus.Message) {})
		many := make([]tags.Tag, 500_000) // above 4 MiB
		for i := range many {
			many[i] = tags.Tag(i+1) << 44
		}
		if _, err := s.Subscribe(tags.Of(many...), func(bus.Message) {}); !errors.Is(err, subscription.ErrTooManyTags) {
			t.Errorf("got %v, want ErrTooManyTags", err)
		}
		time.Sleep(time.Minute)
		if got := s.of(bus.Lost); len(got) > 0 {
			t.Errorf("the connection broke %d times: %v", len(got), got[0])
		}
	})
}

// Users of a broken publisher were told that it had closed the connection, not
// what this side had found wrong.
func TestSubscriber_lostNamesWhatThisSideFoundWrong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		good := subscription.Hello{Instance: "stranger", MaxMessageBytes: 1 << 30}
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1)})
		s := b.subscriber(bus.SubscriberConfig{})
		_, err := s.Subscribe(tags.Of(2), func(bus.Message) {})
		must(t, err)
		b.impostor(&stranger{answer: [][]byte{hello(t, good), {0x77}}}, good.Instance, tags.Of(2))
		backend, _ := b.stranger(&stranger{answer: [][]byte{hello(t, good), control(t, &subscription.Subscribed{ID: 1})}})
		must(t, backend.OpenEndpoint(p.Addr(), netio.Params{}))
		time.Sleep(time.Second)
		for name, m := range map[string]*member{"publisher": p.member, "subscriber": s.member} {
			if lost := m.of(bus.Lost); len(lost) == 0 || !errors.Is(lost[0].Err, bus.ErrProtocol) {
				t.Errorf("%s: got %v, want the protocol violation", name, lost)
			}
		}
	})
}

// Users' subscribers could be made to remember any number of tags by a
// publisher that named them unasked.
func TestSubscriber_disconnectsAPublisherThatNamesUnaskedTags(t *testing.T) {
	list := subscription.AppendPosition(nil, 0, subscription.Position{Tag: 9, Count: 1})
	tests := []struct {
		name string
		send func(t *testing.T) []byte
	}{
		{"in a page", func(*testing.T) []byte {
			return []byte{1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0x80, 9, 0, 0, 0, 0, 0, 0, 0, 'x'}
		}},
		{"in positions", func(t *testing.T) []byte { return control(t, &subscription.Positions{ID: 1, List: list}) }},
		{"in a goodbye", func(t *testing.T) []byte { return control(t, &subscription.Goodbye{List: list}) }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				flooder := &stranger{answer: [][]byte{
					hello(t, subscription.Hello{Instance: "flooder", MaxMessageBytes: 1 << 14}),
					control(t, &subscription.Subscribed{ID: 1}),
					test.send(t),
				}}
				b.impostor(flooder, "flooder", tags.Of(1, 9))
				s := b.subscriber(bus.SubscriberConfig{})
				_, err := s.Subscribe(tags.Of(1), func(bus.Message) {})
				must(t, err)
				time.Sleep(50 * time.Millisecond) // before the next try
				synctest.Wait()
				wantEvent(t, s.member, "was not asked for")
				if flooder.closed != 1 {
					t.Errorf("the connection was closed %d times, want once", flooder.closed)
				}
			})
		})
	}
}

// Users were told that a publisher had vanished with messages of theirs long
// after they had unsubscribed from it.
func TestSubscriber_aPublisherThatOwesNothingDoesNotVanish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1)})
		s := b.subscriber(bus.SubscriberConfig{})
		sub := subscribe(t, s, tags.Of(1), func(bus.Message) {})
		must(t, sub.Unsubscribe(t.Context()))
		time.Sleep(time.Minute)
		must(t, p.Drain(t.Context()))
		must(t, p.Close())
		time.Sleep(time.Minute)
		if got := s.of(bus.Vanished); len(got) > 0 {
			t.Errorf("after unsubscribing: got %v", s.events)
		}
	})
}

// Users were not told what they had missed when a publisher was gone from the
// directory for a while and came back.
func TestSubscriber_aPublisherThatComesBackOwesWhatWasMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		dir := &keeper{Directory: b.dir}
		p, m := b.openPublisher(dir, bus.PublisherConfig{Tags: tags.Of(1)})
		s := b.subscriber(bus.SubscriberConfig{})
		subscribe(t, s, tags.Of(1), func(bus.Message) {})
		must(t, p.Publish(1, nil))
		time.Sleep(time.Second)
		b.net.Refuse(p.Addr())
		b.net.Reset(anyPort(m.host), anyPort(s.host))
		dir.Expire(p.Instance(), directory.ErrExpired)
		time.Sleep(time.Minute)
		for range 5 {
			must(t, p.Publish(1, nil))
		}
		b.net.Admit(p.Addr())
		must(t, dir.registration.Update(dir.entry))
		time.Sleep(time.Minute)
		if got := gaps(s.member)[1]; got != 5 {
			t.Errorf("the same publisher is back: gaps of %d messages, want 5; events %v", got, s.events)
		}
	})
}

// A publisher that is full was reported, with a connection and its loss, at
// every try.
func TestSubscriber_aFullPublisherRefusesOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		b.publisher(bus.PublisherConfig{Tags: tags.Of(1), MaxSubscribers: 1})
		subscribe(t, b.subscriber(bus.SubscriberConfig{}), tags.Of(1), func(bus.Message) {})
		s := b.subscriber(bus.SubscriberConfig{})
		_, err := s.Subscribe(tags.Of(1), func(bus.Message) {})
		must(t, err)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if len(s.events) != 1 || s.events[0].Kind != bus.Refused {
			t.Errorf("got %d events, want one refusal: %.500v", len(s.events), s.events)
		}
	})
}
