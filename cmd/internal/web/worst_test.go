// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/state"
	"tagbus/cmd/internal/overview"
	"tagbus/cmd/internal/overview/overviewtest"
	"tagbus/internal/testkit"
)

// TestNoKindHidesAnother: the list was cut at eight, and what stood behind twenty monitors that had
// vanished was not seen.
func TestNoKindHidesAnother(t *testing.T) {
	o := overviewtest.Situations()[0].Look
	s := o.Rows[0].State
	for i := range 20 {
		s.Gone = append(s.Gone, state.Peer{
			Instance: fmt.Sprintf("M%d", i), Name: fmt.Sprintf("monitor-%d", i), Ended: overviewtest.Noon.Add(-time.Minute),
			Reason: "bus: nothing heard for 6s; raise HeartbeatTimeout if it may be silent for longer",
		})
	}
	o.Dead = []overview.Dead{{Entry: directory.Entry{Instance: "I9", Name: "felix-9"}, Since: overviewtest.Noon.Add(-time.Minute), Why: "its process has ended"}}
	o.Rows[1].State.Peers[0].StalledSince, o.Rows[1].State.Stalled = overviewtest.Noon.Add(-time.Minute), 1
	f := newModel(o).frame(&shown{view: "overview", rows: 50}, Scope{Of: "bus"})
	if f.Troubles != 22 || len(f.Worst) != 5 {
		t.Errorf("got %d troubles and %d rows, want 22 and 5: a publisher, a subscriber, two monitors and 18 more", f.Troubles, len(f.Worst))
	}
	var names []string
	for _, w := range f.Worst {
		text, err := json.Marshal(w)
		testkit.Must(t, err)
		var row struct{ Name, Text string }
		testkit.Must(t, json.Unmarshal(text, &row))
		names = append(names, row.Name)
		if strings.Contains(row.Text, "HeartbeatTimeout") {
			t.Errorf("got %q, want the words of the command line", row.Text)
		}
	}
	if got := strings.Join(names, ", "); !strings.HasPrefix(got, "felix-9, disk, monitor-") || !strings.HasSuffix(got, ", 18 more") {
		t.Errorf("got %s", got)
	}
}

// The page has all times by the clock of its host: the age of what a host with another clock tells
// was none, or of hours.
func TestThePageIsTheSameWhateverTheClocksAre(t *testing.T) {
	text := func(o overview.Overview, view string) string {
		text, err := json.Marshal(newModel(o).frame(&shown{view: view, rows: 50}, Scope{Of: "bus"}))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for _, s := range overviewtest.Situations() {
		for _, c := range overviewtest.AllClocks {
			if c.Before != c.Now {
				continue // some losses have the time of the look before, which is by another clock
			}
			for _, view := range []string{"overview", "processes", "peers", "losses"} {
				if got, want := text(c.By(s.Look), view), text(overviewtest.AllClocks[0].By(s.Look), view); got != want {
					t.Errorf("%s, view %s, clocks %s:\ngot  %s\nwant %s", s.Name, view, c.Name, got, want)
				}
			}
		}
	}
}

// TestAnInstanceIsShownByTheClockOfThePage: what it is asked for alone has times by the clock of its host.
func TestAnInstanceIsShownByTheClockOfThePage(t *testing.T) {
	text := func(o overview.Overview) string {
		raw := *o.Rows[0].State
		m := newModel(o)
		h := &hub{source: Source{Ask: func(context.Context, *overview.Row, state.Question) (state.State, error) { return raw, nil }}}
		text, err := json.Marshal(h.detail(t.Context(), m, o.Rows[0].Entry.Instance))
		testkit.Must(t, err)
		return string(text)
	}
	for _, s := range overviewtest.Situations() {
		for _, c := range overviewtest.AllClocks {
			if len(s.Look.Rows) == 0 || s.Look.Rows[0].State == nil || c.Before != c.Now {
				continue
			}
			if got, want := text(c.By(s.Look)), text(overviewtest.AllClocks[0].By(s.Look)); got != want {
				t.Errorf("%s, clocks %s:\ngot  %s\nwant %s", s.Name, c.Name, got, want)
			}
		}
	}
}

// TestUnconfirmedMessagesAreAmongTheLosses: the view of losses did not have them.
func TestUnconfirmedMessagesAreAmongTheLosses(t *testing.T) {
	o := overviewtest.Situations()[0].Look
	s := o.Rows[0].State
	s.Sending.Unconfirmed = 17
	s.Peers[0].Unconfirmed, s.Peers[0].UnconfirmedFrom, s.Peers[0].UnconfirmedTo = 10, overviewtest.Noon.Add(-time.Minute), overviewtest.Noon.Add(-time.Second)
	s.Gone = []state.Peer{{Instance: "M1", Name: "monitor", Unconfirmed: 5, Heard: overviewtest.Noon.Add(-time.Hour), Ended: overviewtest.Noon.Add(-time.Minute)}}
	m := newModel(o)
	text, err := json.Marshal(m.losses)
	testkit.Must(t, err)
	for _, want := range []string{`"to":"disk","to_id":"S1","cause":"unconfirmed","n":10,"first":`, `"to":"monitor","to_id":"M1","gone":true,"cause":"unconfirmed","n":5,"first":`, `"to":"others","to_id":"","cause":"unconfirmed","n":2`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("got %s, want %s", text, want)
		}
	}
}

// TestAPeerThatIsCutOffIsNotCutFromATable: it is connected and has an empty queue at each look.
func TestAPeerThatIsCutOffIsNotCutFromATable(t *testing.T) {
	o := overviewtest.Situations()[0].Look
	s := o.Rows[0].State
	s.Peers = nil
	for i := range 200 {
		s.Peers = append(s.Peers, state.Peer{Instance: fmt.Sprintf("S%03d", i), Name: "loses", Losses: []state.Loss{{Cause: state.Full, Messages: 5}}})
	}
	s.Peers = append(s.Peers, state.Peer{Instance: "C1", Name: "culprit", Broken: 7, LastBroken: overviewtest.Noon.Add(-time.Minute)})
	m := newModel(o)
	d := detail{Process: m.known["I1"]}
	d.answered(s)
	if got := d.Peers[0].Name; got != "culprit" {
		t.Errorf("got %q first of an instance, want the culprit", got)
	}
	rows := m.frame(&shown{view: "peers", rows: 50, sort: "status", descending: true}, Scope{Of: "bus"})
	if text, err := json.Marshal(rows); err != nil || !strings.Contains(string(text), "culprit") {
		t.Errorf("got %s, %v, want a table with the culprit", text, err)
	}
}

// TestAProcessThatStoodStillIsFirst of the processes, and says so; its peers, which waited for it, have no mark.
func TestAProcessThatStoodStillIsFirst(t *testing.T) {
	o := overviewtest.Situations()[0].Look
	s := o.Rows[2].State
	s.Peers = append(s.Peers, state.Peer{Instance: "C1", Name: "waited", Broken: 2, OwnStalls: 2, LastBroken: overviewtest.Noon.Add(-time.Minute)})
	m := newModel(o)
	text, err := json.Marshal(m.frame(&shown{view: "processes", rows: 1, sort: "status", descending: true}, Scope{Of: "bus"}))
	if err != nil || !strings.Contains(string(text), `"id":"I3"`) || !strings.Contains(string(text), `"own_stalls":1`) {
		t.Errorf("got %s, %v, want I3 first, with its own stall", text, err)
	}
	if q := m.knownPeer["C1"]; q.need() != good {
		t.Errorf("got that %s needs a look, want not", q.Name)
	}
	if p := m.known["I1"]; p.Own != 0 || p.need() != good {
		t.Errorf("got %+v, want no stall of another one", p)
	}
}

// TestAReceiverThatLosesItselfBlamesNoSender: its senders were among what needs a look.
func TestAReceiverThatLosesItselfBlamesNoSender(t *testing.T) {
	at := time.Now()
	for _, test := range []struct {
		cause   state.Cause
		sending *state.Sending
		want    status
	}{
		{state.Overflow, nil, 0},
		{state.Connection, nil, losing},
		{state.Overflow, new(state.Sending), losing},
	} {
		now := &state.State{Time: at, Sending: test.sending, Peers: []state.Peer{{Instance: "id", Losses: []state.Loss{{Cause: test.cause, Messages: 7, First: at, Last: at}}}}}
		before := &state.State{Time: at.Add(-time.Second), Sending: test.sending, Peers: []state.Peer{{Instance: "id"}}}
		p := &process{row: &overview.Row{State: now, Before: before}}
		if l := newLink(p, &now.Peers[0], &before.Peers[0]); l.Status != test.want || l.Lost != 7 {
			t.Errorf("%s: got %v and %d lost, want %v and 7", test.cause, l.Status, l.Lost, test.want)
		}
	}
}
