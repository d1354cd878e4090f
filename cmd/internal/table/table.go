// SPDX-License-Identifier: Apache-2.0

// Package table writes what the commands of tagbus find: in columns for people, or as one
// JSON object a line for programs.
//
//	t := table.New(e.Out, e.JSON, table.Text("NAME"), table.Number("MSG/S"))
//	for _, r := range rows {
//		err := t.Row(r, r.Name, units.FormatRate(r.Rate))
//	}
//	err := t.Flush()
//
// On a terminal a line never wraps: wide texts are cut first, then the least useful columns are
// left out, and the first column is cut last. A pipe and a file get everything.
package table

import (
	"encoding/json"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"

	"tagbus/internal/sanitize"
)

const (
	gap  = 2     // blanks between two columns
	mark = "..." // where a text was cut
	none = "-"   // an empty cell, so that each row has as many words as there are columns

	// leastWidth is what cutting leaves of a column of texts, in characters.
	leastWidth = 10
)

// Column is a column of a table.
type Column struct {
	Title string
	Right bool // numbers: they end below each other, and are never cut alone
}

// Text returns a column of texts.
func Text(title string) Column { return Column{Title: title} }

// Number returns a column of numbers.
func Number(title string) Column { return Column{Title: title, Right: true} }

// Table writes rows.
//
// Threads: one.
type Table struct {
	out     io.Writer
	json    *json.Encoder // nil: columns
	columns []Column
	rows    [][]string
	widths  []int // of the columns so far, in characters
	titled  bool  // the titles were written
	limit   int   // of a line, in characters; 0: none
}

// New returns a table without rows.
//
//   - asJSON: write JSON instead of columns.
func New(out io.Writer, asJSON bool, columns ...Column) *Table {
	t := &Table{out: out, columns: columns, widths: make([]int, len(columns)), limit: Width(out)}
	for i, c := range columns {
		t.widths[i] = utf8.RuneCountInString(c.Title)
	}
	if asJSON {
		t.json = json.NewEncoder(out)
		t.json.SetEscapeHTML(false) // & is common in tag sets
	}
	return t
}

// Row adds a row.
//
//   - object: what it is in JSON, which is written at once.
//   - cells: one for each column. They are made safe to show; an empty one becomes "-".
//   - Errors: those of the writer.
func (t *Table) Row(object any, cells ...string) error {
	if t.json != nil {
		return t.json.Encode(object)
	}
	row := make([]string, len(t.columns))
	for i := range row {
		if i < len(cells) {
			row[i] = sanitize.Line(cells[i])
		}
		if row[i] == "" {
			row[i] = none
		}
		t.widths[i] = max(t.widths[i], utf8.RuneCountInString(row[i]))
	}
	t.rows = append(t.rows, row)
	return nil
}

// Len returns how many rows wait for Flush. In JSON none waits.
func (t *Table) Len() int { return len(t.rows) }

// Flush writes the rows since the last Flush. Above the first row of the table stand the
// titles; without rows nothing is written.
//
//   - Errors: those of the writer.
func (t *Table) Flush() error {
	if len(t.rows) == 0 {
		return nil
	}
	widths := t.fitted()
	var b strings.Builder
	if !t.titled {
		titles := make([]string, len(t.columns))
		for i, c := range t.columns {
			titles[i] = c.Title
		}
		t.line(&b, widths, titles)
		t.titled = true
	}
	for _, row := range t.rows {
		t.line(&b, widths, row)
	}
	t.rows = t.rows[:0]
	_, err := io.WriteString(t.out, b.String())
	return err
}

// left is the width of a column that is left out.
const left = -1

// fitted returns the widths of the columns within the limit, as far as texts after the
// first column can be cut, and columns be left out.
func (t *Table) fitted() []int {
	widths := append([]int(nil), t.widths...)
	if t.limit == 0 {
		return widths
	}
	over := gap*(len(widths)-1) - t.limit
	for _, w := range widths {
		over += w
	}
	for over > 0 {
		widest := -1
		for i, c := range t.columns {
			least := max(leastWidth, utf8.RuneCountInString(c.Title))
			if i > 0 && !c.Right && widths[i] > least && (widest < 0 || widths[i] >= widths[widest]) {
				widest = i
			}
		}
		if widest >= 0 {
			widths[widest]--
			over--
			continue
		}
		least := t.leastUseful(widths)
		if least < 0 {
			break
		}
		over -= widths[least] + gap
		widths[least] = left
	}
	return widths
}

// leastUseful returns which column is left out next, or a negative number.
func (t *Table) leastUseful(widths []int) int {
	least := -1
	for i, c := range t.columns {
		if i > 0 && widths[i] != left && Rank(c.Title) > 0 && (least < 0 || Rank(c.Title) >= Rank(t.columns[least].Title)) {
			least = i
		}
	}
	return least
}

// line writes one line, without blanks at its end.
func (t *Table) line(b *strings.Builder, widths []int, cells []string) {
	var l strings.Builder
	for i, cell := range cells {
		if widths[i] == left {
			continue
		}
		cell = Cut(cell, widths[i])
		pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
		if i > 0 {
			l.WriteString(strings.Repeat(" ", gap))
		}
		if t.columns[i].Right {
			l.WriteString(pad + cell)
		} else {
			l.WriteString(cell + pad)
		}
	}
	text := strings.TrimRight(l.String(), " ")
	if t.limit > 0 {
		text = Cut(text, t.limit)
	}
	b.WriteString(text)
	b.WriteByte('\n')
}

// Cut returns a text of at most so many characters: all of it, or its beginning and "...".
//
//   - width: at least 3.
func Cut(text string, width int) string {
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	return string([]rune(text)[:width-len(mark)]) + mark
}

// Wide is a writer that says how wide its tables are, as a terminal does.
type Wide interface {
	Width() int // of a line, in characters; 0: without limit
}

// Width returns how many characters a line of a terminal has, and 0 of what is no
// terminal.
func Width(out io.Writer) int {
	if w, ok := out.(Wide); ok {
		return w.Width()
	}
	f, ok := out.(*os.File)
	if !ok {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	const least = 20 // a terminal that says less does not know
	if width < least {
		return 0
	}
	return width
}
