// SPDX-License-Identifier: Apache-2.0

package table_test

import (
	"bytes"
	"fmt"
	"testing"

	"tagbus/cmd/internal/table"
	"tagbus/internal/testkit"
)

// terminal is a terminal of some width.
type terminal struct {
	bytes.Buffer
	width int
}

func (t *terminal) Width() int { return t.width }

// TestAStreamIsTheSameTable, on terminals of any width.
func TestAStreamIsTheSameTable(t *testing.T) {
	columns := []table.Column{table.Tags("TAG").Key(), table.Text("PUBLISHER"), table.Number("COUNT"), table.Whole("LOST")}
	rows := [][]string{
		{"0x0000000000000001", "felix-01", "1", ""}, {"0x00000000000f4240", "a publisher with a long name", "1,000,000", "full 3"}, {"0x5", "", "22"},
	}
	for _, width := range []int{0, 20, 30, 40, 60, 100} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			want, got := &terminal{width: width}, &terminal{width: width}
			all, streamed := table.New(want, false, columns...), table.New(got, false, columns...)
			for _, r := range rows {
				streamed.Measure(r...)
			}
			testkit.Must(t, streamed.Stream())
			for _, r := range rows {
				testkit.Must(t, all.Row(nil, r...))
				testkit.Must(t, streamed.Row(nil, r...))
			}
			if streamed.Len() != 0 {
				t.Errorf("got %d rows that wait, want none", streamed.Len())
			}
			testkit.Must(t, all.Flush())
			testkit.Must(t, streamed.Flush())
			if got.String() != want.String() {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}
