// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode"
	"unicode/utf8"

	"tagbus/bus"
	"tagbus/netio"
	"tagbus/subscription"
	"tagbus/tags"
)

// A refusal that was longer than a text of the protocol could not be sent: the
// connection was cut again and again, and the subscriber never heard why.
func TestPublisher_aLongRefusalArrivesShortened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1), Sending: bus.Sending{Policies: slices.Repeat([]bus.PolicyKind{bus.Disconnect}, 40)}})
		s := b.subscriber(bus.SubscriberConfig{})
		sub, err := s.SubscribeWith(tags.Of(1), func(bus.Message) {}, bus.SubscriptionConfig{Policy: bus.Policy{Kind: bus.Latest}})
		must(t, err)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		refused := s.of(bus.Refused)
		if len(refused) != 1 {
			t.Fatalf("got %d refusals, want 1; events %v", len(refused), s.events)
		}
		text := refused[0].Err.Error()
		if !strings.HasPrefix(text, bus.ErrPolicyRefused.Error()+": latest") || !strings.HasSuffix(text, "...") || len(text) > subscription.MaxTextBytes {
			t.Errorf("got %q of %d bytes, want why, cut off at %d", text, len(text), subscription.MaxTextBytes)
		}
		if lost := append(s.of(bus.Lost), p.of(bus.Lost)...); len(lost) > 0 {
			t.Errorf("got lost connections %v, want none", lost)
		}
		must(t, sub.Unsubscribe(t.Context()))
	})
}

// hostileText is what a stranger calls itself: it clears the screen, forges a line,
// turns the direction of the text, and is no UTF-8.
const hostileText = "x\x1b[2J\nsubscriber: all is well\u202e\xff"

// The text in a peer's hello reached the terminal of an operator raw, in the events.
func TestPublisher_aHelloIsSafeToShow(t *testing.T) {
	good := subscription.Hello{Instance: "x", MaxMessageBytes: 1 << 30}
	tests := []struct {
		field  string
		change func(h *subscription.Hello)
	}{
		{"instance", func(h *subscription.Hello) { h.Instance = hostileText }},
		{"expect", func(h *subscription.Hello) { h.Expect = hostileText }},
		{"role", func(h *subscription.Hello) { h.Role = hostileText }},
		{"name", func(h *subscription.Hello) { h.Name = hostileText }},
		{"host", func(h *subscription.Hello) { h.Host = hostileText }},
		{"all", func(h *subscription.Hello) {
			*h = subscription.Hello{Instance: hostileText, Name: hostileText, Host: hostileText, MaxMessageBytes: 1 << 30}
		}},
	}
	for _, test := range tests {
		h := good
		test.change(&h)
		for _, role := range []string{h.Role, subscription.RoleSender} {
			t.Run(fmt.Sprintf("%s, role %q", test.field, role), func(t *testing.T) {
				h := h
				h.Role = role
				synctest.Test(t, func(t *testing.T) {
					b := newBed(t)
					p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1)})
					r := b.receiver(bus.ReceiverConfig{Tags: tags.Of(2)}, func(bus.Message) {})
					s := &stranger{answer: [][]byte{hello(t, h)}}
					backend, _ := b.stranger(s)
					must(t, backend.OpenEndpoint(p.Addr(), netio.Params{}))
					must(t, backend.OpenEndpoint(r.Addr(), netio.Params{}))
					time.Sleep(10 * time.Second)
					must(t, backend.Close())
					synctest.Wait()
					wantSafeEvents(t, "publisher", p.member)
					wantSafeEvents(t, "receiver", r.member)
					for _, data := range s.got {
						if m, err := subscription.Decode(data); err == nil {
							if refused, ok := m.(*subscription.Refused); ok {
								wantSafe(t, "the answer", refused.Reason)
							}
						}
					}
				})
			})
		}
	}
}

// TestSubscriber_aRefusalIsSafeToShow: an impostor gives a subscriber a hostile text as its reason.
func TestSubscriber_aRefusalIsSafeToShow(t *testing.T) {
	for _, answer := range []subscription.Message{
		&subscription.Refused{Reason: hostileText},
		&subscription.Refused{ID: 1, Reason: hostileText},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newBed(t)
			publisher := &stranger{answer: [][]byte{hello(t, subscription.Hello{Instance: "fake", MaxMessageBytes: 1 << 20}), control(t, answer)}}
			if answer.(*subscription.Refused).ID == 0 {
				publisher.answer = publisher.answer[1:]
			}
			b.impostor(publisher, "fake", tags.Of(1))
			s := b.subscriber(bus.SubscriberConfig{})
			_, err := s.Subscribe(tags.Of(1), func(bus.Message) {})
			must(t, err)
			time.Sleep(3 * time.Second)
			synctest.Wait()
			if len(s.of(bus.Refused)) == 0 {
				t.Errorf("got events %v, want a refusal", s.events)
			}
			wantSafeEvents(t, "subscriber", s.member)
		})
	}
}

// wantSafeEvents fails the test if the text of an event, or of its error, is not
// one line of printable characters.
func wantSafeEvents(t *testing.T, who string, m *member) {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.events) == 0 {
		t.Errorf("%s: got no events, want some", who)
	}
	for _, e := range m.events {
		wantSafe(t, who, e.String())
	}
}

func wantSafe(t *testing.T, who, text string) {
	t.Helper()
	if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		t.Errorf("%s: got %q, want one line of printable characters", who, text)
	}
}
