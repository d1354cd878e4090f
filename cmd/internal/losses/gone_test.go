// SPDX-License-Identifier: Apache-2.0

//go:build linux

package losses

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/state"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/overview"
	"tagbus/cmd/internal/overview/overviewtest"
	"tagbus/cmd/internal/tool"
	"tagbus/internal/testkit"
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
	const maxDead = 5
	for _, n := range []int{0, 1, maxDead, maxDead + 2} {
		o := overview.Overview{Time: overviewtest.Noon}
		for range n {
			e := entry("D"+strings.Repeat("x", len(o.Dead)+1), "gone", directory.Publisher)
			o.Dead = append(o.Dead, overview.Dead{Entry: e, Since: overviewtest.Noon.Add(-time.Minute), Why: "its process has ended and has left its entry"})
		}
		var f found
		f.noteDead(o)
		if len(f.notes) != min(n, 5+1) {
			t.Fatalf("of %d: got %q", n, f.notes)
		}
		if n > 0 && f.notes[0] != "gone on felix7: it has gone without a word since 2026-11-23 11:59:00: its process has ended and has left its entry; no count has what it held" {
			t.Errorf("got %q", f.notes[0])
		}
		if n > 5 && f.notes[maxDead] != "2 others have gone so, too; no count has what it held" {
			t.Errorf("got %q", f.notes[5])
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

// TestAnAnswerThatLacksIsNoSuccess: "no losses" and status 0 were said of a bus on which a program
// did not answer.
func TestAnAnswerThatLacksIsNoSuccess(t *testing.T) {
	f := &folder{entries: []directory.Entry{entry("P1aaaaaaaa", "det", directory.Publisher), entry("X1aaaaaaaa", "silent", directory.Publisher)}}
	a := answers{"P1aaaaaaaa": {Role: state.Publisher, Sending: new(state.Sending)}}
	_, notes, err := run(t, Command{Sort: "count"}, false, 0, f, a)
	if tool.Code(err) != 1 || !strings.Contains(notes, "silent on felix7 could not be asked: ") || !strings.Contains(notes, "no losses are known, which is not all: 1 of 2 entries") {
		t.Errorf("got %q and %v, want which did not answer and status 1", notes, err)
	}
	f.entries = f.entries[:1]
	if _, notes, err = run(t, Command{Sort: "count"}, false, 0, f, a); err != nil || !strings.HasPrefix(notes, "no losses: ") {
		t.Errorf("if all answer: got %q and %v", notes, err)
	}
}

// TestADirectoryThatIsNotReadWholeIsNoSuccess: "no losses" and status 0 were said of a bus whose directory hid a publisher.
func TestADirectoryThatIsNotReadWholeIsNoSuccess(t *testing.T) {
	f := &folder{entries: []directory.Entry{entry("P1aaaaaaaa", "det", directory.Publisher)}, err: errors.New("the entry of X1 is not used")}
	a := answers{"P1aaaaaaaa": {Role: state.Publisher, Sending: new(state.Sending)}}
	_, notes, err := run(t, Command{Sort: "count"}, false, 0, f, a)
	if tool.Code(err) != 1 || !strings.Contains(notes, "the directory is not read whole: the entry of X1 is not used") || !strings.Contains(notes, "no losses are known, which is not all: ") {
		t.Errorf("got %q and %v, want the problem and status 1", notes, err)
	}
	f.err = fmt.Errorf("%w: a stray file", directory.ErrHarmless)
	if _, notes, err = run(t, Command{Sort: "count"}, false, 0, f, a); err != nil || !strings.HasPrefix(notes, "no losses: ") {
		t.Errorf("a problem that hides nothing: got %q and %v", notes, err)
	}
}

// leaving is a directory that has lost its entries, or does not answer, when it is looked at once more.
type leaving struct {
	folder
	looks int
	err   error
}

func (l *leaving) List() ([]directory.Entry, error) {
	if l.looks++; l.looks > 1 {
		return nil, l.err
	}
	return l.folder.List()
}

// TestLossesStayKnown: what a publisher has told at the first look was forgotten if it ended, or the directory was away, at the
// second one.
func TestLossesStayKnown(t *testing.T) {
	for _, test := range []struct {
		name   string
		err    error
		status int
	}{{"it has ended", nil, 0}, {"the directory is away", errors.New("away"), 1}} {
		d := &leaving{folder: folder{entries: []directory.Entry{entry("P1aaaaaaaa", "det", directory.Publisher)}}, err: test.err}
		out := new(narrow)
		r := &reporter{Command: &Command{Sort: "count"}, env: &tool.Env{
			Flags: &tool.Flags{Bus: "/run/bus", Timeout: time.Second}, Streams: cli.Streams{Out: out, Err: new(bytes.Buffer)},
		}}
		w := overview.New(d, answers{"P1aaaaaaaa": {Role: state.Publisher, Losses: full(1234, day(0, 1), day(0, 9))}})
		all, err := r.ask(t.Context(), w)
		testkit.Must(t, err)
		if err = r.show(out, all); tool.Code(err) != test.status || !strings.Contains(out.String(), "1,234") {
			t.Errorf("%s: got %v and %q, want 1,234 lost and status %d", test.name, err, out.String(), test.status)
		}
	}
}

// TestSubscribersThatAreBackHaveNotGone: of subscribers that are connected it was said that they
// have gone, and not when their messages were on their way.
func TestSubscribersThatAreBackHaveNotGone(t *testing.T) {
	f := &folder{entries: []directory.Entry{entry("P1aaaaaaaa", "det", directory.Publisher)}}
	cut := state.Peer{
		Instance: "S1aaaaaaaa", Name: "slow", Unconfirmed: 70, UnconfirmedFrom: day(0, 1), UnconfirmedTo: day(0, 3),
		Broken: 4, StallsEnded: 4, FirstBroken: day(0, 0), LastBroken: day(0, 3), BrokenReason: "bus: subscriber takes nothing for 5s",
	}
	a := answers{"P1aaaaaaaa": {Role: state.Publisher, Time: day(0, 4), Broken: 4, Connected: 1, Sending: &state.Sending{Unconfirmed: 70}, Peers: []state.Peer{cut}}}
	out, notes, err := run(t, Command{Sort: "count"}, false, 0, f, a)
	if row := "- det slow - unconfirmed 70 2000-01-01 00:01 2000-01-01 00:03"; err != nil || !strings.Contains(strings.Join(strings.Fields(out), " "), row) {
		t.Errorf("got %q and %v, want %q", out, err, row)
	}
	if strings.Contains(notes, "gone") || !strings.Contains(notes, "70 messages unconfirmed: lost or received, their subscribers are connected again") ||
		!strings.Contains(notes, "slow: it is cut off again and again: its connections ended without goodbye 4 times, between ") {
		t.Errorf("got notes %q", notes)
	}
	a["P1aaaaaaaa"] = state.State{Role: state.Publisher, Time: day(0, 4), Broken: 4, Connected: 1, Sending: new(state.Sending), Peers: []state.Peer{{Instance: "S1", Name: "slow", Broken: 4, LastBroken: day(0, 3)}}}
	if _, notes, _ = run(t, Command{Sort: "count"}, false, 0, f, a); !strings.Contains(notes, "slow: it is cut off again and again") {
		t.Errorf("without a loss: got notes %q", notes)
	}
}
