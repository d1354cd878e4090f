// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/internal/testkit"
	"tagbus/subscription"
	"tagbus/tags"
)

// crowded opens a publisher of tag 1 with so many subscribers, which say nothing.
func (b *bed) crowded(t *testing.T, subscribers int) *publisher {
	t.Helper()
	p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1)})
	b.crowdAt(t, p, subscribers)
	return p
}

func (b *bed) crowdAt(t *testing.T, p *publisher, subscribers int) {
	t.Helper()
	c, wish := b.crowd(t), control(t, &subscription.Subscribe{ID: 1, Set: setOf(t, 1)})
	for range subscribers {
		c.come(p, wish)
	}
	synctest.Wait()
}

// beats counts the transport messages between a publisher and subscribers from now on.
func (b *bed) beats(p *publisher, members ...*member) func() (fromPub, fromSub []uint64) {
	count := func(from, to *member) uint64 { return b.net.Traffic(anyPort(from.host), anyPort(to.host)).Messages }
	var before []uint64
	for _, m := range members {
		before = append(before, count(p.member, m), count(m, p.member))
	}
	return func() (fromPub, fromSub []uint64) {
		for i, m := range members {
			fromPub = append(fromPub, count(p.member, m)-before[2*i])
			fromSub = append(fromSub, count(m, p.member)-before[2*i+1])
		}
		return fromPub, fromSub
	}
}

// The thousandth connection has a beat in 8 s in each direction, the first one goes on as
// it began. No idle connection ends, and a silent one ends after three intervals.
func TestPublisher_beatsLessOftenWhenCrowded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		last := b.hearing()
		p, first, _ := b.pair(bus.PublisherConfig{}, bus.SubscriberConfig{}, ignore)
		b.crowdAt(t, p, 998)
		late, mute := b.subscriber(bus.SubscriberConfig{}), b.subscriber(bus.SubscriberConfig{Common: bus.Common{HeartbeatInterval: bus.HeartbeatsOff}})
		slow := b.subscriber(bus.SubscriberConfig{Common: bus.Common{HeartbeatInterval: 15 * time.Second}})
		for _, s := range []*subscriber{late, mute, slow} {
			subscribe(t, s, tags.Of(1), ignore)
		}
		synctest.Wait()
		members := []*member{first.member, late.member, mute.member, slow.member}
		counts := b.beats(p, members...)
		minutes := testkit.Fewer(16)
		time.Sleep(time.Duration(minutes) * time.Minute)
		synctest.Wait()
		fromPub, fromSub := counts()
		often, seldom, slowly := uint64(minutes)*60/2, uint64(minutes)*60/8, uint64(minutes)*60/15
		for i, want := range [][2]uint64{{often, often}, {seldom, seldom}, {seldom, 0}, {seldom, slowly}} {
			for side, got := range []uint64{fromPub[i], fromSub[i]} {
				if want := want[side]; got > want || got < want-want/8 { // in whole ticks
					t.Errorf("connection %d, side %d: got %d beats, want %d", i, side, got, want)
				}
			}
		}
		for _, m := range append(members, p.member) {
			if lost := m.of(bus.Lost); len(lost) > 0 {
				t.Fatalf("got %v, want nothing lost", lost)
			}
		}
		b.net.Partition(anyPort(late.host), anybody)
		time.Sleep(5 * time.Millisecond)
		heard := last(late.host)
		time.Sleep(time.Minute)
		synctest.Wait()
		checkSilence(t, "subscriber", late.member, heard, span{24 * time.Second, 24500 * time.Millisecond}, late.Stats().Silent)
		e, _ := p.first(bus.Lost)
		if silent := (*bus.SilentError)(nil); !errors.As(e.Err, &silent) || silent.Limit < 24*time.Second || silent.For > 25*time.Second {
			t.Errorf("at the publisher: got %v, want a silence of 24 s", e)
		}
	})
}

// A subscriber that knows nothing of crowds beats as often as it promises, or more
// seldom, and stays. Its silence is found out like that of others.
func TestPublisher_aSubscriberMayIgnoreTheCrowd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.crowded(t, 999)
		h := newHand()
		h.answer = [][]byte{
			hello(t, subscription.Hello{Instance: "old", MaxMessageBytes: 1 << 30, BeatMillis: 2000}),
			control(t, &subscription.Subscribe{ID: 1, Set: setOf(t, 1)}),
		}
		backend, _ := b.stranger(h)
		ep := h.connect(t, backend, p)
		synctest.Wait()
		if got, err := subscription.DecodeHello(h.got[0]); err != nil || got.BeatMillis != 8000 {
			t.Errorf("got hello %+v and error %v, want beats every 8 s", got, err)
		}
		for range 100 {
			time.Sleep(2 * time.Second)
			send(t, ep, &subscription.Beat{})
		}
		if h.ended() {
			t.Fatalf("got the end, %v, while it beats", h.cause)
		}
		time.Sleep(24 * time.Second)
		if h.ended() {
			t.Errorf("got the end, %v, before three intervals", h.cause)
		}
		time.Sleep(time.Second)
		if !h.ended() {
			t.Error("a silent subscriber: got no end after three intervals")
		}
	})
}

// A side that dials follows a peer that beats more seldom. The least patient peer, which
// may not know that, hears enough: of two of its own intervals, it waits for that long.
func TestPublisher_theLeastPatientPeerIsFollowed(t *testing.T) {
	for _, every := range []time.Duration{2100 * time.Millisecond, 5 * time.Second, 25 * time.Second, 40 * time.Second, time.Hour} {
		for _, interval := range []time.Duration{0, every * 9 / 10} {
			t.Run(every.String()+", "+interval.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b := newBed(t)
					p, sub, _ := b.pair(bus.PublisherConfig{Common: bus.Common{HeartbeatInterval: every, HeartbeatTimeout: 2 * every}}, bus.SubscriberConfig{Common: bus.Common{HeartbeatInterval: interval}}, ignore)
					r := b.receiver(bus.ReceiverConfig{Tags: tags.Of(1), Common: bus.Common{HeartbeatInterval: every, HeartbeatTimeout: 2 * every}}, ignore)
					s := b.sender(bus.SenderConfig{Common: bus.Common{HeartbeatInterval: interval}})
					must(t, s.SendContext(t.Context(), 1, nil))
					time.Sleep(time.Duration(testkit.Fewer(20)) * every)
					synctest.Wait()
					for _, m := range []*member{p.member, sub.member, r.member, s.member} {
						if lost := m.of(bus.Lost); len(lost) > 0 {
							t.Errorf("got %v, want nothing lost", lost)
						}
					}
				})
			})
		}
	}
}

// Strangers that only connect are no crowd.
func TestPublisher_strangersAreNoCrowd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1)})
		c := b.crowd(t)
		for range 999 {
			c.dial(p, newHand())
		}
		honest := newHand()
		honest.answer = [][]byte{hello(t, subscription.Hello{Instance: "honest", MaxMessageBytes: 1 << 30})}
		other, _ := b.stranger(honest)
		honest.connect(t, other, p)
		synctest.Wait()
		got, err := subscription.DecodeHello(honest.got[0])
		if err != nil || got.BeatMillis != 2000 {
			t.Errorf("got hello %+v and error %v, want beats every 2 s", got, err)
		}
	})
}
