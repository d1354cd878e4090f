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

func TestPublishersThatFailAreNamed(t *testing.T) {
	goodbye := func(name string, err error) bus.Event {
		return bus.Event{Kind: bus.Goodbye, Peer: &bus.Peer{Instance: name, Name: name, Host: "pc"}, Err: err}
	}
	failed := func(name string) bus.Event { return goodbye(name, &bus.PeerFailedError{Reason: "no " + name}) }
	vanished := failed("e")
	vanished.Kind = bus.Vanished
	for _, test := range []struct {
		name   string
		events []bus.Event
		want   string // empty: no failure
	}{
		{"none", nil, ""},
		{"an orderly end", []bus.Event{goodbye("a", nil)}, ""},
		{"one", []bus.Event{goodbye("a", nil), failed("b")}, "1 publisher failed: b@pc: no b"},
		{"one that vanishes", []bus.Event{vanished}, "1 publisher failed: e@pc: no e"},
		{"three", []bus.Event{failed("a"), failed("b"), failed("c")}, "3 publishers failed: a@pc: no a; b@pc: no b; c@pc: no c"},
		{"five", []bus.Event{failed("a"), failed("b"), failed("c"), failed("d"), failed("e")}, "5 publishers failed: a@pc: no a; b@pc: no b; c@pc: no c; and 2 others"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var p presence
			for _, e := range test.events {
				p.see(e)
			}
			got := ""
			if err := p.failure("publisher"); err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
