// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"tagbus/bus"
	"tagbus/bus/directory"
	"tagbus/bus/directory/signed"
	"tagbus/cmd/internal/session"
	"tagbus/tags"
)

// TestWhatTheDirectoryHidesIsNotThere: a recording was whole though the entry of a publisher of its tags was refused, as its
// certificate had ended, or could not be read.
func TestWhatTheDirectoryHidesIsNotThere(t *testing.T) {
	refused := func(why error, role directory.Role, some ...tags.Tag) error {
		return &signed.RefusedError{Instance: "a", Name: "pub", Host: "pc", Role: role, Tags: tags.Of(some...), Err: why}
	}
	unsigned := refused(signed.ErrUnsigned, directory.Publisher, 1)
	unread := fmt.Errorf("%w: a.jsonl: permission denied", directory.ErrHidden)
	told := func(err error) bus.Event { return bus.Event{Kind: bus.Problem, Err: err} }
	with := func(kind bus.EventKind) bus.Event {
		return bus.Event{Kind: kind, Peer: &bus.Peer{Instance: "a", Name: "pub", Host: "pc"}}
	}
	const wantRefused, wantMissing = "1 publisher refused: pub@pc: directory: the entry of a (pub@pc) is not used: it is not signed", "a publisher may be missing: "
	for _, test := range []struct {
		name   string
		events []bus.Event
		at     error // that the directory has at the end
		want   string
	}{
		{"an entry that is refused", []bus.Event{told(unsigned)}, unsigned, wantRefused},
		{"one that is refused, and gone at the end", []bus.Event{told(unsigned)}, nil, wantRefused},
		{"one whose event was dropped", nil, errors.Join(errors.New("slow"), unsigned), wantRefused},
		{"one that is refused at first", []bus.Event{told(unsigned), with(bus.Connected), with(bus.Subscribed)}, nil, ""},
		{"one of other tags", []bus.Event{told(refused(signed.ErrUnsigned, directory.Publisher, 2))}, nil, ""},
		{"one of a receiver", []bus.Event{told(refused(signed.ErrUnsigned, directory.Receiver, 1))}, nil, ""},
		{"one of a program that is gone", []bus.Event{told(refused(signed.ErrStale, directory.Publisher, 1))}, nil, ""},
		{"one that was put back", []bus.Event{told(refused(signed.ErrReplayed, directory.Publisher, 1))}, nil, ""},
		{"a file that cannot be read", nil, unread, wantMissing},
		{"a file that can be read at the end", []bus.Event{told(unread)}, nil, ""},
		{"a problem that hides nothing", nil, fmt.Errorf("%w: a stray file", directory.ErrHarmless), ""},
		{"a directory that is slow", nil, errors.New("slow"), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := session.Presence{Wanted: tags.Of(1), Began: time.Now()}
			for _, e := range test.events {
				p.See(e)
			}
			p.Settle(session.ListedBy(listing{err: test.at, contact: time.Now()}), time.Now())
			switch got := p.Refusal("publisher"); {
			case test.want == "" && got != nil, test.want != "" && (got == nil || !strings.Contains(got.Error(), test.want)):
				t.Errorf("got %v, want %q", got, test.want)
			}
		})
	}
}
