// SPDX-License-Identifier: Apache-2.0

package overview_test

import (
	"strings"
	"testing"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/state"
	"tagbus/cmd/internal/overview"
	"tagbus/tags"
)

// TestWhatAClientLacks of what it wants, as far as others tell.
func TestWhatAClientLacks(t *testing.T) {
	row := func(name string, role directory.Role, set tags.Set, s *state.State) overview.Row {
		return overview.Row{Entry: directory.Entry{Instance: name, Role: role, Tags: set}, State: s}
	}
	knows := func(clients ...string) *state.State {
		s := &state.State{Connected: len(clients)}
		for _, id := range clients {
			s.Peers = append(s.Peers, state.Peer{Instance: id})
		}
		return s
	}
	left := knows()
	left.Time = time.Now()
	left.Gone = []state.Peer{
		{Instance: "gone", Reason: "silent", Ended: left.Time.Add(-time.Minute)},
		{Instance: "gone for long", Reason: "silent", Ended: left.Time.Add(-time.Hour)},
		{Instance: "gone in order", Ended: left.Time.Add(-time.Minute)},
		{Instance: "about to come back", Ended: left.Time.Add(-time.Second)},
	}
	partly := &state.State{Connected: 2, Peers: []state.Peer{{Instance: "other"}}}
	contacts := overview.NewContacts([]overview.Row{
		row("one", directory.Publisher, tags.Of(1), knows("all", "half", "twice")),
		row("two", directory.Publisher, tags.Of(2), knows("all")),
		row("again", directory.Publisher, tags.Of(1), knows()),
		row("silent", directory.Publisher, tags.Of(3), nil),
		row("crowded", directory.Publisher, tags.Of(4), partly),
		row("left", directory.Publisher, tags.Of(5), left),
		row("receiver", directory.Receiver, tags.Of(9), knows("sends")),
		row("all", directory.Subscriber, tags.Everything(), nil),
	})
	names := func(rows []*overview.Row) string {
		var all []string
		for _, r := range rows {
			all = append(all, r.Entry.Instance)
		}
		return strings.Join(all, " ")
	}
	for _, test := range []struct {
		client                     string
		role                       directory.Role
		wants                      tags.Set
		connected, lacking, untold string
		missed                     string
	}{
		{client: "lonely", role: directory.Subscriber, wants: tags.Of(9)},
		{client: "half", role: directory.Subscriber, wants: tags.Of(1, 2), connected: "one", lacking: "two"},
		{client: "all", role: directory.Subscriber, wants: tags.Of(1, 2, 7), connected: "one two"},
		{client: "twice", role: directory.Subscriber, wants: tags.Of(1), connected: "one"},
		{client: "none", role: directory.Subscriber, wants: tags.Of(1), lacking: "one again"},
		{client: "may be", role: directory.Subscriber, wants: tags.Of(3, 4), untold: "silent crowded"},
		{client: "gone", role: directory.Subscriber, wants: tags.Of(5), lacking: "left", missed: "left"},
		{client: "gone for long", role: directory.Subscriber, wants: tags.Of(5), lacking: "left"},
		{client: "gone in order", role: directory.Subscriber, wants: tags.Of(5), lacking: "left"},
		{client: "about to come back", role: directory.Subscriber, wants: tags.Of(5), lacking: "left", missed: "left"},
		{client: "sends", role: directory.Sender, wants: tags.Of(1, 9), connected: "receiver"},
		{client: "sends not", role: directory.Sender, wants: tags.Of(1, 9), lacking: "receiver"},
	} {
		got := contacts.Of(&directory.Entry{Instance: test.client, Role: test.role, Tags: test.wants})
		if names(got.Connected) != test.connected || names(got.Lacking) != test.lacking || names(got.Untold) != test.untold || names(got.Missed) != test.missed || got.Unchecked {
			t.Errorf("%s: got connected %q, lacking %q, untold %q, missed %q, unchecked %v, want %q, %q, %q, %q and false", test.client,
				names(got.Connected), names(got.Lacking), names(got.Untold), names(got.Missed), got.Unchecked, test.connected, test.lacking, test.untold, test.missed)
		}
	}
}
