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
	entries   []directory.Entry
	err       error
	contact   time.Time
}

func (l listing) List() (entries []directory.Entry, err error) {
	for _, id := range l.instances {
		entries = append(entries, directory.Entry{Instance: id})
	}
	return append(entries, l.entries...), l.err
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
			p.Settle(session.ListedBy(test.at), time.Now())
			got := errors.Join(p.Refusal("publisher"), session.ListedBy(test.at).Silent())
			if (got == nil) != (test.want == "") || got != nil && !strings.Contains(got.Error(), test.want) {
				t.Errorf("got %v, want %q", got, test.want)
			}
		})
	}
}

// TestPresence_Settle_unanswered: a subscriber said that nothing was lost, and ended with 0, though the only publisher of its
// tags was stopped all the time.
func TestPresence_Settle_unanswered(t *testing.T) {
	of := func(id string, role directory.Role, since time.Time, set tags.Set) directory.Entry {
		return directory.Entry{Instance: id, Name: "pub", Host: "pc", Role: role, Since: since, Tags: set}
	}
	now := time.Now()
	long := now.Add(-4 * time.Second)
	publisher := of("a", directory.Publisher, now.Add(-time.Hour), tags.Of(1, 2))
	said := func(kind bus.EventKind) []bus.Event {
		return []bus.Event{{Kind: kind, Peer: &bus.Peer{Instance: "a"}}}
	}
	for _, test := range []struct {
		name   string
		began  time.Time
		wanted tags.Set
		events []bus.Event
		entry  directory.Entry
		want   string // in the error; empty: none
	}{
		{"one that does not answer", long, tags.Of(1), nil, publisher, "1 publisher refused: pub@pc: it has not answered for 4s"},
		{"all tags are wanted", long, tags.Set{}, nil, publisher, "it has not answered for 4s"},
		{"one that came later", now.Add(-time.Hour), tags.Of(1), nil, of("a", directory.Publisher, long, tags.Of(1)), "it has not answered for 4s"},
		{"a run that is too short for an answer", now.Add(-time.Second), tags.Of(1), nil, publisher, ""},
		{"one that has just come", now.Add(-time.Hour), tags.Of(1), nil, of("a", directory.Publisher, now.Add(-time.Second), tags.Of(1)), ""},
		{"a clock that is ahead", long, tags.Of(1), nil, of("a", directory.Publisher, now.Add(time.Hour), tags.Of(1)), ""},
		{"other tags", long, tags.Of(7), nil, publisher, ""},
		{"no tags yet", long, tags.Set{}, nil, of("a", directory.Publisher, long, tags.Set{}), ""},
		{"one that is connected", long, tags.Of(1), said(bus.Connected), publisher, ""},
		{"one that has ended", long, tags.Of(1), said(bus.Goodbye), publisher, ""},
		{"one whose answer may have been dropped", long, tags.Of(1), []bus.Event{{Kind: bus.Problem, Err: &bus.EventsDroppedError{Events: 1}}}, publisher, ""},
		{"a receiver", long, tags.Of(1), nil, of("a", directory.Receiver, long, tags.Of(1)), ""},
		{"a command that does not look for publishers", time.Time{}, tags.Of(1), nil, publisher, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := session.Presence{Wanted: test.wanted, Began: test.began}
			for _, e := range test.events {
				p.See(e)
			}
			p.Settle(session.ListedBy(listing{entries: []directory.Entry{test.entry}, contact: now}), now)
			got := p.Refusal("publisher")
			if (got == nil) != (test.want == "") || got != nil && !strings.Contains(got.Error(), test.want) {
				t.Errorf("got %v, want %q", got, test.want)
			}
		})
	}
}

// A run of a second whose output takes a minute to be written has looked for publishers for a second.
func TestPresence_Settle_afterTheOutputIsWritten(t *testing.T) {
	ended := time.Now().Add(-time.Minute)
	for name, since := range map[string]time.Time{"was there all the time": ended.Add(-time.Hour), "came after the end": ended.Add(time.Second)} {
		p := session.Presence{Began: ended.Add(-time.Second)}
		p.Settle(session.ListedBy(listing{entries: []directory.Entry{{Instance: "a", Since: since, Tags: tags.Of(1)}}}), ended)
		if err := p.Refusal("publisher"); err != nil {
			t.Errorf("a publisher that %s: got %v, want nothing of it", name, err)
		}
	}
}
