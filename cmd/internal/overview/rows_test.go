// SPDX-License-Identifier: Apache-2.0

package overview_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tagbus/bus/directory"
	"tagbus/bus/state"
	"tagbus/cmd/internal/overview"
	"tagbus/internal/testkit"
	"tagbus/tags"
)

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// publisher returns a row of two looks, 2 s apart.
func publisher(name string, change func(before, now *state.State)) overview.Row {
	before := &state.State{Instance: "id-" + name, Name: name, Time: noon, Sending: &state.Sending{PoolPages: 100, PoolFreePages: 100}}
	now := &state.State{Instance: "id-" + name, Name: name, Time: noon.Add(2 * time.Second), Sending: &state.Sending{PoolPages: 100, PoolFreePages: 60}}
	change(before, now)
	return overview.Row{Entry: directory.Entry{Instance: "id-" + name, Name: name, Host: "host-" + name, PID: 7}, Before: before, State: now}
}

func lost(cause state.Cause, n uint64) []state.Loss {
	return []state.Loss{{Cause: cause, Messages: n}}
}

func bus() overview.Overview {
	busy := publisher("busy", func(before, now *state.State) {
		before.Messages, now.Messages = 1000, 3000
		before.PayloadBytes, now.PayloadBytes = 0, 8000
		now.Sending.Refusals = 4
		now.Connected, now.Stalled, now.Fullest = 2, 1, 0.75
		peer := state.Peer{
			Instance: "s1", Name: "slow", Host: "h1", Since: noon, StalledSince: noon.Add(time.Second),
			Messages: 10, Queued: new(75), QueueLimit: new(200), Lanes: []state.Lane{{Policy: "block", Queued: 75, QueueLimit: 100}, {Policy: "latest", QueueLimit: 100}},
		}
		now.Peers = []state.Peer{peer, {Instance: "s2", Since: noon, Messages: 50, Losses: lost(state.Full, 3)}}
		before.Peers = []state.Peer{{Instance: "s2", Since: noon, Messages: 30, Losses: lost(state.Full, 3)}}
		now.Losses = lost(state.Full, 3)
		before.Losses = now.Losses
	})
	losing := publisher("losing", func(before, now *state.State) {
		before.Messages, now.Messages = 0, 6000
		before.Losses, now.Losses = lost(state.Memory, 10), lost(state.Memory, 30)
		now.Connected = 1
	})
	idle := publisher("idle", func(_, now *state.State) { now.Connected = 1 })
	idle.Before = nil
	idle.Entry.Tags = tags.Of(0x10, 0x11)
	gone := overview.Row{Entry: directory.Entry{Instance: "id-gone", Host: "h9"}, Err: errors.New("connection refused"), SilentSince: noon}
	receiver := overview.Row{
		Entry: directory.Entry{Instance: "r1", Name: "sink", Role: directory.Receiver},
		State: &state.State{Instance: "r1", Time: noon, Peers: []state.Peer{{Instance: "x1", Name: "source", Path: &state.Path{Segments: 5}}}}, // of its acknowledgements
	}
	return overview.Overview{Time: noon.Add(2 * time.Second), Rows: []overview.Row{busy, gone, idle, losing, receiver}}
}

func TestInstancesAsJSON(t *testing.T) {
	o := bus()
	want := []string{
		`{"time":"2026-11-23T12:00:02Z","instance":"id-busy","name":"busy","host":"host-busy","pid":7,"role":"publisher",` +
			`"connected_peers":2,"stalled_peers":1,"stuck_peers":1,"fullest_queue":0.75,"worst_peer":"slow","messages":3000,"payload_bytes":8000,"refusals":4,` +
			`"lost_messages":3,"losses":[{"cause":"full","messages":3}],"pool_pages":100,"pool_free_pages":60,` +
			`"messages_per_second":1000,"payload_bytes_per_second":4000,"refusals_per_second":2,"lost_messages_per_second":0}`,
		`{"time":"2026-11-23T12:00:02Z","instance":"id-gone","host":"h9","role":"publisher","error":"connection refused","silent_since":"2026-11-23T12:00:00Z",` +
			`"connected_peers":0,"stalled_peers":0,"stuck_peers":0,"messages":0,"payload_bytes":0,"refusals":0,"lost_messages":0}`,
	}
	for i, in := range o.Instances()[:len(want)] {
		got, err := json.Marshal(in)
		testkit.Must(t, err)
		if diff := cmp.Diff(want[i], string(got)); diff != "" {
			t.Errorf("row %d (-want +got):\n%s", i, diff)
		}
	}
}

func TestLinksAsJSON(t *testing.T) {
	o := bus()
	want := []string{
		`{"time":"2026-11-23T12:00:02Z","from":{"instance":"id-busy","name":"busy","host":"host-busy","pid":7},"to":{"instance":"s1","name":"slow","host":"h1"},` +
			`"policies":["block","latest"],"queue":0.75,"queued_bytes":75,"queue_limit_bytes":200,"sent_messages":10,"sent_bytes":0,"lost_messages":0,"left_out_messages":0,` +
			`"since":"2026-11-23T12:00:00Z","stalled_since":"2026-11-23T12:00:01Z","stuck":true,"stalled_seconds":1}`,
		`{"time":"2026-11-23T12:00:02Z","from":{"instance":"id-busy","name":"busy","host":"host-busy","pid":7},"to":{"instance":"s2"},` +
			`"sent_messages":50,"sent_bytes":0,"lost_messages":3,"left_out_messages":0,` +
			`"losses":[{"cause":"full","messages":3}],"since":"2026-11-23T12:00:00Z","stuck":false,` +
			`"sent_messages_per_second":10,"sent_bytes_per_second":0,"lost_messages_per_second":0}`,
		`{"time":"2026-11-23T12:00:02Z","from":{"instance":"x1","name":"source"},"to":{"instance":"r1","name":"sink"},` +
			`"sent_messages":0,"sent_bytes":0,"lost_messages":0,"left_out_messages":0,"since":"0001-01-01T00:00:00Z","stuck":false}`,
	}
	links := o.Links()
	if len(links) != len(want) {
		t.Fatalf("got %d links, want %d", len(links), len(want))
	}
	for i, l := range links {
		got, err := json.Marshal(l)
		testkit.Must(t, err)
		if diff := cmp.Diff(want[i], string(got)); diff != "" {
			t.Errorf("row %d (-want +got):\n%s", i, diff)
		}
	}
}

func TestTotals(t *testing.T) {
	o := bus()
	got := o.Totals(overview.Groups(o.Problems()))
	want := overview.Totals{
		Entries: 5, Silent: 1, Connected: 4, Stalled: 1, Stuck: 1, Losing: 1,
		MessageRate: 4000, ByteRate: 4000, LostRate: 10,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("totals (-want +got):\n%s", diff)
	}
}

func TestTrouble(t *testing.T) {
	o := bus()
	var got []overview.Trouble
	for _, in := range o.Instances() {
		got = append(got, in.Trouble())
	}
	for _, l := range o.Links() {
		got = append(got, l.Trouble())
	}
	want := []overview.Trouble{
		overview.Now, overview.Silent, overview.Fine, overview.Now, overview.Fine, // instances
		overview.Now, overview.Earlier, overview.Fine, // links
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("trouble (-want +got):\n%s", diff)
	}
}

// TestManyPeersHaveRates: they are not looked through one by one.
func TestManyPeersHaveRates(t *testing.T) {
	row := publisher("p", func(before, now *state.State) {
		for i := range 100 {
			p := state.Peer{Instance: string(rune('A' + i)), Since: noon}
			before.Peers = append(before.Peers, p)
			p.Messages = uint64(2 * i)
			if i == 99 {
				p.Since = noon.Add(time.Second) // another connection
			}
			now.Peers = append([]state.Peer{p}, now.Peers...)
		}
	})
	o := overview.Overview{Rows: []overview.Row{row}}
	for i, l := range o.Links() {
		want := overview.Rate(99 - i)
		if i == 0 {
			want = overview.Unknown
		}
		if l.MessageRate != want {
			t.Errorf("link %d: got %v a second, want %v", i, l.MessageRate, want)
		}
	}
}

func names(rows []overview.Instance) string {
	var all []string
	for _, in := range rows {
		all = append(all, overview.Label(in.Name, in.Instance))
	}
	return strings.Join(all, " ")
}

func TestOrderOfInstances(t *testing.T) {
	for by, want := range map[overview.Order]string{
		overview.ByMessages: "losing busy idle sink id-gone",
		overview.ByBytes:    "busy losing idle sink id-gone",
		overview.ByQueue:    "busy losing idle sink id-gone",
		overview.ByLost:     "losing busy idle sink id-gone",
	} {
		o := bus()
		rows := o.Instances()
		new(overview.Sorter).Instances(rows, by)
		if got := names(rows); got != want {
			t.Errorf("by %s: got %s, want %s", by, got, want)
		}
	}
}

func TestOrderOfLinks(t *testing.T) {
	row := publisher("p", func(_, now *state.State) {
		now.Peers = []state.Peer{
			{Instance: "a", Name: "free", QueueLimit: new(10)},
			{Instance: "b", Name: "full", Queued: new(9), QueueLimit: new(10)},
			{Instance: "c", Name: "lost", Losses: lost(state.Full, 1)},
			{Instance: "d", Name: "stalled", StalledSince: noon},
			{Instance: "e", Name: "longer", StalledSince: noon.Add(-time.Minute)},
			{Instance: "f", Name: "cut", Broken: 2, LastBroken: noon.Add(-time.Minute)},
		}
	})
	for by, want := range map[overview.Order]string{
		overview.ByQueue: "longer stalled cut full free lost",
		overview.ByLost:  "lost cut free full longer stalled",
	} {
		o := overview.Overview{Rows: []overview.Row{row}}
		links := o.Links()
		new(overview.Sorter).Links(links, by)
		var got []string
		for _, l := range links {
			got = append(got, l.To.Label())
		}
		if strings.Join(got, " ") != want {
			t.Errorf("by %s: got %v, want %s", by, got, want)
		}
	}
}

// TestRowsDoNotJump: two rows with nearly the same figures keep their places.
func TestRowsDoNotJump(t *testing.T) {
	var s overview.Sorter
	for i, look := range []struct {
		a, b overview.Rate
		want string
	}{
		{1000, 990, "a b"},
		{1000, 1010, "a b"},
		{1000, 1050, "a b"},
		{1000, 1110, "b a"},
		{1100, 1090, "b a"}, // a has come to 1100 and b is still where it was with 1110
		{1100, 900, "a b"},
		{1100, 0, "a b"},
		{0, 1, "b a"},
	} {
		rows := []overview.Instance{{Name: "a", Instance: "1", MessageRate: look.a}, {Name: "b", Instance: "2", MessageRate: look.b}}
		s.Instances(rows, overview.ByMessages)
		if got := names(rows); got != look.want {
			t.Errorf("look %d: got %s, want %s", i, got, look.want)
		}
	}
}

func TestFilter(t *testing.T) {
	for _, test := range []struct{ text, instances, links string }{
		{"", "busy id-gone idle losing sink", "slow s2 sink"},
		{" ", "busy id-gone idle losing sink", "slow s2 sink"},
		{"BUS", "busy", "slow s2"},
		{"host-", "busy idle losing", "slow s2"},
		{"h9", "id-gone", ""},
		{"slow", "", "slow"},
		{"s2", "", "s2"},
		{"source", "", "sink"},
		{"0x11", "idle", ""},
		{"0x10-0x20", "idle", ""},
		{"0x12", "", ""},
	} {
		o := bus()
		f := overview.NewFilter(test.text)
		var links []string
		for _, l := range f.Links(o.Links()) {
			links = append(links, l.To.Label())
		}
		if got := names(f.Instances(o.Instances())); got != test.instances || strings.Join(links, " ") != test.links {
			t.Errorf("%q: got %s and %v, want %s and %s", test.text, got, links, test.instances, test.links)
		}
	}
}

// TestStuck: a peer that is stopped is not called stalled until it has been for a while, and
// it has taken nothing for all that.
func TestStuck(t *testing.T) {
	for _, test := range []struct {
		name          string
		queued        int
		before, now   uint64
		stalled, want bool
	}{
		{"its queue is filling and nothing goes", 51, 10, 10, false, true},
		{"its queue is filling and something goes", 99, 10, 11, false, false},
		{"nothing goes and little waits", 50, 10, 10, false, false},
		{"stalled", 0, 10, 11, true, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			row := publisher("p", func(before, now *state.State) {
				before.Peers = []state.Peer{{Instance: "s", Since: noon, Messages: test.before}}
				p := state.Peer{Instance: "s", Since: noon, Messages: test.now, Queued: new(test.queued), QueueLimit: new(100)}
				if test.stalled {
					p.StalledSince = noon
				}
				now.Peers = []state.Peer{p}
			})
			o := overview.Overview{Rows: []overview.Row{row}}
			in, l := o.Instances()[0], o.Links()[0]
			if l.Stuck != test.want || (l.Trouble() == overview.Now) != test.want || (in.Stuck == 1) != test.want || (in.Trouble() == overview.Now) != test.want {
				t.Errorf("got %+v and %+v, want stuck: %v", in, l, test.want)
			}
		})
	}
}

// TestMissing: peers that went without goodbye are missed until they come back, for ten
// minutes.
func TestMissing(t *testing.T) {
	went := func(name string, ago time.Duration, reason string) state.Peer {
		return state.Peer{Instance: "id-" + name, Name: name, Host: "h1", Ended: noon.Add(-ago), Reason: reason}
	}
	row := publisher("det", func(_, now *state.State) {
		now.Time, now.Connected = noon, 1
		now.Peers = []state.Peer{{Instance: "id-new", Name: "again", Host: "h1"}}
		now.Gone = []state.Peer{
			went("again", time.Second, "killed"), went("display", 9*time.Minute, "nothing heard"),
			went("", 9*time.Minute, "nothing heard"), went("old", 11*time.Minute, "killed"), went("orderly", time.Second, ""),
		}
	})
	o := overview.Overview{Time: noon, Rows: []overview.Row{row}}
	in := o.Instances()[0]
	if in.Missing != 2 || in.Missed != "display" || in.Trouble() != overview.Earlier {
		t.Errorf("got %d, %q and trouble %v, want 2, display and %v", in.Missing, in.Missed, in.Trouble(), overview.Earlier)
	}
	if sum := o.Totals(overview.Groups(o.Problems())); sum.Missing != 2 {
		t.Errorf("sum: got %d missing, want 2", sum.Missing)
	}
	row.State.Connected = 2 // one that the answer does not have may be display
	if in := o.Instances()[0]; in.Missing != 0 || in.Missed != "" || in.Trouble() != overview.Fine {
		t.Errorf("not all peers are known: got %d, %q and trouble %v, want nothing", in.Missing, in.Missed, in.Trouble())
	}
}

// TestAStoppedPeerIsStuckBeforeItsQueueFills: at low rates it is dropped before.
func TestAStoppedPeerIsStuckBeforeItsQueueFills(t *testing.T) {
	tests := []struct {
		name   string
		queued int
		heard  time.Duration
		sent   uint64
		stuck  bool
		worst  string
	}{
		{"stopped", 3, 3 * time.Second, 0, true, "display"},
		{"stopped, and the kernel takes its messages", 3, 3 * time.Second, 5, false, "display"},
		{"waiting for a moment", 3, 2 * time.Second, 0, false, ""},
		{"idle without heartbeats", 0, time.Hour, 0, false, ""},
	}
	for _, test := range tests {
		row := publisher("det", func(before, now *state.State) {
			peer := state.Peer{Instance: "id", Name: "display", Since: noon, QueueLimit: new(100), Messages: 7}
			before.Peers = []state.Peer{peer}
			peer.Queued, peer.Heard, peer.Messages = new(test.queued), now.Time.Add(-test.heard), 7+test.sent
			now.Peers, now.Connected = []state.Peer{peer}, 1
		})
		o := overview.Overview{Time: noon, Rows: []overview.Row{row}}
		if in, l := o.Instances()[0], o.Links()[0]; in.Stuck > 0 != test.stuck || l.Stuck != test.stuck || in.Worst != test.worst {
			t.Errorf("%s: got %d stuck, link %t and worst %q, want %t and %q", test.name, in.Stuck, l.Stuck, in.Worst, test.stuck, test.worst)
		}
	}
}

// TestAReceiverThatLosesItselfBlamesNoSender: the peer to look at was the sender.
func TestAReceiverThatLosesItselfBlamesNoSender(t *testing.T) {
	for _, test := range []struct {
		cause   state.Cause
		worst   string
		itself  bool
		sending *state.Sending
	}{
		{state.Overflow, "", true, nil},
		{state.Connection, "control", true, nil},
		{state.Overflow, "control", false, new(state.Sending)},
	} {
		row := publisher("det", func(before, now *state.State) {
			before.Peers = []state.Peer{{Instance: "id", Name: "control", Since: noon}}
			now.Peers, now.Connected = []state.Peer{{Instance: "id", Name: "control", Since: noon, Losses: lost(test.cause, 7)}}, 1
			now.Losses, now.Sending, before.Sending = lost(test.cause, 7), test.sending, test.sending
		})
		o := overview.Overview{Time: noon, Rows: []overview.Row{row}}
		if in := o.Instances()[0]; in.Worst != test.worst || in.LosesItself() != test.itself {
			t.Errorf("%s: got worst %q, itself %t, want %q, %t", test.cause, in.Worst, in.LosesItself(), test.worst, test.itself)
		}
	}
}
