// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/netio"
	"tagbus/subscription"
	"tagbus/tags"
)

// A connection that asks for nothing, or for nothing any more, is ended.
func TestPublisher_endsAConnectionThatAsksForNothing(t *testing.T) {
	tests := []struct {
		name string
		ask  func(t *testing.T, ep netio.Endpoint)
		ends bool
	}{
		{"nothing but hello", func(*testing.T, netio.Endpoint) {}, true},
		{"beats", func(t *testing.T, ep netio.Endpoint) {
			for range 30 {
				if ep.SendCopy(0, nil, control(t, &subscription.Beat{})) != nil {
					return
				}
				time.Sleep(time.Second)
			}
		}, true},
		{"the end of what it never had", func(t *testing.T, ep netio.Endpoint) {
			for i := range 30 {
				if ep.SendCopy(0, nil, control(t, &subscription.Unsubscribe{ID: uint64(i + 1)})) != nil {
					return
				}
				time.Sleep(time.Second)
			}
		}, true},
		{"a subscription that it ends", func(t *testing.T, ep netio.Endpoint) {
			send(t, ep, &subscription.Subscribe{ID: 1, Set: setOf(t, 1)})
			send(t, ep, &subscription.Unsubscribe{ID: 1})
		}, true},
		{"a subscription", func(t *testing.T, ep netio.Endpoint) {
			send(t, ep, &subscription.Subscribe{ID: 1, Set: setOf(t, 1)})
		}, false},
		{"one of two subscriptions that ends", func(t *testing.T, ep netio.Endpoint) {
			send(t, ep, &subscription.Subscribe{ID: 1, Set: setOf(t, 1)})
			send(t, ep, &subscription.Subscribe{ID: 2, Set: setOf(t, 1)})
			send(t, ep, &subscription.Unsubscribe{ID: 1})
		}, false},
		{"a refused subscription, which is not asked for again", func(t *testing.T, ep netio.Endpoint) {
			send(t, ep, &subscription.Subscribe{ID: 1, Set: setOf(t, 1), Policy: "latest"})
		}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1), Sending: bus.Sending{Policies: []bus.PolicyKind{bus.Block}}})
				c := b.crowd(t)
				h, ep := c.come(p)
				test.ask(t, ep)
				time.Sleep(time.Minute)
				synctest.Wait()
				if got := h.closed > 0; got != test.ends {
					t.Errorf("closed: got %v, want %v; events %v", got, test.ends, p.events)
				}
				if test.ends {
					wantCause(t, p.member, bus.ErrNoSubscription)
				}
			})
		})
	}
}

// A subscriber that asks for tags gets in, however many connections from another host,
// or from its own, ask for nothing.
func TestPublisher_aFloodOfIdleConnectionsKeepsNoSubscriberOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 16
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1), MaxSubscribers: most})
		c := b.crowd(t)
		flood := func() {
			for range 3 * most {
				c.come(p)
			}
			synctest.Wait()
		}
		flood()
		honest := b.subscriber(bus.SubscriberConfig{})
		subscribe(t, honest, tags.Of(1), ignore)
		twin, _ := c.come(p, control(t, &subscription.Subscribe{ID: 1, Set: setOf(t, 1)}))
		flood()
		late := b.subscriber(bus.SubscriberConfig{})
		subscribe(t, late, tags.Of(1), ignore)
		flood()
		if lost := len(honest.of(bus.Lost)) + len(late.of(bus.Lost)); lost > 0 || twin.closed > 0 {
			t.Errorf("got %d connections of honest subscribers lost, and of one on the host of the flood %d, want none", lost, twin.closed)
		}
		if got := len(p.Stats().Subscribers); got > most {
			t.Errorf("got %d subscribers, want at most %d", got, most)
		}
		wantCause(t, p.member, bus.ErrGaveWay)
	})
}

// One host cannot take all places, even with subscriptions.
func TestPublisher_aHostHasAShareOfThePlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1), MaxSubscribers: 16})
		c := b.crowd(t)
		ask := control(t, &subscription.Subscribe{ID: 1, Set: setOf(t, 1)})
		for range 32 {
			c.come(p, ask)
			synctest.Wait()
		}
		if got := c.open(); got != 12 {
			t.Errorf("of one host: got %d connections, want 12, three quarters of 16", got)
		}
		wantCause(t, p.member, bus.ErrTooManySubscribers)
		for range 4 {
			subscribe(t, b.subscriber(bus.SubscriberConfig{}), tags.Of(1), ignore)
		}
	})
}

// On loopback there is no other host to leave room for.
func TestPublisher_loopbackMayTakeAllPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		b.host = netip.MustParseAddr("127.0.0.0")
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1), MaxSubscribers: 8})
		c := b.crowd(t)
		for range 8 {
			c.come(p, control(t, &subscription.Subscribe{ID: 1, Set: setOf(t, 1)}))
			synctest.Wait()
		}
		if got := c.open(); got != 8 {
			t.Errorf("got %d connections, want 8", got)
		}
	})
}

// A subscriber that connects again is not kept out by its own old connection.
func TestPublisher_aSubscriberThatComesBackTakesItsOldPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1), MaxSubscribers: 1, Common: bus.Common{HeartbeatTimeout: bus.HeartbeatsOff}})
		c := b.crowd(t)
		ask := control(t, &subscription.Subscribe{ID: 1, Set: setOf(t, 1)})
		old, _ := c.come(p, ask)
		synctest.Wait()
		again := newHand()
		again.answer = old.answer
		c.dial(p, again)
		synctest.Wait()
		if old.closed != 1 || again.closed != 0 {
			t.Errorf("closed: got %d times the old connection and %d the new one, want 1 and 0; events %v", old.closed, again.closed, p.events)
		}
	})
}

// Connections that say nothing have a bound of their own: the oldest give way.
func TestPublisher_silentConnectionsKeepNoSubscriberOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1), MaxSubscribers: 8})
		c := b.crowd(t)
		for range 1200 {
			c.dial(p, newHand())
		}
		synctest.Wait()
		if got := c.open(); got != 1024 {
			t.Errorf("got %d connections open that have not said hello, want 1024", got)
		}
		wantCause(t, p.member, bus.ErrGaveWay)
		subscribe(t, b.subscriber(bus.SubscriberConfig{}), tags.Of(1), ignore)
	})
}

// A sender that sends gets in, however many come from another host and send nothing.
func TestReceiver_aFloodOfSilentSendersKeepsNoSenderOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 16
		b := newBed(t)
		got := newCollector()
		r := b.receiver(bus.ReceiverConfig{Tags: tags.Of(1), MaxSenders: most}, got.handle)
		p := &publisher{member: r.member}
		c := b.crowd(t)
		c.at = r.Addr()
		flood := func() {
			for range 3 * most {
				h := newHand()
				h.answer = [][]byte{hello(t, subscription.Hello{
					Instance: fmt.Sprintf("s%d", len(c.hands)), Role: subscription.RoleSender, MaxMessageBytes: 1 << 20,
				})}
				c.dial(p, h)
			}
			synctest.Wait()
		}
		flood()
		s := b.sender(bus.SenderConfig{Tags: tags.Of(1)})
		must(t, s.SendContext(t.Context(), 1, []byte("x")))
		time.Sleep(time.Second)
		flood()
		must(t, s.SendContext(t.Context(), 1, []byte("y")))
		time.Sleep(time.Second)
		if got.count() != 2 || len(s.of(bus.Lost)) > 0 {
			t.Errorf("got %d messages of 2; events of the sender %v", got.count(), s.events)
		}
		if open := c.open(); open > most {
			t.Errorf("got %d connections open, want at most %d", open, most)
		}
		wantCause(t, r.member, bus.ErrGaveWay)
	})
}

func TestPublisherConfig_Validate_theLimitsOfStrangersAreChecked(t *testing.T) {
	err := bus.PublisherConfig{Tags: tags.Of(1), MaxSubscribersPerHost: -1}.Validate()
	for _, field := range []string{"MaxSubscribersPerHost"} {
		if !errors.Is(err, bus.ErrInvalidConfig) || !strings.Contains(err.Error(), field) {
			t.Errorf("got %v, want %s named", err, field)
		}
	}
}

// A connection that claims to be a subscriber of another host, and is refused, frees the
// place of none: otherwise a peer with two addresses never runs out of places.
func TestPublisher_aRefusedNewcomerFreesNoPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		const most, share = 8, 6
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1), MaxSubscribers: most})
		ask := control(t, &subscription.Subscribe{ID: 1, Set: setOf(t, 1)})
		one, two := b.crowd(t), b.crowd(t)
		for range share {
			one.come(p, ask)
		}
		synctest.Wait()
		for range 3 {
			two.come(p, ask)
			synctest.Wait()
			for _, h := range two.hands {
				claim := newHand() // of the same instance
				claim.answer = h.answer[:1]
				one.dial(p, claim)
				synctest.Wait()
			}
		}
		if got := len(p.Stats().Subscribers); got > most {
			t.Errorf("got %d subscribers, want at most %d", got, most)
		}
	})
}
