// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"tagbus/bus"
	"tagbus/cmd/internal/session"
)

// errBroken is what ends a connection that is not left in order.
var errBroken = errors.New("broken")

func TestPresence(t *testing.T) {
	type seen struct {
		kind     bus.EventKind
		instance string
	}
	const left = -bus.Lost // in order, by this side
	tests := []struct {
		name                 string
		events               []seen
		lastGone             bool   // with the last of them
		seen, away, vanished uint64 // after it
	}{
		{"no publisher ever", nil, false, 0, 0, 0},
		{"one says goodbye", []seen{{bus.Connected, "a"}, {bus.Subscribed, "a"}, {bus.Goodbye, "a"}}, true, 1, 0, 0},
		{"one says goodbye before it has acknowledged", []seen{{bus.Connected, "a"}, {bus.Goodbye, "a"}}, true, 0, 0, 0},
		{"one of two says goodbye", []seen{{bus.Connected, "a"}, {bus.Connected, "b"}, {bus.Goodbye, "a"}}, false, 0, 0, 0},
		{"both say goodbye", []seen{{bus.Connected, "a"}, {bus.Subscribed, "a"}, {bus.Connected, "b"}, {bus.Subscribed, "b"}, {bus.Goodbye, "a"}, {bus.Goodbye, "b"}}, true, 2, 0, 0},
		{"one is lost", []seen{{bus.Connected, "a"}, {bus.Subscribed, "a"}, {bus.Lost, "a"}}, false, 1, 1, 0},
		{"one is lost twice", []seen{{bus.Connected, "a"}, {bus.Subscribed, "a"}, {bus.Lost, "a"}, {bus.Connected, "a"}, {bus.Lost, "a"}}, false, 1, 1, 0},
		{"one is lost and is connected, but has not acknowledged again", []seen{{bus.Connected, "a"}, {bus.Subscribed, "a"}, {bus.Lost, "a"}, {bus.Connected, "a"}}, false, 1, 1, 0},
		{"one is lost and comes back", []seen{{bus.Connected, "a"}, {bus.Subscribed, "a"}, {bus.Lost, "a"}, {bus.Connected, "a"}, {bus.Resubscribed, "a"}}, false, 1, 0, 0},
		{"one is lost before it has acknowledged, and owes nothing", []seen{{bus.Connected, "a"}, {bus.Lost, "a"}}, false, 0, 0, 0},
		{"one is refused, lost, and the other says goodbye", []seen{{bus.Connected, "a"}, {bus.Refused, "a"}, {bus.Lost, "a"}, {bus.Connected, "b"}, {bus.Subscribed, "b"}, {bus.Goodbye, "b"}}, true, 1, 0, 0},
		{"one says goodbye, and then the other is lost before it has acknowledged", []seen{{bus.Connected, "a"}, {bus.Subscribed, "a"}, {bus.Connected, "b"}, {bus.Goodbye, "a"}, {bus.Lost, "b"}}, true, 1, 0, 0},
		{"one vanishes, and then the other is lost before it has acknowledged", []seen{{bus.Connected, "a"}, {bus.Connected, "b"}, {bus.Vanished, "a"}, {bus.Lost, "b"}}, true, 0, 0, 1},
		{"one says goodbye, another is lost, and a third is there", []seen{{bus.Connected, "a"}, {bus.Connected, "b"}, {bus.Connected, "c"}, {bus.Goodbye, "a"}, {bus.Lost, "b"}}, false, 0, 0, 0},
		{"one says goodbye, and the other is lost and owes", []seen{{bus.Connected, "a"}, {bus.Subscribed, "b"}, {bus.Goodbye, "a"}, {bus.Lost, "b"}}, false, 1, 1, 0},
		{"one says goodbye, and one that was never there is lost", []seen{{bus.Connected, "a"}, {bus.Goodbye, "a"}, {bus.Lost, "b"}}, false, 0, 0, 0},
		{"this side leaves one", []seen{{bus.Connected, "a"}, {bus.Subscribed, "a"}, {left, "a"}}, false, 1, 0, 0},
		{"one vanishes", []seen{{bus.Connected, "a"}, {bus.Subscribed, "a"}, {bus.Lost, "a"}, {bus.Vanished, "a"}}, true, 1, 0, 1},
		{"one vanishes and comes back after all", []seen{{bus.Connected, "a"}, {bus.Subscribed, "a"}, {bus.Lost, "a"}, {bus.Vanished, "a"}, {bus.Connected, "a"}, {bus.Resubscribed, "a"}}, false, 1, 0, 0},
		{"one vanishes whose other events were dropped", []seen{{bus.Vanished, "a"}}, true, 0, 0, 1},
		{"a goodbye while another is lost", []seen{{bus.Connected, "a"}, {bus.Subscribed, "a"}, {bus.Connected, "b"}, {bus.Subscribed, "b"}, {bus.Lost, "a"}, {bus.Goodbye, "b"}}, false, 2, 1, 0},
		{"one says goodbye after it was lost", []seen{{bus.Connected, "a"}, {bus.Subscribed, "a"}, {bus.Lost, "a"}, {bus.Goodbye, "a"}}, true, 1, 0, 0},
		{"one never spoke to us", []seen{{bus.Refused, "a"}, {bus.Lost, "a"}}, false, 0, 0, 0},
		{"other events mean nothing", []seen{{bus.Connected, "a"}, {bus.Subscribed, "a"}, {bus.Gap, "a"}, {bus.Problem, "a"}}, false, 1, 0, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var p session.Presence
			lastGone := p.See(bus.Event{Kind: bus.Problem}) // without peer
			for _, e := range test.events {
				event := bus.Event{Kind: e.kind, Peer: &bus.Peer{Instance: e.instance}}
				switch e.kind {
				case bus.Lost:
					event.Err = errBroken
				case left:
					event.Kind = bus.Lost
				default: // without an error
				}
				lastGone = p.See(event)
			}
			if lastGone != test.lastGone {
				t.Errorf("last gone: got %v, want %v", lastGone, test.lastGone)
			}
			if p.Seen() != test.seen || p.Away() != test.away || p.Vanished() != test.vanished || p.Unaccounted() != test.away+test.vanished {
				t.Errorf("got %d seen, %d away, %d vanished, %d unaccounted; want %d, %d, %d and their sum", p.Seen(), p.Away(), p.Vanished(), p.Unaccounted(), test.seen, test.away, test.vanished)
			}
			if came := len(test.events) > 0 && test.name != "one never spoke to us"; p.Came() != came {
				t.Errorf("got a publisher that came: %t, want %t", p.Came(), came)
			}
		})
	}
}

// TestPresenceIsBounded whatever comes and goes: a recorder runs for months.
func TestPresenceIsBounded(t *testing.T) {
	const many = 50_000
	var p session.Presence
	life := func(n int) {
		peer := &bus.Peer{Instance: fmt.Sprint(n)}
		for _, e := range []bus.Event{
			{Kind: bus.Connected},
			{Kind: bus.Subscribed},
			{Kind: bus.Lost, Err: errBroken},
			{Kind: bus.Vanished, Err: &bus.PeerFailedError{Reason: strings.Repeat("no input ", 100)}},
		} {
			e.Peer = peer
			p.See(e)
		}
	}
	for n := range 10_000 {
		life(n)
	}
	before := heapBytes()
	for n := range many {
		life(10_000 + n)
	}
	if grown := heapBytes() - before; grown > 1<<20 {
		t.Errorf("got %d bytes more after %d more publishers that have gone, want none", grown, many)
	}
	if p.Vanished() != many+10_000 || p.Failed() != many+10_000 {
		t.Errorf("got %d vanished and %d failed, want %d of each", p.Vanished(), p.Failed(), many+10_000)
	}
	if got := p.Failure("publisher").Error(); len(got) > 4000 || !strings.HasSuffix(got, "; and 59,997 others") {
		t.Errorf("got %q, want three of them named", got)
	}
}

func heapBytes() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestWhichAreAsked: those that owe a last count and are connected.
func TestWhichAreAsked(t *testing.T) {
	var p session.Presence
	for _, e := range []bus.Event{
		{Kind: bus.Connected, Peer: &bus.Peer{Instance: "only connected"}},
		{Kind: bus.Subscribed, Peer: &bus.Peer{Instance: "there"}},
		{Kind: bus.Subscribed, Peer: &bus.Peer{Instance: "away"}},
		{Kind: bus.Lost, Peer: &bus.Peer{Instance: "away"}, Err: errBroken},
	} {
		p.See(e)
	}
	if got := slices.Collect(p.Connected()); !slices.Equal(got, []string{"there"}) {
		t.Errorf("got %v, want the one that is there", got)
	}
}

func TestTheFirstEndCounts(t *testing.T) {
	e, failure := session.NewEnding(), errors.New("broken")
	e.End("error", failure)
	e.End("signal", nil)
	<-e.Done()
	if e.Reason() != "error" || !errors.Is(e.Err(), failure) {
		t.Errorf("got %s, %v, want the first: error, %v", e.Reason(), e.Err(), failure)
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
			var p session.Presence
			for _, e := range test.events {
				p.See(e)
			}
			got := ""
			if err := p.Failure("publisher"); err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
