// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"context"
	"net"
	"testing"

	"tagbus/bus"
	"tagbus/netio/tcp"
	"tagbus/node"
	"tagbus/tags"
)

// TestConfig_limitsOfTheBusBind: a backend closes each connection beyond its own limit, where a publisher ends
// those that do nothing.
func TestConfig_limitsOfTheBusBind(t *testing.T) {
	for _, tt := range []struct {
		name        string
		set         int
		least, most int
	}{
		{"by default", 0, 100 * bus.DefaultMaxSubscribers, 1 << 20},
		{"as it is set", 7, 7, 7},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg := node.TCP(node.Config{TCP: tcp.Config{MaxEndpoints: tt.set}})
			if got := cfg.MaxEndpoints; got < tt.least || got > tt.most {
				t.Errorf("MaxEndpoints: got %d, want %d to %d", got, tt.least, tt.most)
			}
			if err := cfg.Validate(); err != nil {
				t.Errorf("Validate: got error %v, want none", err)
			}
		})
	}
}

// TestNode_silentStrangersKeepNoSubscriberOut: there are more of them than a publisher has places for, of any kind.
func TestNode_silentStrangersKeepNoSubscriberOut(t *testing.T) {
	const places = 16 + 1024 + 64 // subscribers, those that have not said hello, observers
	dir := t.TempDir()
	n := openNodeWith(t, node.Config{Bus: dir, Backend: "tcp"})
	p, err := n.NewPublisher(bus.PublisherConfig{Tags: tags.Of(1), MaxSubscribers: 16})
	if err != nil {
		t.Fatalf("NewPublisher: got error %v, want none", err)
	}
	var dialer net.Dialer
	for i := range places + 100 {
		c, err := dialer.DialContext(t.Context(), "tcp", p.Addr().String())
		if err != nil {
			t.Fatalf("stranger %d: got error %v, want none", i, err)
		}
		defer func() { _ = c.Close() }()
	}
	s, err := openNodeWith(t, node.Config{Bus: dir, Backend: "tcp"}).NewSubscriber(bus.SubscriberConfig{})
	if err != nil {
		t.Fatalf("NewSubscriber: got error %v, want none", err)
	}
	sub, err := s.Subscribe(tags.Of(1), nil)
	if err != nil {
		t.Fatalf("Subscribe: got error %v, want none", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := sub.Wait(ctx); err != nil {
		t.Errorf("Wait: got error %v, want a publisher", err)
	}
}
