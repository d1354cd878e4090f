// SPDX-License-Identifier: Apache-2.0

package web

import (
	"encoding/json"
	"strings"
	"testing"

	"tagbus/cmd/internal/overview"
	"tagbus/cmd/internal/overview/overviewtest"
)

// TestThePageSaysWhatAllToolsSay: after one publisher was killed and two subscribers had
// vanished, the page said that all was well.
func TestThePageSaysWhatAllToolsSay(t *testing.T) {
	for _, s := range overviewtest.Situations() {
		t.Run(s.Name, func(t *testing.T) {
			m := newModel(s.Look)
			f := m.frame(&shown{view: "overview", rows: 50}, Scope{Of: "bus"})
			wrong := f.Troubles > 0 || f.Problem != ""
			if want := s.Want >= overview.Warning; wrong != want || f.Troubles > 0 != (len(f.Worst) > 0) {
				t.Errorf("got %d troubles, %+v and problem %q, want some: %v", f.Troubles, f.Worst, f.Problem, want)
			}
			tiles := f.Totals.Unreachable+f.Totals.Problems+f.Totals.Stalled+f.Totals.Losing > 0 || f.Problem != ""
			if tiles != wrong {
				t.Errorf("got totals %+v, and in the list that something is wrong: %v", f.Totals, wrong)
			}
			text, err := json.Marshal(f.Worst)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(text), s.Who) {
				t.Errorf("got %s, want %s in it", text, s.Who)
			}
		})
	}
}
