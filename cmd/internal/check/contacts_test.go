// SPDX-License-Identifier: Apache-2.0

package check

import (
	"strings"
	"testing"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/state"
	"tagbus/tags"
)

// TestWhatIsConnectedToNothingIsNamed: a subscriber of tags that no publisher has, and one without a
// connection to a publisher that answers, were as good as any other.
func TestWhatIsConnectedToNothingIsNamed(t *testing.T) {
	for _, test := range []struct {
		name  string
		role  directory.Role
		tag   tags.Tag
		since time.Duration // ago
		peers int           // that the publisher has beside those that it names
		gone  bool
		known bool
		want  string // level and id
	}{
		{"connected", directory.Subscriber, 1, time.Hour, 0, false, true, ""},
		{"not connected", directory.Subscriber, 1, time.Hour, 0, false, false, "warning not-connected"},
		{"not connected yet", directory.Subscriber, 1, time.Second, 0, false, false, "note not-connected"},
		{"not connected, with a clock that is ahead", directory.Subscriber, 1, -time.Hour, 0, false, false, "warning not-connected"},
		{"maybe connected", directory.Subscriber, 1, time.Hour, 1, false, false, ""},
		{"gone, which others tell", directory.Subscriber, 1, time.Hour, 0, true, false, ""},
		{"without a publisher", directory.Subscriber, 9, time.Hour, 0, false, false, "warning no-publisher"},
		{"without a publisher yet", directory.Subscriber, 9, 50 * time.Second, 0, false, false, "note no-publisher"},
		{"without a receiver", directory.Sender, 1, time.Hour, 0, false, false, "warning no-receiver"},
	} {
		t.Run(test.name, func(t *testing.T) {
			now := time.Now()
			answer := &state.State{Connected: test.peers}
			if peer := []state.Peer{{Instance: "C"}}; test.gone {
				answer.Gone = peer
			} else if test.known {
				answer.Peers, answer.Connected = peer, 1
			}
			s := &seen{at: now, entries: make([]entrySeen, 1), us: us{expiry: time.Hour}}
			s.entries[0].Entry = directory.Entry{Instance: "P", Name: "pub", Role: directory.Publisher, Tags: tags.Of(1)}
			s.entries[0].first.state = answer
			s.dialers = []directory.Entry{{Instance: "C", Name: "cli", Host: "pc", Role: test.role, Tags: tags.Of(test.tag), Since: now.Add(-test.since)}}
			var got string
			for _, f := range judgeContacts(s) {
				if f.Level > OK {
					got = strings.TrimSpace(got + " " + f.Level.String() + " " + f.ID)
				}
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// contactsWrongs are subscribers and senders that are connected to nothing.
var contactsWrongs = []wrong{
	{"a subscriber is not connected", dialer(directory.Subscriber, tags.Everything(), time.Hour)},
	{"a subscriber may still be dialing", dialer(directory.Subscriber, tags.Everything(), time.Second)},
	{"a subscriber waits for ever", dialer(directory.Subscriber, tags.Of(0x9999), time.Hour)},
	{"a sender waits for ever", dialer(directory.Sender, tags.Of(0x9999), time.Hour)},
}

// dialer adds a client that was started before.
func dialer(role directory.Role, set tags.Set, before time.Duration) func(*seen) {
	return func(s *seen) {
		s.at = time.Now()
		s.dialers = []directory.Entry{{Instance: "C", Name: "mon\x1b[2J", Host: "pc-9", Role: role, Tags: set, Since: s.at.Add(-before)}}
	}
}
