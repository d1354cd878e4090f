// SPDX-License-Identifier: Apache-2.0

package table

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"tagbus/internal/testkit"
)

// written returns a table of three rows for a terminal of some width; 0: for a pipe.
func written(t *testing.T, limit int) string {
	t.Helper()
	var b bytes.Buffer
	w := New(&b, false, Text("NAME"), Number("MSG/S"), Text("TAGS"), Text("SINCE"))
	w.limit = limit
	for _, cells := range [][]string{
		{"felix-07", "1.25 M/s", "0x0000000000000100-0x000000000000010f", "3m12s ago"},
		{"a", "", "0x5", "2s ago"},
		{"\x1b[2J", "7", "", ""},
	} {
		testkit.Must(t, w.Row(nil, cells...))
	}
	testkit.Must(t, w.Flush())
	return b.String()
}

func TestColumnsAlign(t *testing.T) {
	tests := []struct {
		name  string
		limit int
		want  string
	}{
		{"a pipe", 0, `
NAME         MSG/S  TAGS                                   SINCE
felix-07  1.25 M/s  0x0000000000000100-0x000000000000010f  3m12s ago
a                -  0x5                                    2s ago
\x1b[2J          7  -                                      -
`},
		{"a terminal where texts are cut", 50, `
NAME         MSG/S  TAGS                 SINCE
felix-07  1.25 M/s  0x00000000000001...  3m12s ago
a                -  0x5                  2s ago
\x1b[2J          7  -                    -
`},
		{"a terminal without room for the least useful column", 24, `
NAME         MSG/S
felix-07  1.25 M/s
a                -
\x1b[2J          7
`},
		{"a terminal where lines are cut", 7, `
NAME
feli...
a
\x1b[2J
`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := written(t, test.limit)
			if got != strings.TrimPrefix(test.want, "\n") {
				t.Errorf("got\n%s\nwant%s", got, test.want)
			}
			for line := range strings.Lines(got) {
				if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); test.limit > 0 && n > test.limit {
					t.Errorf("got %d characters, want at most %d: %q", n, test.limit, line)
				}
			}
		})
	}
}

// TestTitlesAreThoseOfTheColumns: a later row that is wider leaves out other columns, and its cells stood below their titles.
func TestTitlesAreThoseOfTheColumns(t *testing.T) {
	var b bytes.Buffer
	w := New(&b, false, Text("NAME"), Number("A"), Number("B"))
	w.limit = 20
	for _, cell := range []string{"1", "2", "1234567890", "3"} {
		testkit.Must(t, errors.Join(w.Row(nil, "felix-07", "0", cell), w.Flush()))
	}
	const want = `NAME      A  B
felix-07  0  1
felix-07  0  2
NAME      A
felix-07  0
felix-07  0
`
	if got := b.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestTitlesStandOnceAboveAllRows(t *testing.T) {
	var b bytes.Buffer
	w := New(&b, false, Text("TAG"), Number("MSG/S"))
	_ = w.Flush()
	if b.Len() > 0 {
		t.Errorf("got %q of a table without rows, want nothing", &b)
	}
	for _, rate := range []string{"10", "1,000,000", "5"} {
		_ = w.Row(nil, "0x1", rate)
		_ = w.Flush()
	}
	want := "TAG  MSG/S\n0x1     10\n0x1  1,000,000\n0x1          5\n"
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &b, want)
	}
}

func TestJSONIsAnObjectALine(t *testing.T) {
	var b bytes.Buffer
	w := New(&b, true, Text("NAME"))
	for _, name := range []string{"a&b", "\x1b<"} {
		testkit.Must(t, w.Row(map[string]string{"name": name}, name))
	}
	if err := w.Flush(); err != nil || w.Len() != 0 {
		t.Fatalf("got error %v and %d rows that wait, want none", err, w.Len())
	}
	if want := "{\"name\":\"a&b\"}\n{\"name\":\"\\u001b<\"}\n"; b.String() != want {
		t.Errorf("got %q, want %q", &b, want)
	}
}

type broken struct{}

var errBroken = errors.New("broken")

func (broken) Write([]byte) (int, error) { return 0, errBroken }

func TestErrorsOfTheWriterAreReturned(t *testing.T) {
	if err := New(broken{}, true).Row(1); !errors.Is(err, errBroken) {
		t.Errorf("JSON: got %v, want %v", err, errBroken)
	}
	w := New(broken{}, false, Text("NAME"))
	if err := errors.Join(w.Row(nil, "a"), w.Flush()); !errors.Is(err, errBroken) {
		t.Errorf("columns: got %v, want %v", err, errBroken)
	}
}
