// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/internal/testkit/extremes"
	"tagbus/netio"
	"tagbus/tags"
)

// TestPublisherConfig_atTheEdgesOfItsTypes: a number or time near the largest or smallest of
// its type, in any field, is refused by an error that names field and limit, or messages
// flow with it.
func TestPublisherConfig_atTheEdgesOfItsTypes(t *testing.T) {
	disconnect := bus.Policy{Kind: bus.Disconnect, After: time.Second}
	sample := bus.Policy{Kind: bus.Sample, Every: 1}
	roles := []struct {
		role   string
		config any
		flows  func(t *testing.T, config any) error
	}{
		{"publisher", bus.PublisherConfig{Tags: tags.Of(1)}, withPublisher},
		{"publisher with a cache", bus.PublisherConfig{Tags: tags.Of(1), Sending: bus.Sending{CacheMessages: 1}}, withPublisher},
		{"subscriber", bus.SubscriberConfig{}, withSubscriber},
		{"subscription", bus.SubscriptionConfig{Policy: disconnect}, withSubscription},
		{"sampling subscription", bus.SubscriptionConfig{Policy: sample}, withSubscription},
		{"receiver", bus.ReceiverConfig{Tags: tags.Of(1)}, withReceiver},
		{"sender", bus.SenderConfig{}, withSender},
	}
	for _, role := range roles {
		t.Run(role.role, func(t *testing.T) {
			extremes.Each(t, role.config, func(t *testing.T, config any) (err error) {
				synctest.Test(t, func(t *testing.T) { err = refusal(role.flows(t, config)) })
				return err
			})
		})
	}
}

// refusal returns err with a policy's fields by their names, and nil if it is none of a
// value that is too large.
func refusal(err error) error {
	if err == nil || errors.Is(err, netio.ErrNoMemory) {
		return nil
	}
	text := err.Error()
	if strings.Contains(text, "has no such argument") || strings.Contains(text, "but nothing is kept") {
		return nil // it makes no sense here, however large
	}
	text = strings.ReplaceAll(text, "disconnect after", "disconnect After")
	return errors.New(strings.ReplaceAll(text, "sample every", "sample Every"))
}

// flow publishes until a message arrives.
func flow(t *testing.T, p *bus.Publisher, got *int) {
	t.Helper()
	synctest.Wait()
	if err := p.Publish(1, []byte("x")); err != nil {
		t.Errorf("got error %v from Publish, want none", err)
	}
	p.Flush()
	synctest.Wait()
	if *got == 0 {
		t.Error("the configuration is accepted, and the message does not arrive")
	}
}

// flowBack sends until a message arrives.
func flowBack(t *testing.T, s *bus.Sender, got *int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	must(t, s.WaitReceivers(ctx, tags.Of(1)))
	if err := s.SendAcked(ctx, 1, []byte("x")); err != nil {
		t.Errorf("got error %v from SendAcked, want none", err)
	}
	if *got == 0 {
		t.Error("the configuration is accepted, and the message does not arrive")
	}
}

func withPublisher(t *testing.T, config any) error {
	b := newBed(t)
	m := b.member()
	cfg := config.(bus.PublisherConfig)
	cfg.Listen, cfg.OnEvent = netip.AddrPortFrom(m.host, 0), m.note
	p, err := bus.NewPublisher(b.opener(m), b.dir, cfg)
	if err != nil {
		m.loop.Close()
		return err
	}
	defer m.loop.Close()
	defer p.Close()
	got := 0
	subscribe(t, b.subscriber(bus.SubscriberConfig{}), tags.Of(1), func(bus.Message) { got++ })
	flow(t, p, &got)
	return nil
}

func withSubscriber(t *testing.T, config any) error {
	b := newBed(t)
	p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1)})
	m := b.member()
	defer m.loop.Close()
	cfg := config.(bus.SubscriberConfig)
	cfg.OnEvent = m.note
	s, err := bus.NewSubscriber(b.opener(m), b.dir, cfg)
	if err != nil {
		return err
	}
	defer s.Close()
	got := 0
	subscribe(t, &subscriber{s, m}, tags.Of(1), func(bus.Message) { got++ })
	flow(t, p.Publisher, &got)
	return nil
}

func withSubscription(t *testing.T, config any) error {
	b := newBed(t)
	p, s := b.publisher(bus.PublisherConfig{Tags: tags.Of(1)}), b.subscriber(bus.SubscriberConfig{})
	got := 0
	sub, err := s.SubscribeWith(tags.Of(1), func(bus.Message) { got++ }, config.(bus.SubscriptionConfig))
	if err != nil {
		return err
	}
	must(t, sub.Wait(t.Context()))
	flow(t, p.Publisher, &got)
	return nil
}

func withReceiver(t *testing.T, config any) error {
	b := newBed(t)
	m := b.member()
	defer m.loop.Close()
	cfg := config.(bus.ReceiverConfig)
	cfg.Listen, cfg.OnEvent = netip.AddrPortFrom(m.host, 0), m.note
	got := 0
	r, err := bus.NewReceiver(b.opener(m), b.dir, cfg, func(bus.Message) { got++ })
	if err != nil {
		return err
	}
	defer r.Close()
	flowBack(t, b.sender(bus.SenderConfig{}).Sender, &got)
	return nil
}

func withSender(t *testing.T, config any) error {
	b := newBed(t)
	got := 0
	b.receiver(bus.ReceiverConfig{Tags: tags.Of(1)}, func(bus.Message) { got++ })
	m := b.member()
	defer m.loop.Close()
	cfg := config.(bus.SenderConfig)
	cfg.OnEvent = m.note
	s, err := bus.NewSender(b.opener(m), b.dir, cfg)
	if err != nil {
		return err
	}
	defer s.Close()
	flowBack(t, s, &got)
	return nil
}
