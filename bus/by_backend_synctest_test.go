// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/bus/state"
	"tagbus/tags"
)

// TestConnectionsAreCountedByTheirBackend, at both ends, as long as they are open.
func TestConnectionsAreCountedByTheirBackend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(small(bus.PublisherConfig{}))
		s, other := b.subscriber(bus.SubscriberConfig{}), b.subscriber(bus.SubscriberConfig{})
		subscribe(t, s, tags.Of(1), ignore)
		subscribe(t, other, tags.Of(1), ignore)
		time.Sleep(time.Second)
		check := func(what string, got, want any) {
			t.Helper()
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s: got %+v, want %+v", what, got, want)
			}
		}
		check("publisher", stateOf(t, p, state.Question{}).ByBackend, []state.BackendCount{{Backend: "memory", Connected: 2}})
		check("subscriber", stateOf(t, s, state.Question{}).ByBackend, []state.BackendCount{{Backend: "memory", Connected: 1}})
		check("its counters", s.Stats().ByBackend, []bus.BackendCount{{Backend: "memory", Connections: 1}})
		must(t, p.Close())
		time.Sleep(time.Second)
		check("subscriber afterwards", stateOf(t, s, state.Question{}).ByBackend, []state.BackendCount(nil))
		check("its counters afterwards", s.Stats().ByBackend, []bus.BackendCount{{Backend: "memory"}})
	})
}

// TestASenderPassesNoWay at its receiver, which listens: the receiver said that it has not what no
// one has announced.
func TestASenderPassesNoWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		r := b.receiver(bus.ReceiverConfig{Tags: tags.Of(1)}, ignore)
		s := b.sender(bus.SenderConfig{Tags: tags.Of(1)})
		must(t, s.WaitReceivers(t.Context(), tags.Of(1)))
		time.Sleep(time.Second)
		if peers := stateOf(t, r, everything).Peers; len(peers) != 1 || peers[0].Backend != "memory" || len(peers[0].Passed) != 0 {
			t.Errorf("got %+v, want the sender, by memory, and no other way", peers)
		}
	})
}
