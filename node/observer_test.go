// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"context"
	"testing"

	"tagbus/bus"
	"tagbus/bus/observer"
	"tagbus/bus/state"
	"tagbus/node"
	"tagbus/tags"
)

// TestNode_NewObserver_asksOverTheBus asks a publisher and a receiver over real connections.
func TestNode_NewObserver_asksOverTheBus(t *testing.T) {
	n := openNode(t, t.TempDir())
	p, err := n.NewPublisher(bus.PublisherConfig{Common: bus.Common{Name: "daq"}, Tags: tags.Of(1), Listening: bus.Listening{Listen: listen()}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := n.NewReceiver(bus.ReceiverConfig{Common: bus.Common{Name: "daq"}, Tags: tags.Of(2), Listening: bus.Listening{Listen: listen()}}, func(bus.Message) {})
	if err != nil {
		t.Fatal(err)
	}
	o, err := n.NewObserver(observer.Config{Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	roles := map[string]state.Role{p.Instance(): state.Publisher, r.Instance(): state.Receiver}
	entries, err := n.Directory().List()
	if err != nil || len(entries) != len(roles) {
		t.Fatalf("got %d entries and error %v, want %d and none", len(entries), err, len(roles))
	}
	for range 3 { // the later ones over the same connection
		for _, e := range entries {
			s, err := o.Ask(t.Context(), e, state.Question{Peers: 10, Busiest: 10, Tags: tags.Of(1)})
			if err != nil || s.Instance != e.Instance || s.Role != roles[e.Instance] || s.Name != "daq" {
				t.Errorf("got the state of %q, %v, and error %v, want %q, %v, and none", s.Instance, s.Role, err, e.Instance, roles[e.Instance])
			}
		}
	}
	for _, e := range entries {
		g, err := o.Greet(t.Context(), e, e.Addresses[0])
		if err != nil || g.Instance != e.Instance || g.Name != "daq" || g.Protocol != observer.ProtocolVersion || g.Took < g.Connected || g.Connected <= 0 {
			t.Errorf("got %+v and error %v, want instance %q and none", g, err, e.Instance)
		}
	}
	if got := len(p.Stats().Subscribers); got != 0 {
		t.Errorf("got %d subscribers, want none", got)
	}
}

// Both sides of a connection over TCP know how far away the other one is.
func TestNode_theStateHasRoundTrips(t *testing.T) {
	n := openNodeWith(t, node.Config{Bus: t.TempDir(), Backend: "tcp"}) // other backends have none
	p, err := n.NewPublisher(bus.PublisherConfig{Tags: tags.Of(1)})
	if err != nil {
		t.Fatal(err)
	}
	s, err := n.NewSubscriber(bus.SubscriberConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Subscribe(tags.Of(1), func(bus.Message) {}); err != nil {
		t.Fatal(err)
	}
	if err := p.WaitSubscribers(t.Context(), 1, tags.Of(1)); err != nil {
		t.Fatal(err)
	}
	for name, of := range map[string]func(context.Context, state.Question) (state.State, error){"publisher": p.State, "subscriber": s.State} {
		st, err := of(t.Context(), state.Question{Peers: 1})
		if err != nil || len(st.Peers) != 1 || st.Peers[0].RoundTrip <= 0 || st.Peers[0].RoundTrip > 1 {
			t.Errorf("%s: got %+v and error %v, want a peer that is some microseconds away", name, st.Peers, err)
		}
	}
}
