// SPDX-License-Identifier: Apache-2.0

package top

import (
	"fmt"
	"strings"
	"testing"

	"tagbus/cmd/internal/overview"
	"tagbus/cmd/internal/overview/overviewtest"
)

// TestTopSaysWhatAllToolsSay: the head of the screen shows that something is wrong exactly when
// package overview finds that, and the screen names the culprit.
func TestTopSaysWhatAllToolsSay(t *testing.T) {
	for _, s := range overviewtest.Situations() {
		t.Run(s.Name, func(t *testing.T) {
			v := newView(&Command{By: "queue", View: "instances"}, "/run/bus", false)
			v.plain = true
			v.show(s.Look)
			wrong := v.problem() != ""
			for _, p := range v.sums() {
				wrong = wrong || p.style == bad
			}
			if want := s.Want >= overview.Warning; wrong != want {
				t.Errorf("got that something is wrong: %v, want %v: %q %+v", wrong, want, v.problem(), v.sums())
			}
			if screen := strings.Join(v.frame(200, 24), "\n"); !strings.Contains(screen, s.Who) {
				t.Errorf("got\n%s\nwant %s on it", screen, s.Who)
			}
		})
	}
}

// TestTablesSayWhatAllToolsSay: a table has the line of problems of the screen, and with --json
// the error stream has it.
func TestTablesSayWhatAllToolsSay(t *testing.T) {
	for _, s := range overviewtest.Situations() {
		for _, json := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, JSON %v", s.Name, json), func(t *testing.T) {
				v := newView(&Command{By: "queue", View: "instances"}, "", false)
				v.show(s.Look)
				out, problems, err := printed(t, &printer{command: &Command{By: "queue", View: "instances"}, json: json, look: seen(s.Look)}, 1)
				if s.ID == overview.DirectoryAway {
					if err == nil {
						t.Error("got no error, want that of the directory")
					}
					return
				}
				in, problem := out, v.problem()
				if json || s.Look.Problem != nil {
					in = problems
				}
				if n := strings.Count(in, problem); problem != "" && n != 1 {
					t.Errorf("got\n%s%s\nwant once: %s", out, problems, problem)
				}
				if problem == "" && problems != "" || !json && problem == "" && strings.Count(out, "\n") != 2+len(s.Look.Rows) {
					t.Errorf("got\n%s%s\nwant totals and a table only", out, problems)
				}
			})
		}
	}
}

// The line of problems says how long ago a peer has gone by the clock of the host that says so.
func TestTopSaysTheSameWhateverTheClocksAre(t *testing.T) {
	for _, s := range overviewtest.Situations() {
		v := newView(&Command{By: "queue", View: "instances"}, "/run/bus", false)
		v.show(s.Look)
		want := v.problem()
		for _, c := range overviewtest.AllClocks {
			if v.show(c.By(s.Look)); s.ID == overview.PeerGone && v.problem() != want {
				t.Errorf("%s, clocks %s: got %s, want %s", s.Name, c.Name, v.problem(), want)
			}
		}
	}
}

// TestTheTableNamesWhoStoodStill: the peer to look at of a program that stood still was one that had
// waited for it.
func TestTheTableNamesWhoStoodStill(t *testing.T) {
	in := overview.Instance{OwnStalls: 2, Missing: 1, Missed: "disk"}
	if got := worstPeer(&in); got != "itself" {
		t.Errorf("got %q, want itself", got)
	}
	in.Worst = "slow"
	if got := worstPeer(&in); got != "slow" {
		t.Errorf("got %q, want the peer that is stalled now", got)
	}
}
