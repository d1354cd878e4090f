// SPDX-License-Identifier: Apache-2.0

package top

import (
	"slices"
	"strings"
	"testing"
)

// A row of links names both ends at any width, and no number is cut.
func TestNarrowTablesAreWhole(t *testing.T) {
	o := small()
	rows := o.Links()
	for room := 20; room <= 120; room++ {
		columns := place(linkColumns, rows, room)
		words := strings.Fields(titles(columns))
		if !slices.Contains(words, "FROM") || !slices.Contains(words, "TO") {
			t.Errorf("%d columns: got %v, want FROM and TO", room, words)
		}
		if line := titles(columns); len(line) > room {
			t.Errorf("%d columns: got %d: %q", room, len(line), line)
		}
		for i := range columns {
			c := &columns[i]
			for j := range rows {
				if text := c.cell(&rows[j]); !c.text && strings.TrimSpace(c.align(text)) != text {
					t.Errorf("%d columns: %s: got %q of %q", room, c.title, c.align(text), text)
				}
			}
		}
	}
}
