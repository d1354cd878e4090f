// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"tagbus/bus"
	"tagbus/bus/directory"
	"tagbus/cmd/internal/session"
	"tagbus/tags"
)

// listing is a directory with some publishers.
type listing struct {
	directory.Directory
	instances []string
	err       error
	contact   time.Time
}

func (l listing) List() (entries []directory.Entry, err error) {
	for _, id := range l.instances {
		entries = append(entries, directory.Entry{Instance: id})
	}
	return entries, l.err
}

func (l listing) Stats() directory.Stats { return directory.Stats{LastContact: l.contact} }

// TestWhatCouldNotBeReachedIsNotThere: a recording was whole though no connection to a publisher of
// its tags had come about.
func TestWhatCouldNotBeReachedIsNotThere(t *testing.T) {
	event := func(kind bus.EventKind, err error) bus.Event {
		return bus.Event{Kind: kind, Peer: &bus.Peer{Instance: "a", Name: "pub", Host: "pc"}, Err: err, Tags: tags.Set{}}
	}
	timedOut := event(bus.Refused, errors.New("timed out"))
	here, gone := listing{instances: []string{"a"}, contact: time.Now()}, listing{contact: time.Now()}
	for _, test := range []struct {
		name   string
		events []bus.Event
		at     listing
		want   string // in the error; empty: none
	}{
		{"nothing has failed", nil, here, ""},
		{"a dial that fails", []bus.Event{timedOut, timedOut}, here, "1 publisher refused: pub@pc: timed out"},
		{"a dial that fails, of one that is dead", []bus.Event{timedOut}, gone, ""},
		{"a dial that fails at first", []bus.Event{timedOut, event(bus.Connected, nil), event(bus.Subscribed, nil)}, here, ""},
		{"a connection that breaks at once, each time", []bus.Event{event(bus.Connected, nil), event(bus.Lost, errors.New("x")), timedOut}, here, "1 publisher refused"},
		{"a connection that is lost, and not back", []bus.Event{event(bus.Connected, nil), event(bus.Subscribed, nil), event(bus.Lost, errors.New("x")), timedOut}, here, ""}, // it is away
		{"a policy that is refused on a connection", []bus.Event{event(bus.Connected, nil), event(bus.Refused, bus.ErrPolicyRefused), event(bus.Lost, nil)}, here, ""},
		{"one that has ended since", []bus.Event{timedOut, event(bus.Goodbye, nil)}, here, ""},
		{"a directory that answers late", nil, listing{err: errors.New("away"), contact: time.Now()}, ""},
		{"a directory that never answers", nil, listing{err: errors.New("no such folder")}, "no publisher could be looked for: no such folder"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := session.Presence{Wanted: tags.Of(1)}
			for _, e := range test.events {
				p.See(e)
			}
			p.Settle(session.ListedBy(test.at))
			got := errors.Join(p.Refusal("publisher"), session.ListedBy(test.at).Silent())
			if (got == nil) != (test.want == "") || got != nil && !strings.Contains(got.Error(), test.want) {
				t.Errorf("got %v, want %q", got, test.want)
			}
		})
	}
}
