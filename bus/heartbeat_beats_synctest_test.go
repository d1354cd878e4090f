// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tagbus/bus"
	"tagbus/tags"
)

// An idle connection stays, and costs a beat per interval in each direction.
func TestPublisher_anIdleConnectionStays(t *testing.T) {
	tests := []struct {
		name             string
		pub, sub         time.Duration // interval
		fromPub, fromSub uint64        // beats in an hour
	}{
		{"the default", 0, 0, 1800, 1800},
		{"a slow subscriber and a quick publisher", 500 * time.Millisecond, 10 * time.Second, 7200, 360},
		{"a publisher that beats every 8 s, which the subscriber follows", 8 * time.Second, 0, 450, 450},
		{"a publisher that beats once in a quarter of an hour", 15 * time.Minute, 0, 4, 120},
		{"a publisher without beats", bus.HeartbeatsOff, 0, 0, 1800},
		{"a subscriber without beats", 0, bus.HeartbeatsOff, 1800, 0},
		{"both without beats", bus.HeartbeatsOff, bus.HeartbeatsOff, 0, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				p, s, _ := b.pair(bus.PublisherConfig{Common: bus.Common{HeartbeatInterval: test.pub}}, bus.SubscriberConfig{Common: bus.Common{HeartbeatInterval: test.sub}}, ignore)
				synctest.Wait()
				traffic := func() (fromPub, fromSub uint64) {
					return b.net.Traffic(anyPort(p.host), anyPort(s.host)).Messages, b.net.Traffic(anyPort(s.host), anyPort(p.host)).Messages
				}
				fromPub, fromSub := traffic()
				time.Sleep(time.Hour)
				synctest.Wait()
				afterPub, afterSub := traffic()
				if d := afterPub - fromPub; d+1 < test.fromPub || d > test.fromPub {
					t.Errorf("publisher: got %d beats in an hour, want %d", d, test.fromPub)
				}
				if d := afterSub - fromSub; d+1 < test.fromSub || d > test.fromSub {
					t.Errorf("subscriber: got %d beats in an hour, want %d", d, test.fromSub)
				}
				if len(p.of(bus.Lost))+len(s.of(bus.Lost)) > 0 {
					t.Errorf("events: publisher %v, subscriber %v", p.events, s.events)
				}
			})
		})
	}
}

// While a peer does not read, beats for it do not pile up.
func TestPublisher_beatsDoNotPileUp(t *testing.T) {
	for _, who := range []string{"the subscriber", "the publisher"} {
		t.Run(who+" does not read", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				p, s, _ := b.pair(bus.PublisherConfig{Common: bus.Common{HeartbeatTimeout: time.Hour}}, bus.SubscriberConfig{Common: bus.Common{HeartbeatTimeout: time.Hour}}, ignore)
				deaf, other := p.member, s.member
				if who == "the subscriber" {
					deaf, other = other, deaf
				}
				b.net.SetWindow(anybody, anyPort(deaf.host), 1)
				before := b.net.Traffic(anyPort(other.host), anyPort(deaf.host)).Messages
				deaf.loop.Freeze()
				time.Sleep(30 * time.Minute)
				deaf.loop.Thaw()
				time.Sleep(time.Second)
				synctest.Wait()
				if got := b.net.Traffic(anyPort(other.host), anyPort(deaf.host)).Messages - before; got == 0 || got > 6 {
					t.Errorf("got %d beats after half an hour, want 1 to 6", got)
				}
			})
		})
	}
}

// A publisher that has something to say does not beat.
func TestPublisher_messagesStandForBeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p, s, _ := b.pair(bus.PublisherConfig{}, bus.SubscriberConfig{}, ignore)
		time.Sleep(1900 * time.Millisecond)
		before := b.net.Traffic(anyPort(p.host), anyPort(s.host)).Messages
		for range 1000 {
			must(t, p.Publish(1, nil))
			time.Sleep(1900 * time.Millisecond)
		}
		synctest.Wait()
		if got := b.net.Traffic(anyPort(p.host), anyPort(s.host)).Messages - before; got > 1001 {
			t.Errorf("got %d transport messages for 1000 published, 1.9 s apart, want no beats between", got)
		}
	})
}

// Switched off, beats are neither sent nor missed.
func TestPublisher_heartbeatsCanBeSwitchedOff(t *testing.T) {
	tests := []struct {
		name                 string
		pub                  bus.PublisherConfig
		sub                  bus.SubscriberConfig
		lostAtPub, lostAtSub bool // after a minute's cut
	}{
		{"off at both", bus.PublisherConfig{Common: bus.Common{HeartbeatInterval: -1}}, bus.SubscriberConfig{Common: bus.Common{HeartbeatInterval: -1}}, false, false},
		{"off at the publisher", bus.PublisherConfig{Common: bus.Common{HeartbeatInterval: -1}}, bus.SubscriberConfig{}, false, false},
		{"off at the subscriber", bus.PublisherConfig{}, bus.SubscriberConfig{Common: bus.Common{HeartbeatInterval: -1}}, false, false},
		{"a publisher that only sends", bus.PublisherConfig{Common: bus.Common{HeartbeatTimeout: -1}}, bus.SubscriberConfig{}, false, true},
		{"a subscriber that only sends", bus.PublisherConfig{}, bus.SubscriberConfig{Common: bus.Common{HeartbeatTimeout: -1}}, true, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				p, s, _ := b.pair(test.pub, test.sub, ignore)
				b.net.Partition(anyPort(p.host), anyPort(s.host))
				time.Sleep(time.Minute)
				synctest.Wait()
				if pub, sub := len(p.of(bus.Lost)) > 0, len(s.of(bus.Lost)) > 0; pub != test.lostAtPub || sub != test.lostAtSub {
					t.Errorf("lost at the publisher: got %v, want %v; at the subscriber: got %v, want %v", pub, test.lostAtPub, sub, test.lostAtSub)
				}
			})
		})
	}
}

// The longer interval of a peer lengthens the timeout of this peer, and of no other.
func TestPublisher_aPeerMayBeatMoreSlowly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p, _, _ := b.pair(bus.PublisherConfig{Common: bus.Common{HeartbeatInterval: 100 * time.Millisecond, HeartbeatTimeout: time.Second}},
			bus.SubscriberConfig{Common: bus.Common{HeartbeatInterval: 5 * time.Second}}, ignore)
		quick := b.subscriber(bus.SubscriberConfig{Common: bus.Common{HeartbeatInterval: 200 * time.Millisecond, HeartbeatTimeout: time.Second}})
		subscribe(t, quick, tags.Of(1), ignore)
		time.Sleep(time.Minute)
		b.net.Partition(anyPort(p.host), anybody)
		time.Sleep(time.Minute)
		synctest.Wait()
		var limits []time.Duration
		for _, e := range p.of(bus.Lost) {
			var silent *bus.SilentError
			if errors.As(e.Err, &silent) {
				limits = append(limits, silent.Limit)
			}
		}
		if d := cmp.Diff([]time.Duration{time.Second, 15 * time.Second}, limits); d != "" {
			t.Errorf("limits of silence (-want +got):\n%s", d)
		}
	})
}
