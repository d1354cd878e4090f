// SPDX-License-Identifier: Apache-2.0

package subscribe

import (
	"errors"
	"testing"

	"tagbus/bus"
)

// An internal test: the order of events that it needs cannot be brought about
// from outside.
func TestPresence(t *testing.T) {
	type seen struct {
		kind     bus.EventKind
		instance string
	}
	tests := []struct {
		name        string
		events      []seen
		lastGone    bool   // with the last of them
		unaccounted uint64 // after it
	}{
		{"nobody ever", nil, false, 0},
		{"one says goodbye", []seen{{bus.Connected, "a"}, {bus.Subscribed, "a"}, {bus.Goodbye, "a"}}, true, 0},
		{"one of two says goodbye", []seen{{bus.Connected, "a"}, {bus.Connected, "b"}, {bus.Goodbye, "a"}}, false, 0},
		{"both say goodbye", []seen{{bus.Connected, "a"}, {bus.Connected, "b"}, {bus.Goodbye, "a"}, {bus.Goodbye, "b"}}, true, 0},
		{"one is lost", []seen{{bus.Connected, "a"}, {bus.Subscribed, "a"}, {bus.Lost, "a"}}, false, 1},
		{"one is lost and comes back", []seen{{bus.Connected, "a"}, {bus.Lost, "a"}, {bus.Connected, "a"}, {bus.Subscribed, "a"}}, false, 0},
		{"one vanishes", []seen{{bus.Connected, "a"}, {bus.Lost, "a"}, {bus.Vanished, "a"}}, true, 1},
		{"a goodbye while another is lost", []seen{{bus.Connected, "a"}, {bus.Connected, "b"}, {bus.Lost, "a"}, {bus.Goodbye, "b"}}, false, 1},
		{"one never spoke to us", []seen{{bus.Refused, "a"}, {bus.Lost, "a"}}, false, 0},
		{"other events mean nothing", []seen{{bus.Connected, "a"}, {bus.Gap, "a"}, {bus.Problem, "a"}}, false, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var p presence
			lastGone := p.see(bus.Event{Kind: bus.Problem}) // without peer
			for _, e := range test.events {
				lastGone = p.see(bus.Event{Kind: e.kind, Peer: &bus.Peer{Instance: e.instance}})
			}
			if lastGone != test.lastGone {
				t.Errorf("last gone: got %v, want %v", lastGone, test.lastGone)
			}
			if got := p.unaccounted(); got != test.unaccounted {
				t.Errorf("unaccounted: got %d, want %d", got, test.unaccounted)
			}
		})
	}
}

func TestTheFirstEndCounts(t *testing.T) {
	e, failure := newEnding(), errors.New("broken")
	e.end("error", failure)
	e.end("signal", nil)
	<-e.done
	if e.reason != "error" || !errors.Is(e.err, failure) {
		t.Errorf("got %s, %v, want the first: error, %v", e.reason, e.err, failure)
	}
}
