// SPDX-License-Identifier: Apache-2.0

//go:build linux

package losses

import (
	"slices"
	"strings"
	"testing"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/state"
	"tagbus/cmd/internal/overview"
	"tagbus/cmd/internal/overview/overviewtest"
)

// TestUnconfirmedMessagesAreShown: "no losses" was said of 6,176 unconfirmed messages.
func TestUnconfirmedMessagesAreShown(t *testing.T) {
	f := &folder{entries: []directory.Entry{entry("P1aaaaaaaa", "det", directory.Publisher)}}
	a := answers{"P1aaaaaaaa": {
		Role: state.Publisher, Sending: &state.Sending{Unconfirmed: 6180},
		Gone: []state.Peer{{
			Instance: "S1aaaaaaaa", Name: "readout", Unconfirmed: 6176, Heard: day(0, 1), Ended: day(0, 2),
			Lanes: []state.Lane{{Policy: "block", Unconfirmed: 6170}},
		}},
	}}
	out, notes, err := run(t, Command{Sort: "count"}, false, 0, f, a)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(out) {
		got = append(got, strings.Join(strings.Fields(line), " "))
	}
	want := []string{
		"TAG PUBLISHER SUBSCRIBER POLICY CAUSE COUNT FIRST LAST",
		"- det readout block unconfirmed 6,170 2000-01-01 00:01 2000-01-01 00:02",
		"- det readout - unconfirmed 6 2000-01-01 00:01 2000-01-01 00:02",
		"- det - - unconfirmed 4 - -",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if !strings.HasPrefix(notes, "6,180 messages unconfirmed: lost or received") || strings.Contains(notes, "no losses") {
		t.Errorf("got notes %q", notes)
	}
	_, notes, err = run(t, Command{Sort: "count", PerTag: true}, false, 0, f, a)
	if err != nil || !strings.Contains(notes, "det has 6,180 messages unconfirmed, of tags that are not known") {
		t.Errorf("by tag: got notes %q, %v", notes, err)
	}
}

// Programs that have gone without a word are named, a few of them.
func TestTheDeadAreNamed(t *testing.T) {
	for _, n := range []int{0, 1, maxDead, maxDead + 2} {
		o := overview.Overview{Time: overviewtest.Noon}
		for range n {
			e := entry("D"+strings.Repeat("x", len(o.Dead)+1), "gone", directory.Publisher)
			o.Dead = append(o.Dead, overview.Dead{Entry: e, Since: overviewtest.Noon.Add(-time.Minute), Why: "its process has ended and has left its entry"})
		}
		var f found
		f.noteDead(o)
		if len(f.notes) != min(n, maxDead+1) {
			t.Fatalf("of %d: got %q", n, f.notes)
		}
		if n > 0 && f.notes[0] != "gone on felix7: it has gone without a word since 2026-11-23 11:59:00: its process has ended and has left its entry; what it held is in no count" {
			t.Errorf("got %q", f.notes[0])
		}
		if n > maxDead && f.notes[maxDead] != "nor do counts have what 2 others held that have gone so" {
			t.Errorf("got %q", f.notes[maxDead])
		}
	}
}

// TestLossesSaysWhatAllToolsSay: what is lost now, or unconfirmed, has a row.
func TestLossesSaysWhatAllToolsSay(t *testing.T) {
	for _, s := range overviewtest.Situations() {
		t.Run(s.Name, func(t *testing.T) {
			var f found
			r := &reporter{Command: &Command{}}
			r.take(&f, s.Look)
			shows := slices.ContainsFunc(f.rows, func(row Row) bool { return row.Messages > 0 })
			if want := s.ID == overview.Losing || s.ID == overview.LostBefore || s.ID == overview.Unconfirmed; shows != want {
				t.Errorf("got rows %+v, want some: %v", f.rows, want)
			}
		})
	}
}
