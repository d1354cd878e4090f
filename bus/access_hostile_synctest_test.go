// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/bus/state"
	"tagbus/subscription"
	"tagbus/tags"
)

// TestAccess_aSubscriptionMadeLaterIsRefusedToo: on a connection that stands.
func TestAccess_aSubscriptionMadeLaterIsRefusedToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		x := b.site(halves)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1, 2, 3, 4), Common: bus.Common{
			Access: x.as("uri:spiffe://cern.ch/daq/felix-07"),
		}})
		s := b.subscriber(bus.SubscriberConfig{Common: bus.Common{
			Access: x.as("uri:spiffe://cern.ch/dcs/hv"),
		}})
		sub := subscribe(t, s, tags.Of(1), func(bus.Message) {})
		_, err := s.Subscribe(tags.Of(3), func(m bus.Message) { t.Errorf("got %v, want nothing", m) })
		must(t, err)
		must(t, sub.Add(tags.Of(4)))
		synctest.Wait()
		for _, tag := range []tags.Tag{3, 4} {
			s.wantRefused(t, fmt.Sprintf("dcs/hv may not subscribe to %v", tag))
			p.wantRefused(t, fmt.Sprintf("dcs/hv may not subscribe to %v", tag))
		}
	})
}

// TestAccess_aPeerMayNotTakeTheInstanceOfAnother: it would end the connection of the other one.
func TestAccess_aPeerMayNotTakeTheInstanceOfAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		x := b.site(`{"rules":[{"who": "cn:p", "publish": "1"}, {"who": "cn:s", "subscribe": "1"}, {"who": "cn:rogue", "subscribe": "1"}]}`)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1), Common: bus.Common{Access: x.as("cn:p")}})
		s := b.subscriber(bus.SubscriberConfig{Common: bus.Common{Access: x.as("cn:s")}})
		subscribe(t, s, tags.Of(1), func(bus.Message) {})
		x.as("cn:rogue")
		r := x.dials(t, p, subscription.Hello{Instance: s.Instance(), MaxMessageBytes: 2 << 20})
		if len(r.got) != 1 || !strings.Contains(string(r.got[0]), "another peer has this instance") {
			t.Errorf("got %q, want a refusal", r.got)
		}
		if n := len(s.of(bus.Lost)); n > 0 {
			t.Errorf("got %d lost connections of the honest one, want 0: %v", n, s.events)
		}
	})
}

// A state that names few peers names those that lack tags before those with which nothing is wrong: else a
// tool that asks for few does not see them.
func TestAccess_aStateNamesAPeerThatLacksTagsFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		x := b.site(`{"rules":[{"who": "cn:p", "publish": "*"}, {"who": "cn:s", "subscribe": "1"}]}`)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1, 2), Common: bus.Common{Access: x.as("cn:p")}})
		var lacks string
		for i := range 16 { // in the order of their instances, which are random, it is the first in one of 16 runs
			s, wanted := b.subscriber(bus.SubscriberConfig{Common: bus.Common{Access: x.as("cn:s")}}), tags.Of(1)
			if i == 7 {
				wanted, lacks = tags.Of(1, 2), s.Instance()
			}
			_, err := s.Subscribe(wanted, func(bus.Message) {})
			must(t, err)
		}
		time.Sleep(time.Second)
		st, err := p.State(t.Context(), state.Question{Peers: 1})
		must(t, err)
		if st.Connected != 16 || len(st.Peers) != 1 || st.Peers[0].Instance != lacks || st.Peers[0].Denied == "" {
			t.Errorf("got peers %+v of %d, want the one that lacks a tag", st.Peers, st.Connected)
		}
	})
}

// A peer that may have nothing of what it wants would only come again: it stays, from the start or
// after the policy has taken its last tag, and is told when it may have something.
func TestAccess_aPeerThatMayHaveNothingStays(t *testing.T) {
	const none = `{"rules":[{"who": "cn:p", "publish": "*"}, {"who": "cn:s", "subscribe": "9"}]}`
	const some = `{"rules":[{"who": "cn:p", "publish": "*"}, {"who": "cn:s", "subscribe": "1,9"}]}`
	for name, begin := range map[string]string{"from the start": none, "later": some} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				x := b.site(begin)
				p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1), Common: bus.Common{Access: x.as("cn:p")}})
				got := newCollector()
				s := b.subscriber(bus.SubscriberConfig{Common: bus.Common{Access: x.as("cn:s")}})
				_, err := s.Subscribe(tags.Of(1), got.handle)
				must(t, err)
				time.Sleep(time.Second)
				x.change(none)
				time.Sleep(time.Minute)
				p.wantRefused(t, "cn:s may not subscribe to 0x0000000000000001")
				denied := func(want string) {
					t.Helper()
					st, err := p.State(t.Context(), state.Question{Peers: 1})
					must(t, err)
					if len(st.Peers) != 1 || st.Peers[0].Denied != want {
						t.Errorf("got peers %+v, want one that is denied %q", st.Peers, want)
					}
				}
				denied("0x0000000000000001")
				x.change(some)
				denied("")
				publishEach(t, p, 1)
				if n := len(got.data[1]); n != 1 {
					t.Errorf("got %d messages, want that of the time in which it may", n)
				}
				for who, m := range map[string]*member{"publisher": p.member, "subscriber": s.member} {
					if lost := m.of(bus.Lost); len(lost) > 0 {
						t.Errorf("%s: got %d lost connections, want none: %v", who, len(lost), lost)
					}
				}
			})
		})
	}
}

// TestAccess_deniedAgainAndAgain: a subscriber says that it misses other tags each time.
func TestAccess_deniedAgainAndAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		x := b.site(`{"rules":[{"who": "cn:p", "publish": "*"}, {"who": "cn:rogue", "subscribe": "1"}]}`)
		all, err := tags.Range(0, 1<<20)
		must(t, err)
		p := b.publisher(bus.PublisherConfig{Tags: all, Common: bus.Common{Access: x.as("cn:p")}})
		x.as("cn:rogue")
		r := x.dials(t, p, subscription.Hello{Instance: "rogue", MaxMessageBytes: 2 << 20})
		const most = 5000
		for i := range most {
			set, err := tags.Of(tags.Tag(2 + i)).MarshalBinary()
			must(t, err)
			r.send(control(t, &subscription.Denied{Set: set}))
			synctest.Wait()
		}
		if n := len(p.of(bus.Refused)); n == 0 || n > 100 {
			t.Errorf("got %d events of %d refusals, want some", n, most)
		}
		if n := len(p.of(bus.Lost)); n != 0 {
			t.Errorf("got %d ends, want 0: it may say so: %v", n, p.of(bus.Lost))
		}
	})
}

// A sender of which the policy of the receiver takes a tag waits for a receiver of it. The receiver says so.
func TestAccess_aReceiverTellsOfTagsThatMayNotBeSentAnyMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		x := b.site(`{"rules":[{"who": "cn:r", "receive": "*"}, {"who": "cn:s", "send": "1-2"}]}`)
		r := b.receiver(bus.ReceiverConfig{Tags: tags.Of(1, 2), Common: bus.Common{Access: x.as("cn:r")}}, func(bus.Message) {})
		s := b.sender(bus.SenderConfig{Tags: tags.Of(1, 2), Common: bus.Common{Access: x.as("cn:s")}})
		synctest.Wait()
		must(t, s.Send(2, []byte("x")))
		x.change(`{"rules":[{"who": "cn:r", "receive": "*"}, {"who": "cn:s", "send": "1"}]}`)
		time.Sleep(time.Second)
		if err := s.Send(2, []byte("x")); !errors.Is(err, bus.ErrNoReceiver) {
			t.Errorf("got error %v, want ErrNoReceiver", err)
		}
		r.wantRefused(t, "cn:s may not send 0x0000000000000002")
		st, err := r.State(t.Context(), state.Question{Peers: 1})
		must(t, err)
		if len(st.Peers) != 1 || st.Peers[0].Denied != "0x0000000000000002" {
			t.Errorf("got peers %+v, want one that may not send a tag", st.Peers)
		}
	})
}
