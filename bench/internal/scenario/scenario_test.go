package scenario_test

import (
	"slices"
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
		var own []string
		for _, row := range s.Rows {
			if _, err := scenario.Find(row.System); err != nil {
				t.Errorf("%s: got error %v, want none", s.Name, err)
			}
			if row.Of != "" && !slices.Contains(systems[row.Of], row.System) {
				t.Errorf("%s: got a row for %s in %s, want one of a scenario before", s.Name, row.System, row.Of)
			}
			if row.AtLeast > 0 && row.AtMost > 0 {
				t.Errorf("%s: got two goals for %s, want one", s.Name, row.System)
			}
			if row.Of == "" {
				own = append(own, row.System)
			}
		}
		if !slices.Contains(own, s.Compared()) {
			t.Errorf("%s: got no row for %s, want one, since the others are compared with it", s.Name, s.Compared())
		}
		systems[s.Name] = own
	}
}

func TestSystemsAreBuilt(t *testing.T) {
	for _, s := range scenario.Systems {
		if !slices.ContainsFunc(scenario.Programs, func(p scenario.Program) bool { return p.Name == s.Program }) {
			t.Errorf("%s: got no program %q, want one", s.Name, s.Program)
		}
	}
}
