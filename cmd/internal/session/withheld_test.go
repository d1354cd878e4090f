// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"strings"
	"testing"

	"tagbus/bus"
	"tagbus/cmd/internal/session"
	"tagbus/tags"
)

// What a policy takes and gives back is a hole of which nothing else tells. What it gives for the first time, or does
// not give back, is none.
func TestPresenceTellsOfTagsThatWereKeptBackForATime(t *testing.T) {
	peer := &bus.Peer{Instance: "a", Name: "pub", Host: "pc"}
	subscribed := func(list ...tags.Tag) bus.Event {
		return bus.Event{Kind: bus.Subscribed, Peer: peer, Tags: tags.Of(list...)}
	}
	denied := func(list ...tags.Tag) bus.Event {
		return bus.Event{Kind: bus.Refused, Peer: peer, Tags: tags.Of(list...), Err: noRule(tags.Of(list...))}
	}
	for _, test := range []struct {
		name   string
		events []bus.Event
		want   tags.Set
	}{
		{"given back", []bus.Event{subscribed(1, 2), denied(2), subscribed(1), subscribed(1, 2)}, tags.Of(2)},
		{"not given back", []bus.Event{subscribed(1, 2), denied(2), subscribed(1)}, tags.Set{}},
		{"given for the first time", []bus.Event{denied(2), subscribed(1), subscribed(1, 2)}, tags.Set{}},
		{"some given back", []bus.Event{subscribed(1, 2, 3), denied(2, 3), subscribed(1, 3)}, tags.Of(3)},
		{"another one", []bus.Event{subscribed(1), denied(2), subscribed(1, 2)}, tags.Set{}},
		{"taken once more", []bus.Event{subscribed(1, 2), denied(2), subscribed(1, 2), denied(2)}, tags.Of(2)},
	} {
		t.Run(test.name, func(t *testing.T) {
			var p session.Presence
			for _, e := range test.events {
				p.See(e)
			}
			if got := p.WithheldOf("a"); !got.Equal(test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
			err := p.Withheld("publisher")
			if (err != nil) != !test.want.IsEmpty() || err != nil && !strings.Contains(err.Error(), "what was published meanwhile is missing: 1 publisher: pub@pc tags "+test.want.String()+": ") {
				t.Errorf("got error %v, want one with %v", err, test.want)
			}
		})
	}
}
