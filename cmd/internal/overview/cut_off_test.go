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

// TestWhoIsMarkedForConnectionsThatEnd: a program that stood still had its peers marked, which had
// only waited for it.
func TestWhoIsMarkedForConnectionsThatEnd(t *testing.T) {
	tests := []struct {
		name                string
		broken, stalls, own uint64
		ago                 time.Duration
		peer, self          bool // is marked
		culprit             string
	}{
		{"once, for no reason", 1, 0, 0, time.Minute, false, false, "disk"},
		{"again and again", 5, 0, 0, time.Minute, true, false, "disk"},
		{"the peer took nothing", 1, 1, 0, time.Minute, true, false, "disk"},
		{"the program took nothing", 1, 0, 1, time.Minute, false, true, "felix-1"},
		{"the program took nothing again and again", 7, 0, 6, time.Minute, false, true, "felix-1"},
		{"both took nothing, the peer as often", 2, 1, 1, time.Minute, true, false, "disk"},
		{"the program took nothing once, and the peer was killed again and again", 9, 0, 1, time.Minute, true, false, "disk"},
		{"the program took nothing, long ago", 1, 0, 1, time.Hour, false, false, "felix-1"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			o := overviewtest.Situations()[0].Look
			p := &o.Rows[0].State.Peers[0] // which is new, and has lost nothing
			p.Since, p.Broken, p.StallsEnded, p.OwnStalls = overviewtest.Noon.Add(-test.ago), test.broken, test.stalls, test.own
			p.FirstBroken, p.LastBroken, p.BrokenReason = overviewtest.Noon.Add(-test.ago), overviewtest.Noon.Add(-test.ago), "the connection has ended"
			in, l := o.Instances()[0], o.Links()[0]
			if in.CutOff == 1 != test.peer || l.CutOff != test.peer || (in.Worst == "disk") != test.peer || (l.Trouble() == overview.Now) != test.peer {
				t.Errorf("got %d cut off, worst %q, link %+v, want the peer marked: %v", in.CutOff, in.Worst, l, test.peer)
			}
			if in.OwnStalls == 1 != test.self || l.OwnStall != test.self {
				t.Errorf("got %d own stalls, link %v, want the program marked: %v", in.OwnStalls, l.OwnStall, test.self)
			}
			if (in.Trouble() == overview.Now) != (test.peer || test.self) {
				t.Errorf("got trouble %v of the program", in.Trouble())
			}
			g := overview.Groups(o.Problems())[0]
			if test.culprit == "felix-1" && (g.Count != test.own || g.First.IsZero() != (test.own < test.broken)) {
				t.Errorf("got %d times since %v, want %d: others have other reasons", g.Count, g.First, test.own)
			}
			if g.ID != overview.PeerCutOff || g.Culprit.Name != test.culprit || strings.Contains(g.Text(), "it took nothing") != (test.culprit == "felix-1") {
				t.Errorf("got %s of %q: %s, want it of %s", g.ID, g.Culprit.Name, g.Text(), test.culprit)
			}
		})
	}
}

// TestAProgramThatStoodStillComesFirst in the tables, and its links do not.
func TestAProgramThatStoodStillComesFirst(t *testing.T) {
	o := overviewtest.Situations()[0].Look
	p := &o.Rows[2].State.Peers[0]
	p.Broken, p.OwnStalls, p.LastBroken = 1, 1, overviewtest.Noon.Add(-time.Minute)
	var sorter overview.Sorter
	instances := o.Instances()
	sorter.Instances(instances, overview.ByQueue)
	if got := instances[0].Instance; got != "I3" {
		t.Errorf("got %s first of the instances, want I3, which stood still", got)
	}
	links := o.Links()
	sorter.Links(links, overview.ByQueue)
	if got := links[0].From.Instance; got != "I1" {
		t.Errorf("got the link of %s first, want that of I1: no peer has a fault", got)
	}
	var none state.Peer
	if s := o.Rows[0].State; overview.CutOffNow(s, &none) || overview.OwnStallNow(s, &none) {
		t.Error("got a mark for a peer whose connections have not ended")
	}
}
