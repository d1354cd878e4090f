// SPDX-License-Identifier: Apache-2.0

package scenario_test

import (
	"slices"
	"strings"
	"testing"

	"tagbus/bench/internal/scenario"
)

// TestScenarios holds the table to what the runner and the report take for granted.
func TestScenarios(t *testing.T) {
	systems := make(map[string][]string) // of the scenarios before, by name
	for _, s := range scenario.All() {
		if systems[s.Name] != nil {
			t.Errorf("%s: got two scenarios of this name, want one", s.Name)
		}
		if s.Size < 24 {
			t.Errorf("%s: got messages of %d bytes, want room for their header, 24", s.Name, s.Size)
		}
		for _, name := range s.Rows {
			if _, err := scenario.Find(name); err != nil {
				t.Errorf("%s: got error %v, want none", s.Name, err)
			}
		}
		if !slices.Contains(s.Rows, s.Compared()) {
			t.Errorf("%s: got no row for %s, want one, since the others are compared with it", s.Name, s.Compared())
		}
		if s.HalfOf != "" && systems[s.HalfOf] == nil {
			t.Errorf("%s: got half of %s, want a scenario before", s.Name, s.HalfOf)
		}
		systems[s.Name] = s.Rows
		for _, g := range s.Goals() {
			if !slices.Contains(s.Rows, g.System) {
				t.Errorf("%s: got a goal for %s, want one for a row", s.Name, g.System)
			}
			if g.Of != "" && !slices.Contains(systems[g.In], g.Of) {
				t.Errorf("%s: got a goal of %s in %s, want a row of this scenario or one before", s.Name, g.Of, g.In)
			}
			if (g.AtLeast > 0) == (g.AtMost > 0) {
				t.Errorf("%s: got %v at least and %v at most for %s, want one of them", s.Name, g.AtLeast, g.AtMost, g.System)
			}
		}
	}
}

func TestSystemsAreBuilt(t *testing.T) {
	for _, s := range scenario.Systems {
		if !slices.ContainsFunc(scenario.Programs, func(p scenario.Program) bool { return p.Name == s.Program }) {
			t.Errorf("%s: got no program %q, want one", s.Name, s.Program)
		}
	}
}

// What is to show that everything works has each system in each kind of scenario, with the smallest
// and with the largest messages.
func TestTinyLeavesOutOnlySizesInBetween(t *testing.T) {
	tiny, all, left := scenario.Profiles[0], 0, 0
	for _, s := range scenario.All() {
		if !s.In(tiny) {
			continue
		}
		rows := s.RowsIn(tiny)
		all, left = all+len(s.Rows), left+len(rows)
		for _, row := range s.Rows {
			between := (strings.HasPrefix(s.Name, "throughput/") || strings.HasPrefix(s.Name, "tls/") || strings.HasPrefix(s.Name, "fanout/") ||
				strings.HasPrefix(s.Name, "settings/")) && s.Size > 40 && s.Size < 1<<20
			if !slices.Contains(rows, row) && !between {
				t.Errorf("%s: %s is left out", s.Name, row)
			}
		}
	}
	if left >= all*4/5 {
		t.Errorf("%d of %d are left, want fewer than four fifths", left, all)
	}
	if s, _ := scenario.Named("throughput/1KiB"); len(s.RowsIn(scenario.Profiles[1])) != len(s.Rows) {
		t.Errorf("quick leaves out rows of %s", s.Name)
	}
}
