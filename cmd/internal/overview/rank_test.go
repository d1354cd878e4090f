// SPDX-License-Identifier: Apache-2.0

package overview_test

import (
	"slices"
	"testing"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/state"
	"tagbus/cmd/internal/overview"
	"tagbus/cmd/internal/overview/overviewtest"
)

// TestTheWorstIsFirst: a publisher that was killed stood behind the monitors that had vanished,
// of which more is said, and what is lost before the subscriber that takes nothing.
func TestTheWorstIsFirst(t *testing.T) {
	o := overviewtest.Situations()[0].Look
	o.Dead = []overview.Dead{{Entry: directory.Entry{Instance: "I9", Name: "felix-9"}, Since: overviewtest.Noon.Add(-time.Minute), Why: "its process has ended"}}
	for i := range o.Rows {
		s := o.Rows[i].State
		s.Gone = []state.Peer{{Instance: "M1", Name: "monitor", Ended: overviewtest.Noon.Add(-time.Minute), Reason: "bus: nothing heard for 6s", Unconfirmed: 1000}}
		s.Sending.Unconfirmed = 1000
		s.Peers = append(s.Peers, state.Peer{Instance: "S2", Name: "lossy", Losses: []state.Loss{{Cause: state.Full, Messages: 1 << 40, Last: overviewtest.Noon}}})
		s.Losses, s.Connected = s.Peers[1].Losses, 2
	}
	o.Rows[2].State.Peers[0].StalledSince, o.Rows[2].State.Stalled = overviewtest.Noon.Add(-time.Minute), 1
	var got []string
	for _, g := range overview.Groups(o.Problems()) {
		got = append(got, g.ID)
	}
	want := []string{overview.StaleEntry, overview.PeerStalled, overview.Losing, overview.PeerGone, overview.Unconfirmed}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestACountAndItsSpanAreOfOneTime: the messages of the last second were shown with the time since
// the first loss of the day.
func TestACountAndItsSpanAreOfOneTime(t *testing.T) {
	hour := overviewtest.Noon.Add(-time.Hour)
	look := func(r *overview.Row, before, now uint64, last time.Time) {
		losses := func(n uint64) []state.Loss {
			return []state.Loss{{Cause: state.Full, Messages: n, First: hour, Last: last}}
		}
		r.State.Losses, r.Before.Losses = losses(now), losses(before)
		r.State.Peers[0].Losses, r.Before.Peers[0].Losses = r.State.Losses, r.Before.Losses
	}
	grown := func(o *overview.Overview) { look(&o.Rows[0], 2000, 2007, overviewtest.Noon) }
	inAll := func(o *overview.Overview) { look(&o.Rows[1], 2007, 2007, overviewtest.Noon.Add(-3*time.Second)) }
	swapped := func(o *overview.Overview) {
		grown(o)
		inAll(o)
		o.Rows[0], o.Rows[1] = o.Rows[1], o.Rows[0]
	}
	unnamed := func(o *overview.Overview) {
		grown(o)
		o.Rows[0].State.Peers, o.Rows[0].Before.Peers = nil, nil
	}
	for name, do := range map[string]func(o *overview.Overview){
		"of one publisher":                     grown,
		"of peers that are not named":          unnamed,
		"another one tells of all":             func(o *overview.Overview) { grown(o); inAll(o) },
		"another one that comes first, of all": swapped,
	} {
		o := overviewtest.Situations()[0].Look
		do(&o)
		groups := overview.Groups(o.Problems())
		g := groups[0]
		if len(groups) != 1 || g.ID != overview.Losing || g.Count != 7 || g.InAll || !g.First.Equal(overviewtest.Noon.Add(-time.Second)) || !g.Last.Equal(overviewtest.Noon) {
			t.Errorf("%s: got %q, want 7 within the last second", name, g.Text())
		}
	}
}
