// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/state"
	"tagbus/internal/testkit"
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
		gone  string        // "TIME REASON": when it left the publisher, ago, and why; no reason: in order
		known bool
		want  string // level and id
	}{
		{"connected", directory.Subscriber, 1, time.Hour, 0, "", true, ""},
		{"not connected", directory.Subscriber, 1, time.Hour, 0, "", false, "warning not-connected"},
		{"not connected yet", directory.Subscriber, 1, time.Second, 0, "", false, "note not-connected"},
		{"not connected, with a clock that is ahead", directory.Subscriber, 1, -time.Hour, 0, "", false, "warning not-connected"},
		{"maybe connected", directory.Subscriber, 1, time.Hour, 1, "", false, ""},
		{"gone, which the publisher tells", directory.Subscriber, 1, time.Hour, 0, "9m silent", false, ""},
		{"gone for long", directory.Subscriber, 1, time.Hour, 0, "11m silent", false, "warning not-connected"},
		{"left in order", directory.Subscriber, 1, time.Hour, 0, "1m", false, "warning not-connected"},
		{"left just now", directory.Subscriber, 1, time.Hour, 0, "5s", false, ""},
		{"left, and there is nothing for it any more", directory.Subscriber, 9, time.Hour, 0, "11m silent", false, "warning no-publisher"},
		{"without a publisher", directory.Subscriber, 9, time.Hour, 0, "", false, "warning no-publisher"},
		{"without a publisher yet", directory.Subscriber, 9, 50 * time.Second, 0, "", false, "note no-publisher"},
		{"without a receiver", directory.Sender, 1, time.Hour, 0, "", false, "warning no-receiver"},
	} {
		t.Run(test.name, func(t *testing.T) {
			now := time.Now()
			answer := &state.State{Connected: test.peers, Time: now}
			if ago, reason, _ := strings.Cut(test.gone, " "); ago != "" {
				age, err := time.ParseDuration(ago)
				testkit.Must(t, err)
				answer.Gone = []state.Peer{{Instance: "C", Reason: reason, Ended: now.Add(-age)}}
			} else if test.known {
				answer.Peers, answer.Connected = []state.Peer{{Instance: "C"}}, 1
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

// TestWhatIsNotKnownIsNotCalledConnected: of a client whose publisher could not be asked, or whose tags are too many to be
// compared, check says nothing good.
func TestWhatIsNotKnownIsNotCalledConnected(t *testing.T) {
	apart := make([]tags.Tag, 4000)
	for i := range apart {
		apart[i] = tags.Tag(3*i + 2)
	}
	for _, test := range []struct {
		name    string
		clients int
		has     []tags.Tag // the publisher
		answers bool
		want    string
	}{
		{"a publisher that could not be asked", 3, []tags.Tag{3}, false, ""},
		{"too many tags", 5000, apart, true, "note contacts-unchecked"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := &seen{at: time.Now(), entries: make([]entrySeen, 1), us: us{expiry: time.Hour}}
			s.entries[0].Entry = directory.Entry{Instance: "P", Name: "pub", Role: directory.Publisher, Tags: tags.Of(test.has...)}
			if test.answers {
				s.entries[0].first.state = &state.State{}
			}
			wanted := make([]tags.Tag, len(apart))
			for i := range wanted {
				wanted[i] = tags.Tag(3 * (i + 1))
			}
			for i := range test.clients {
				s.dialers = append(s.dialers, directory.Entry{Instance: strconv.Itoa(i), Role: directory.Subscriber, Tags: tags.Of(wanted...), Since: s.at})
			}
			got := ""
			for _, f := range judgeContacts(s) {
				switch {
				case f.Level == OK:
					t.Errorf("got %q", f.Text)
				case f.ID != "no-publisher": // of those that come first
					got += f.Level.String() + " " + f.ID
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
	{"a subscriber is denied tags", func(s *seen) { // it was connected to all that it wants
		dialer(directory.Subscriber, tags.Of(0x10), time.Hour)(s)
		answer := s.entries[0].state()
		answer.Peers, answer.Connected = append(answer.Peers, state.Peer{Instance: "C", Denied: "0x0000000000000010"}), answer.Connected+1
	}},
	{"a sender is denied tags", func(s *seen) { // it waited for ever, and all was well
		dialer(directory.Sender, tags.Of(0x200, 0x201), time.Hour)(s)
		s.entries[0].Entry.Role, s.entries[0].Entry.Tags = directory.Receiver, tags.Of(0x200, 0x201, 0x202)
		answer := s.entries[0].state()
		answer.Peers, answer.Connected = append(answer.Peers, state.Peer{Instance: "C", Denied: "0x0000000000000201-0x0000000000000202"}), answer.Connected+1
	}},
	{"clients have too many tags", func(s *seen) {
		wanted := make([]tags.Tag, 100_000)
		for i := range wanted {
			wanted[i] = tags.Tag(0x10 + 1000*i) // the first publisher has one of them
		}
		dialer(directory.Subscriber, tags.Of(wanted...), time.Hour)(s)
		answer := s.entries[0].state()
		answer.Peers, answer.Connected = append(answer.Peers, state.Peer{Instance: "C"}), answer.Connected+1
		s.dialers = slices.Repeat(s.dialers, 1000)
	}},
}

// dialer adds a client that was started before.
func dialer(role directory.Role, set tags.Set, before time.Duration) func(*seen) {
	return func(s *seen) {
		s.at = time.Now()
		s.dialers = []directory.Entry{{Instance: "C", Name: "mon\x1b[2J", Host: "pc-9", Role: role, Tags: set, Since: s.at.Add(-before)}}
	}
}
