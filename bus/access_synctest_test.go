// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/identity"
	"tagbus/internal/testkit/pki"
	"tagbus/tags"
)

const halves = `{"rules":[
	{"who": "uri:spiffe://cern.ch/daq/*", "publish": "1-4"},
	{"who": "uri:spiffe://cern.ch/dcs/*", "subscribe": "1-2"}
]}`

// publishEach publishes a message of each tag.
func publishEach(t *testing.T, p *publisher, list ...tags.Tag) {
	t.Helper()
	for _, tag := range list {
		must(t, p.Publish(tag, []byte("x")))
	}
	p.Flush()
	synctest.Wait()
}

func TestAccess_aPeerGetsWhatThePolicyAllows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		x := b.site(halves)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1, 2, 3, 4), Common: bus.Common{
			Access: x.as("uri:spiffe://cern.ch/daq/felix-07"),
		}, Sending: bus.Sending{CacheMessages: 3}})
		publishEach(t, p, 1, 2, 3, 4) // kept, and replayed to a subscriber that may have it
		half := b.subscriber(bus.SubscriberConfig{Common: bus.Common{
			Access: x.as("uri:spiffe://cern.ch/dcs/hv"),
		}})
		got := newCollector()
		_, err := half.SubscribeWith(tags.Of(1, 2, 3, 4), got.handle, bus.SubscriptionConfig{Replay: 3})
		must(t, err)
		none := b.subscriber(bus.SubscriberConfig{Common: bus.Common{Access: x.as("cn:stranger")}})
		_, err = none.Subscribe(tags.Of(1, 2, 3, 4), func(m bus.Message) { t.Errorf("got %v, want nothing", m) })
		must(t, err)
		anonymous := b.subscriber(bus.SubscriberConfig{Common: bus.Common{Access: x.as("")}})
		_, err = anonymous.Subscribe(tags.Of(1), func(m bus.Message) { t.Errorf("got %v, want nothing", m) })
		must(t, err)
		synctest.Wait()
		publishEach(t, p, 1, 2, 3, 4)
		for tag, want := range map[tags.Tag]int{1: 2, 2: 2, 3: 0, 4: 0} {
			if n := len(got.data[tag]); n != want {
				t.Errorf("got %d messages of tag %v, want %d", n, tag, want)
			}
		}
		if lost := half.Stats().Lost; lost != 0 {
			t.Errorf("got %d lost messages, want 0: what is not allowed is not lost", lost)
		}
		e := half.wantRefused(t, "uri:spiffe://cern.ch/dcs/hv may not subscribe to 0x0000000000000003-0x0000000000000004")
		if strings.Contains(e.Err.Error(), "daq") {
			t.Errorf("got %v at the subscriber, want nothing of other rules", e.Err)
		}
		e = p.wantRefused(t, "dcs/hv may not subscribe to ")
		if refused := wantAccessError(t, e); !refused.Tags.Equal(tags.Of(3, 4)) || refused.Rule == "" {
			t.Errorf("got %+v, want the tags, and what is nearest", refused)
		}
		for name, m := range map[string]*member{"cn:stranger": none.member, "anonymous": anonymous.member} {
			if m.kinds(); len(m.of(bus.Connected)) > 0 {
				t.Errorf("%s: got %v, want no connection", name, m.events)
			}
			if e := m.wantRefused(t, name+" may not subscribe to anything here"); !errors.Is(e.Err, bus.ErrNotAllowed) {
				t.Errorf("%s: got %v of the publisher, want ErrNotAllowed", name, e.Err)
			}
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := len(p.of(bus.Lost)); n > 0 {
			t.Errorf("got %d lost peers of which none was let in, want 0", n)
		}
		if p.Stats().NotAllowed < 3 || half.Stats().NotAllowed == 0 {
			t.Errorf("got %d and %d refusals counted, want those of 3 peers, and its own", p.Stats().NotAllowed, half.Stats().NotAllowed)
		}
		if n := len(p.of(bus.Refused)); n > 40 {
			t.Errorf("got %d events of refusals in an hour, want each told now and then", n)
		}
	})
}

// TestAccess_aPublisherThatDeniesEverythingHoldsNoTag: another one of the tag is asked instead, whose
// policy is another.
func TestAccess_aPublisherThatDeniesEverythingHoldsNoTag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		strict := b.site(`{"rules":[{"who": "cn:p", "publish": "1"}]}`)
		open := b.site(`{"rules":[{"who": "cn:p", "publish": "1"}, {"who": "cn:s", "subscribe": "1"}]}`)
		b.publisher(bus.PublisherConfig{Tags: tags.Of(1), Common: bus.Common{Access: strict.as("cn:p")}})
		time.Sleep(time.Second)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1), Common: bus.Common{Access: open.as("cn:p")}})
		s := b.subscriber(bus.SubscriberConfig{Common: bus.Common{Access: open.as("cn:s")}})
		got := newCollector()
		_, err := s.SubscribeWith(tags.Of(1), got.handle, bus.SubscriptionConfig{Duplicates: bus.DuplicatesRefuse})
		must(t, err)
		time.Sleep(10 * time.Second)
		publishEach(t, p, 1)
		if n := len(got.data[1]); n != 1 {
			t.Errorf("got %d messages of the other publisher, want 1", n)
		}
	})
}

func TestAccess_aPolicyThatAllowsLessTakesTags(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		x := b.site(`{"rules":[{"who": "cn:p", "publish": "*"}, {"who": "cn:s", "subscribe": "1-4"}, {"who": "cn:other", "subscribe": "1-4"}]}`)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1, 2, 3, 4), Common: bus.Common{Access: x.as("cn:p")}})
		got, other := newCollector(), newCollector()
		s := b.subscriber(bus.SubscriberConfig{Common: bus.Common{Access: x.as("cn:s")}})
		_, err := s.Subscribe(tags.Of(1, 2, 3, 4), got.handle)
		must(t, err)
		o := b.subscriber(bus.SubscriberConfig{Common: bus.Common{Access: x.as("cn:other")}})
		_, err = o.Subscribe(tags.Of(1, 2, 3, 4), other.handle)
		must(t, err)
		synctest.Wait()
		publishEach(t, p, 1, 2, 3, 4)
		x.change(`{"rules":[{"who": "cn:p", "publish": "*"}, {"who": "cn:s", "subscribe": "1-2"}, {"who": "cn:other", "subscribe": "1-4"}]}`)
		publishEach(t, p, 3, 4)
		time.Sleep(10 * time.Second)
		publishEach(t, p, 1, 2, 3, 4)
		for tag, want := range map[tags.Tag]int{1: 2, 2: 2, 3: 1, 4: 1} {
			if n := len(got.data[tag]); n != want {
				t.Errorf("got %d messages of tag %v, want %d", n, tag, want)
			}
		}
		p.wantRefused(t, "cn:s may not subscribe to 0x0000000000000003-0x0000000000000004")
		s.wantRefused(t, "cn:s may not subscribe to ")
		if n := len(s.of(bus.Lost)); n > 0 {
			t.Errorf("got %d lost connections, want 0: it still may have the others", n)
		}
		if n := len(s.of(bus.Gap)); n > 0 {
			t.Errorf("got %d gaps, want 0", n)
		}
		for _, tag := range []tags.Tag{1, 2, 3, 4} {
			want := 2
			if tag > 2 {
				want = 3
			}
			if n := len(other.data[tag]); n != want {
				t.Errorf("the other one: got %d messages of tag %v, want %d", n, tag, want)
			}
		}
		if n := len(o.of(bus.Lost)); n > 0 {
			t.Errorf("the other one: got %d lost connections, want 0: it still may", n)
		}
	})
}

func TestAccess_aPolicyThatAllowsMoreGivesMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		x := b.site(`{"rules":[{"who": "cn:p", "publish": "*"}, {"who": "cn:s", "subscribe": "1"}]}`)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1, 2, 3), Common: bus.Common{Access: x.as("cn:p")}})
		got := newCollector()
		s := b.subscriber(bus.SubscriberConfig{Common: bus.Common{Access: x.as("cn:s")}})
		_, err := s.Subscribe(tags.Of(1, 2), got.handle)
		must(t, err)
		_, err = s.Subscribe(tags.Of(3), got.handle)
		must(t, err)
		synctest.Wait()
		publishEach(t, p, 1, 2, 3)
		x.change(`{"rules":[{"who": "cn:p", "publish": "*"}, {"who": "cn:s", "subscribe": "1-3"}]}`)
		publishEach(t, p, 1, 2, 3)
		for tag, want := range map[tags.Tag]int{1: 2, 2: 1, 3: 1} {
			if n := len(got.data[tag]); n != want {
				t.Errorf("got %d messages of tag %v, want %d", n, tag, want)
			}
		}
		if n := len(s.of(bus.Lost)); n > 0 {
			t.Errorf("got %d lost connections, want 0", n)
		}
		if n := len(s.of(bus.Gap)); n > 0 {
			t.Errorf("got %d gaps, want 0", n)
		}
	})
}

func TestAccess_aPublisherMayNotSendWhatItAnnounces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		x := b.site(`{"rules":[{"who": "*", "subscribe": "*"}, {"who": "cn:p", "publish": "1-2"}]}`)
		m := b.member()
		defer m.loop.Close()
		_, err := bus.NewPublisher(b.opener(m), b.dir, bus.PublisherConfig{Tags: tags.Of(1, 2, 3), Common: bus.Common{Access: x.as("cn:p")}})
		if !errors.Is(err, bus.ErrNotAllowed) || !strings.Contains(err.Error(), "cn:p may not publish 0x0000000000000003") {
			t.Errorf("got %v, want that its own policy refuses tag 3", err)
		}
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1, 2, 3)}) // goes by no policy
		x.as("cn:q")
		wrong := b.publisher(bus.PublisherConfig{Tags: tags.Of(4)})
		got := newCollector()
		s := b.subscriber(bus.SubscriberConfig{Common: bus.Common{Access: x.as("cn:s")}})
		_, err = s.Subscribe(tags.Of(1, 2, 3, 4), got.handle)
		must(t, err)
		synctest.Wait()
		publishEach(t, p, 1, 2, 3)
		publishEach(t, wrong, 4)
		for tag, want := range map[tags.Tag]int{1: 1, 2: 1, 3: 0, 4: 0} {
			if n := len(got.data[tag]); n != want {
				t.Errorf("got %d messages of tag %v, want %d", n, tag, want)
			}
		}
		s.wantRefused(t, "cn:p may not publish 0x0000000000000003")
		s.wantRefused(t, "cn:q may not publish anything here")
		if err := p.AddTags(tags.Of(5)); err != nil {
			t.Errorf("got %v from AddTags, want nil: it goes by no policy", err)
		}
		x.change(`{"rules":[{"who": "*", "subscribe": "*"}, {"who": "cn:p", "publish": "1-9"}, {"who": "cn:q", "publish": "4"}]}`)
		time.Sleep(time.Minute) // until the other publisher is dialed again
		publishEach(t, p, 3)
		publishEach(t, wrong, 4)
		if len(got.data[3]) != 1 || len(got.data[4]) != 1 {
			t.Errorf("got %d and %d messages after the change, want 1 of each", len(got.data[3]), len(got.data[4]))
		}
	})
}

func TestAccess_sendersAndReceiversGoByThePolicy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		x := b.site(`{"rules":[{"who": "cn:r", "receive": "1-2"}, {"who": "cn:s", "send": "1"}]}`)
		m := b.member()
		defer m.loop.Close()
		_, err := bus.NewReceiver(b.opener(m), b.dir, bus.ReceiverConfig{Tags: tags.Of(3), Common: bus.Common{Access: x.as("cn:r")}}, nil)
		if !errors.Is(err, bus.ErrNotAllowed) {
			t.Errorf("got %v, want ErrNotAllowed: it may not receive tag 3", err)
		}
		in := inbox{}
		r := b.receiver(bus.ReceiverConfig{Tags: tags.Of(1, 2), Common: bus.Common{Access: x.as("cn:r")}}, in.handle)
		s := b.sender(bus.SenderConfig{Common: bus.Common{Name: "s", Access: x.as("cn:s")}})
		must(t, s.SendContext(t.Context(), 1, []byte("one")))
		synctest.Wait()
		in.want(t, "s", 1, "one")
		if err := s.Send(2, []byte("two")); !errors.Is(err, bus.ErrNoReceiver) {
			t.Errorf("got %v, want ErrNoReceiver: the receiver does not take tag 2 of it", err)
		}
		stranger := b.sender(bus.SenderConfig{Common: bus.Common{Name: "x", Access: x.as("cn:x")}})
		if err := stranger.Send(1, nil); !errors.Is(err, bus.ErrNoReceiver) {
			t.Errorf("got %v, want ErrNoReceiver", err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		r.wantRefused(t, "cn:x may not send anything here")
		stranger.wantRefused(t, "cn:x may not send anything here")
		x.change(`{"rules":[{"who": "cn:s", "send": "1"}]}`) // the receiver may not receive any more
		time.Sleep(time.Second)
		synctest.Wait()
		s.wantRefused(t, "cn:r may not receive")
		if err := s.Send(1, nil); !errors.Is(err, bus.ErrNoReceiver) {
			t.Errorf("got %v, want ErrNoReceiver", err)
		}
	})
}

func TestAccess_aCertificateEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		x := b.site(`{"rules":[{"who": "*", "subscribe": "*", "publish": "*"}]}`)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1), Common: bus.Common{Access: x.as("cn:p")}})
		got, kept := newCollector(), newCollector()
		s := b.subscriber(bus.SubscriberConfig{Common: bus.Common{Access: x.as("cn:s")}})
		_, err := s.Subscribe(tags.Of(1), got.handle)
		must(t, err)
		o := b.subscriber(bus.SubscriberConfig{Common: bus.Common{Access: x.as("cn:o")}})
		_, err = o.Subscribe(tags.Of(1), kept.handle)
		must(t, err)
		synctest.Wait()
		x.set(func() { x.gone["cn:s"] = identity.ErrRevoked })
		p.wantRefused(t, "revoked")
		if e, _ := s.first(bus.Lost); e.Err == nil || !strings.Contains(e.Err.Error(), "revoked") {
			t.Errorf("got %v at the subscriber, want that the certificate was revoked", e)
		}
		time.Sleep(time.Minute)
		publishEach(t, p, 1)
		if len(got.data[1]) != 0 || len(kept.data[1]) != 1 {
			t.Errorf("got %d and %d messages, want 0 and 1", len(got.data[1]), len(kept.data[1]))
		}
		if n := len(o.of(bus.Lost)); n != 0 {
			t.Errorf("got %d lost connections of the other one, want 0", n)
		}
	})
}

// TestAccess_aConnectionEndsWithTheTimeOfACertificate: without any file that changes.
func TestAccess_aConnectionEndsWithTheTimeOfACertificate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		x := b.site(`{"rules":[{"who": "*", "subscribe": "*", "publish": "*"}]}`)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1), Common: bus.Common{Access: x.as("cn:p")}})
		end := time.Now().Add(time.Hour)
		s := b.subscriber(bus.SubscriberConfig{Common: bus.Common{Access: x.as("cn:s", pki.Valid(time.Now().Add(-time.Hour), end))}})
		_, err := s.Subscribe(tags.Of(1), func(bus.Message) {})
		must(t, err)
		synctest.Wait()
		time.Sleep(time.Until(end) - time.Second)
		synctest.Wait()
		if n := len(p.of(bus.Lost)); n != 0 {
			t.Errorf("got %d lost connections before the end, want 0", n)
		}
		x.mu.Lock()
		x.gone["cn:s"] = identity.ErrExpired // as a Store says from then on, untold
		x.mu.Unlock()
		time.Sleep(3 * time.Second)
		synctest.Wait()
		p.wantRefused(t, "expired")
		if n := len(p.of(bus.Lost)); n == 0 {
			t.Error("got a connection after the end, want none")
		}
	})
}
