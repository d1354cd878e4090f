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
// On a terminal wide texts are cut first, then the least useful columns are left out, and the
// key columns are cut last. What would say something else when it is cut, such as a number, is
// never cut: where not even the key columns fit, the line is wider than the terminal. Of a tag
// the last digits stay. A pipe and a file get everything.
package table

import (
	"bufio"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"

	"tagbus/internal/sanitize"
	"tagbus/internal/stream"
)

const (
	gap  = 2     // blanks between two columns
	mark = "..." // where a text was cut
	none = "-"   // an empty cell, so that each row has as many words as there are columns
)

// Column is a column of a table.
type Column struct {
	Title string
	Right bool // numbers: they end below each other
	whole bool // it is never cut
	tags  bool // of a tag, or several
	key   bool // it is never left out
}

// Text returns a column of texts.
func Text(title string) Column { return Column{Title: title} }

// Whole returns a column of texts that say something else when they are cut: times, addresses,
// numbers with words.
func Whole(title string) Column { return Column{Title: title, whole: true} }

// Tags returns a column of tags.
func Tags(title string) Column { return Column{Title: title, tags: true} }

// Number returns a column of numbers.
func Number(title string) Column { return Column{Title: title, Right: true, whole: true} }

// Key returns a column that is never left out: what a row is of, or what the table is about. If
// a table has none, its first column is one.
func (c Column) Key() Column {
	c.key = true
	return c
}

// Table writes rows.
//
// Threads: one.
type Table struct {
	out     io.Writer
	json    *json.Encoder // nil: columns
	columns []Column
	rows    [][]string
	widths  []int         // of the columns so far, in characters
	shorter []int         // the same of tags without their first zeros
	short   bool          // tags are written so
	titled  []int         // widths of the titles that were written last; nil: none
	limit   int           // of a line, in characters; 0: none
	stream  *bufio.Writer // of rows that wait for no others; nil: they wait
	fitting []int         // widths of these
}

// New returns a table without rows.
//
//   - asJSON: write JSON instead of columns.
func New(out io.Writer, asJSON bool, columns ...Column) *Table {
	t := &Table{out: out, columns: columns, widths: make([]int, len(columns)), shorter: make([]int, len(columns)), limit: Width(out)}
	keys := false
	for i, c := range columns {
		t.widths[i] = utf8.RuneCountInString(c.Title)
		t.shorter[i] = t.widths[i]
		keys = keys || c.key
	}
	if !keys && len(columns) > 0 {
		t.columns = append([]Column{columns[0].Key()}, columns[1:]...)
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
	row := t.row(cells)
	if t.stream == nil {
		t.rows = append(t.rows, row)
		return nil
	}
	var b strings.Builder
	t.line(&b, t.fitting, row)
	_, err := t.stream.WriteString(b.String())
	return err
}

// row returns cells as they are written, and notes how wide they are.
func (t *Table) row(cells []string) []string {
	row := make([]string, len(t.columns))
	for i := range row {
		if i < len(cells) {
			row[i] = sanitize.Line(cells[i])
		}
		if row[i] == "" {
			row[i] = none
		}
		t.widths[i] = max(t.widths[i], utf8.RuneCountInString(row[i]))
		if t.columns[i].tags && t.limit > 0 {
			t.shorter[i] = max(t.shorter[i], utf8.RuneCountInString(short(row[i])))
		}
	}
	return row
}

// Measure notes how wide the cells of a row are that is added behind Stream.
func (t *Table) Measure(cells ...string) {
	if t.json == nil {
		t.row(cells)
	}
}

// Stream writes the titles. The rows behind it are written one by one, as wide as those that were
// measured: a table of a million rows takes no memory. Flush writes the last of them.
//
//   - Errors: those of the writer.
func (t *Table) Stream() error {
	if t.json != nil {
		return nil
	}
	t.stream, t.fitting = bufio.NewWriterSize(t.out, streamBytes), t.fit()
	var b strings.Builder
	t.titles(&b, t.fitting)
	_, err := t.stream.WriteString(b.String())
	return err
}

const streamBytes = 64 << 10

// Len returns how many rows wait for Flush. In JSON none waits.
func (t *Table) Len() int { return len(t.rows) }

// Flush writes the rows since the last Flush. Above the first row of the table stand the titles, and
// again above rows that leave out other columns; without rows nothing is written.
//
//   - Errors: those of the writer.
func (t *Table) Flush() error {
	if t.stream != nil {
		return t.stream.Flush()
	}
	if len(t.rows) == 0 {
		return nil
	}
	widths := t.fit()
	var b strings.Builder
	if !slices.EqualFunc(t.titled, widths, func(a, b int) bool { return (a == left) == (b == left) }) {
		t.titles(&b, widths)
		t.titled = widths
	}
	for _, row := range t.rows {
		t.line(&b, widths, row)
	}
	t.rows = t.rows[:0]
	_, err := io.WriteString(t.out, b.String())
	return err
}

func (t *Table) titles(b *strings.Builder, widths []int) {
	titles := make([]string, len(t.columns))
	for i, c := range t.columns {
		titles[i] = c.Title
	}
	t.line(b, widths, titles)
}

// line writes one line, without blanks at its end.
func (t *Table) line(b *strings.Builder, widths []int, cells []string) {
	var l strings.Builder
	for i, cell := range cells {
		if widths[i] == left {
			continue
		}
		c := &t.columns[i]
		if l.Len() > 0 {
			l.WriteString(strings.Repeat(" ", gap))
		}
		if t.short && c.tags {
			cell = short(cell)
		}
		cell = c.cut(cell, widths[i])
		pad := strings.Repeat(" ", max(0, widths[i]-utf8.RuneCountInString(cell)))
		if c.Right {
			l.WriteString(pad + cell)
		} else {
			l.WriteString(cell + pad)
		}
	}
	b.WriteString(strings.TrimRight(l.String(), " "))
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

// CutWords returns a text of at most so many characters, cut between two words: a part of a
// number would be another one. The first words stay, even if they are wider.
//
//   - first: how many characters at the beginning stay, with the word that follows.
func CutWords(text string, first, width int) string {
	runes := []rune(text)
	if len(runes) <= width {
		return text
	}
	end := width - len(mark) - 1
	for end > first && runes[end] != ' ' {
		end--
	}
	if end <= first { // the word that stays is wider
		for end = min(first+1, len(runes)); end < len(runes) && runes[end] != ' '; {
			end++
		}
		return string(runes[:end])
	}
	return strings.TrimRight(string(runes[:end]), " ") + " " + mark
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
	f := stream.File(out)
	if f == nil {
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
