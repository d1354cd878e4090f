// SPDX-License-Identifier: Apache-2.0

package overview_test

import (
	"strings"
	"testing"
	"time"

	"tagbus/bus/state"
	"tagbus/cmd/internal/overview"
	"tagbus/cmd/internal/overview/overviewtest"
)

func TestProblems(t *testing.T) {
	for _, s := range overviewtest.Situations() {
		t.Run(s.Name, func(t *testing.T) {
			all := s.Look.Problems()
			groups := overview.Groups(all)
			if got := overview.Worst(all); got != s.Want || s.Want == overview.OK && len(all) > 0 {
				t.Fatalf("got %v, want %v: %+v", got, s.Want, all)
			}
			if s.Want == overview.OK {
				return
			}
			g := groups[0]
			if text := g.Text(); g.ID != s.ID || text == "" || text == g.ID || s.Who != "" && g.Culprit.Name != s.Who {
				t.Errorf("got %s about %q: %q, want %s about %q", g.ID, g.Culprit.Name, text, s.ID, s.Who)
			}
			if g.Do() == "" {
				t.Errorf("%s: it does not say what to do", g.ID)
			}
		})
	}
}

// What a culprit says of itself, its witnesses say in part: it counts once.
func TestAGroupCountsOnce(t *testing.T) {
	disk := overview.End{Instance: "S1", Name: "disk"}
	var all []overview.Problem
	for _, name := range []string{"felix-1", "felix-2"} {
		all = append(all, overview.Problem{Level: overview.Note, ID: overview.Losing, Culprit: disk, Witness: overview.End{Instance: name, Name: name}, Cause: state.Overflow, Count: 5})
	}
	all = append(all, overview.Problem{Level: overview.Warning, ID: overview.Losing, Culprit: disk, Witness: disk, Cause: state.Overflow, Count: 12})
	all = append(all, overview.Problem{Level: overview.Warning, ID: overview.Losing, Culprit: disk, Witness: disk, Cause: state.Full, Count: 1})
	groups := overview.Groups(all)
	if len(groups) != 2 || groups[0].Count != 12 || groups[0].Level != overview.Warning || len(groups[0].Witnesses) != 3 || len(groups[0].Problems) != 3 {
		t.Fatalf("got %+v, want two causes, and 12 messages of one", groups)
	}
	if text := groups[0].Text(); !strings.HasSuffix(text, "12 for the cause overflow (say 3: felix-1, felix-2, disk)") {
		t.Errorf("got %q", text)
	}
}

// A receiver is the culprit of what it loses itself, and its sender of what a connection has cost.
func TestAReceiverIsItsOwnCulprit(t *testing.T) {
	s := &state.State{Role: state.Receiver, Time: overviewtest.Noon, Instance: "R1", Connected: 1}
	s.Losses = []state.Loss{{Cause: state.Overflow, Messages: 3, Last: s.Time}, {Cause: state.Connection, Messages: 2, Last: s.Time}}
	s.Peers = []state.Peer{{Instance: "P1", Name: "control", Losses: s.Losses}}
	o := overview.Overview{Time: s.Time, Rows: []overview.Row{{State: s}}}
	o.Rows[0].Entry.Instance, o.Rows[0].Entry.Name = "R1", "device"
	for _, g := range overview.Groups(o.Problems()) {
		want := map[state.Cause]string{state.Overflow: "device", state.Connection: "control"}[g.Cause]
		if g.ID != overview.Losing || g.Culprit.Name != want {
			t.Errorf("got %s of %q for %s, want %q", g.ID, g.Culprit.Name, g.Cause, want)
		}
	}
}

// A loss of a few seconds ago counts as one of now. What was lost in all is not what is lost now.
func TestALossSaysWhatHasGrown(t *testing.T) {
	const before, late = 2000, "messages were lost a moment ago, 2,007 in all for the cause overflow, between "
	tests := []struct {
		name   string
		before []uint64 // of each publisher, in the look before
		want   string
	}{
		{"it has not grown", []uint64{before + 7}, late},
		{"it has", []uint64{before}, "messages are lost now, 7 for the cause overflow, between "},
		{"at one of two", []uint64{before + 7, before}, "messages are lost now, 7 for the cause overflow, between "},
		{"at the other one", []uint64{before, before + 7}, "messages are lost now, 7 for the cause overflow, between "},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			o := overviewtest.Situations()[0].Look
			for i, n := range test.before {
				r := &o.Rows[i]
				losses := func(messages uint64) []state.Loss {
					return []state.Loss{{Cause: state.Overflow, Messages: messages, First: overviewtest.Noon.Add(-time.Hour), Last: overviewtest.Noon.Add(-3 * time.Second)}}
				}
				r.State.Losses, r.Before.Losses = losses(before+7), losses(n)
				r.State.Peers[0].Losses, r.Before.Peers[0].Losses = r.State.Losses, r.Before.Losses
			}
			groups := overview.Groups(o.Problems())
			if len(groups) != 1 || groups[0].ID != overview.Losing || !strings.HasPrefix(groups[0].Text(), test.want) {
				t.Errorf("got %+v, want %q", groups, test.want)
			}
		})
	}
}
