// SPDX-License-Identifier: Apache-2.0

package check

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"tagbus/bus"
	"tagbus/bus/observer"
	"tagbus/bus/state"
	"tagbus/cmd/internal/overview"
)

// site returns a bus of publishers with their answers changed.
func site(n int, do func(e *entrySeen)) *seen {
	s := healthy()
	s.entries = nil
	for i := range n {
		e := entryOf(i+1, fmt.Sprintf("%#x", 0x1000+i))
		do(&e)
		s.entries = append(s.entries, e)
	}
	return s
}

func printed(t *testing.T, c Command, asJSON bool, s *seen) []string {
	t.Helper()
	var out bytes.Buffer
	if err := c.write(&out, asJSON, s, judge(s)); err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimRight(out.String(), "\n"), "\n")
}

// TestACulpritIsNamedOnce: two bad subscribers of 19 publishers were 38 findings of 43.
func TestACulpritIsNamedOnce(t *testing.T) {
	s := site(19, func(e *entrySeen) {
		for _, answer := range []*state.State{e.first.state, e.second.state} {
			for _, name := range []string{"disk", "slow"} {
				answer.Peers = append(answer.Peers, state.Peer{Instance: name + "-id", Name: name, Host: "pc-99", StalledSince: noon.Add(-time.Minute)})
			}
			answer.Connected, answer.Stalled = 2, 2
		}
	})
	lines := printed(t, Command{}, false, s)
	if len(lines) != 5 {
		t.Fatalf("got %d lines, want two findings with what to do, and the summary:\n%s", len(lines), strings.Join(lines, "\n"))
	}
	for i, name := range []string{"disk", "slow"} {
		want := "  warning: peer-stalled: " + name + " on pc-99: it takes nothing"
		if got := lines[2*i]; !strings.HasPrefix(got, want) || !strings.HasSuffix(got, "(say 19: felix-1 on pc-1, felix-2 on pc-2, felix-3 on pc-3, felix-4 on pc-4, 15 more)") {
			t.Errorf("got %q, want %q, and who says so", got, want)
		}
	}
	if got := len(printed(t, Command{Quiet: true}, true, s)); got != 38 {
		t.Errorf("got %d objects, want all 38", got)
	}
	if got := len(printed(t, Command{Verbose: true, Quiet: true}, false, s)); got < 38 {
		t.Errorf("got %d lines with -v, want all", got)
	}
}

// 300 hosts with one dead recorder, one host that has gone with 24 publishers, and notes about
// all: that is on a screen, and the worst is first.
func TestASiteFitsOnAScreen(t *testing.T) {
	s := site(300, func(e *entrySeen) {
		for _, answer := range []*state.State{e.first.state, e.second.state} {
			answer.Silent = 1
			answer.Gone = []state.Peer{{Instance: "recorder-id", Name: "recorder", Host: "pc-daq", Ended: noon.Add(-time.Minute), Reason: "bus: nothing heard for 6s"}}
		}
	})
	for i := range 24 {
		e := entryOf(1000+i, fmt.Sprintf("%#x", 0x9000+i))
		e.Entry.Host, e.moved, e.silent = "pc-dead", false, time.Minute
		e.greets[0].err = errHangs
		e.first, e.second = answerSeen{}, answerSeen{}
		s.entries = append(s.entries, e)
	}
	lines := printed(t, Command{}, false, s)
	text := strings.Join(lines, "\n")
	if len(lines) > 24 {
		t.Errorf("got %d lines, want a screen:\n%s", len(lines), text)
	}
	for _, want := range []string{
		"warning: stale-entry: 24 instances on pc-dead (felix-1000, felix-1001, felix-1002, felix-1003, 20 more): as the first: ",
		"warning: peer-gone: recorder on pc-daq: it went without goodbye at 2026-11-23 11:59:00 and has not come back: bus: nothing heard for 6s (say 300: ",
		"note: silent-peers: 298 more: felix-3 on pc-3, ",
	} {
		if strings.Count(text, want) != 1 {
			t.Errorf("got\n%s\nwant %q once", text, want)
		}
	}
	if first := strings.Index(text, "note:"); first < strings.LastIndex(text, "  warning:") {
		t.Errorf("got a note before a warning:\n%s", text)
	}
}

// TestDifferentFaultsOfAHostStayApart: what was wrong with the second program of a host was shown
// under the words of the first.
func TestDifferentFaultsOfAHostStayApart(t *testing.T) {
	s := site(4, func(e *entrySeen) { e.Entry.Host = "pc-1" })
	for i, err := range []error{errHangs, errHangs, fmt.Errorf("%w: x", observer.ErrTimeout), bus.ErrProtocol} {
		s.entries[i].first, s.entries[i].second = answerSeen{took: time.Duration(i+2) * time.Second, err: err}, answerSeen{}
	}
	text := strings.Join(printed(t, Command{}, false, s), "\n")
	for _, want := range []string{
		"no-answer: 2 instances on pc-1 (felix-1, felix-2): as the first: it says hello, and does not answer a question: the file system",
		"no-answer: felix-3 on pc-1: it says hello, and does not answer a question within 4s",
		"no-answer: felix-4 on pc-1: it says hello, and does not answer a question: bus: protocol",
		"3 warnings (no-answer)",
	} {
		if strings.Count(text, want) != 1 {
			t.Errorf("got\n%s\nwant %q once", text, want)
		}
	}
}

// TestNumbersAreNoFaults: two entries that are silent for other times have one fault.
func TestNumbersAreNoFaults(t *testing.T) {
	f := func(text string) string { return (&Finding{Text: text}).fault() }
	for _, same := range [][2]string{
		{"its process 12 has ended, 3s ago", "its process 4711 has ended, 2m10s ago"},
		{"10.0.0.1:7000 refuses connections", "[fe80::1%eth0]:41 refuses connections"},
		{"it announces only 127.0.0.1:80", "it announces only [::1]:4711"},
	} {
		if f(same[0]) != f(same[1]) {
			t.Errorf("got %q and %q of %q", f(same[0]), f(same[1]), same)
		}
	}
	if f("it refuses") == f("it closes") {
		t.Error("all words are one")
	}
}

// TestEveryIDHasItsRank: what has none is shown behind all that is less bad.
func TestEveryIDHasItsRank(t *testing.T) {
	for _, id := range ids(t) {
		if !overview.Ranked(id) {
			t.Errorf("%s has no place in the order of overview.Rank", id)
		}
	}
}
