// SPDX-License-Identifier: Apache-2.0

package table

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"tagbus/internal/testkit"
)

// literal is a column in the source of a command.
var literal = regexp.MustCompile(`table\.(Text|Number|Whole|Tags)\("([^"]*)"\)(\.Key\(\))?`)

// sources returns the tables of all commands: the columns that stand together in their source.
func sources(t *testing.T) map[string][]Column {
	t.Helper()
	all := make(map[string][]Column)
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || filepath.Dir(path) == "../table" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		begin, end := 0, -1
		for _, at := range literal.FindAllSubmatchIndex(text, -1) {
			if end < 0 || strings.Count(string(text[end:at[0]]), "\n") > 1 {
				begin = at[0]
			}
			end = at[1]
			key := path + ":" + string(text[begin:begin+24])
			title := string(text[at[4]:at[5]])
			c := map[string]func(string) Column{"Text": Text, "Number": Number, "Whole": Whole, "Tags": Tags}[string(text[at[2]:at[3]])](title)
			if at[6] >= 0 {
				c = c.Key()
			}
			all[key] = append(all[key], c)
		}
		return nil
	})
	testkit.Must(t, err)
	all["hz"] = []Column{Whole("TIME"), Tags("TAG").Key(), Text("NAME"), Number("MSG/S").Key(), Number("MESSAGES"), Number("BYTES"), Number("SUBS")}
	all["bw"] = []Column{Whole("TIME"), Tags("TAG").Key(), Text("NAME"), Number("MB/S").Key(), Number("MEAN"), Number("MESSAGES"), Number("BYTES"), Number("SUBS")}
	all["hz --probe"] = []Column{Whole("TIME"), Tags("TAG").Key(), Text("NAME"), Number("MSG/S").Key(), Number("GAP-MIN"), Number("GAP-MEAN"), Number("GAP-MAX"), Number("GAP-STD"), Number("LEFT-OUT")}
	return all
}

// number is wider than what cutting leaves of a text.
const number = "37,453,999,000,121"

// cellsOf returns a row: long texts, numbers and tags that differ in their last digit alone.
func cellsOf(columns []Column, last string) []string {
	var cells []string
	for _, c := range columns {
		switch {
		case c.tags:
			cells = append(cells, "0x80000abc0000010"+last)
		case c.whole:
			cells = append(cells, number[:len(number)-1]+last)
		default:
			cells = append(cells, "a-name-that-is-long-"+last)
		}
	}
	return cells
}

// TestNoTableOfACommandLies: at any width no number is cut, two rows of tags can be told apart,
// and the key columns are there.
func TestNoTableOfACommandLies(t *testing.T) {
	all := sources(t)
	if len(all) < 12 {
		t.Fatalf("got %d tables, want those of all commands", len(all))
	}
	for name, columns := range all {
		for _, c := range columns {
			if !slices.Contains(byUse, c.Title) {
				t.Errorf("%s: the list by use has no %s", name, c.Title)
			}
		}
		for limit := 20; limit <= 120; limit++ {
			var b bytes.Buffer
			w := New(&b, false, columns...)
			w.limit = limit
			_ = w.Row(nil, cellsOf(columns, "1")...)
			_ = w.Row(nil, cellsOf(columns, "2")...)
			testkit.Must(t, w.Flush())
			lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
			titles, rows := strings.Fields(lines[0]), lines[1:]
			for _, row := range rows {
				for _, word := range strings.Fields(row) {
					if strings.HasPrefix(word, "37") && len(word) != len(number) {
						t.Errorf("%s, %d columns: got the number %s, which is cut", name, limit, word)
					}
				}
			}
			least := -gap
			for _, c := range w.columns {
				if c.key && !slices.Contains(titles, strings.Fields(c.Title)[0]) {
					t.Errorf("%s, %d columns: got %v, want %s too", name, limit, titles, c.Title)
				}
				if c.tags && slices.Contains(titles, c.Title) && rows[0] == rows[1] {
					t.Errorf("%s, %d columns: got %q twice, want what tells them apart", name, limit, rows[0])
				}
				if c.key {
					least += gap + max(len(number), leastOfAll, len(c.Title))
				}
			}
			if n := utf8.RuneCountInString(lines[1]); n > max(limit, least) {
				t.Errorf("%s, %d columns: got %d: %q", name, limit, n, lines[1])
			}
		}
	}
}

func TestTagsAreShortWhereThereIsNotRoom(t *testing.T) {
	for text, want := range map[string]string{
		"0x0000000000000100":                    "0x100",
		"0x0000000000000000":                    "0x0",
		"0x0000000000000100-0x000000000000010f": "0x100-0x10f",
		"0x0000000000000000,0x0000000000000010": "0x0,0x10",
		"37 tags":                               "37 tags",
		"-":                                     "-",
	} {
		if got := short(text); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
	c := Tags("TAG")
	if got, want := c.cut("0x80000abc00000101", 10), "...0000101"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestLinesAreCutBetweenWords(t *testing.T) {
	const text = "  messages     37,453, 1.00 k/s"
	for width, want := range map[int]string{
		31: text, 30: "  messages     37,453, ...", 26: "  messages     37,453, ...", 25: "  messages     37,453,", 20: "  messages     37,453,",
	} {
		if got := CutWords(text, 15, width); got != want {
			t.Errorf("%d columns: got %q, want %q", width, got, want)
		}
	}
}
