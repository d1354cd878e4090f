// SPDX-License-Identifier: Apache-2.0

package table

import (
	"strings"
	"unicode/utf8"
)

const (
	// left is the width of a column that is left out.
	left = -1

	// leastWidth is what cutting leaves of a column of texts, in characters, leastKey of one that
	// is a key, and leastOfAll of a key where there is no room for anything else.
	leastWidth, leastKey, leastOfAll = 10, 16, 6
)

// fit returns the widths of the columns within the limit, as far as columns can be cut and left
// out. Where there is not room for all, tags are written without their first zeros.
func (t *Table) fit() []int {
	widths := append([]int(nil), t.widths...)
	if t.limit == 0 || total(widths) <= t.limit {
		return widths
	}
	t.shorten(widths)
	full := append([]int(nil), widths...)
	for i := range widths {
		widths[i] = t.least(i, full[i], leastWidth, leastKey)
	}
	for total(widths) > t.limit {
		least := t.leastUseful(widths)
		if least < 0 {
			break
		}
		widths[least] = left
	}
	for i := range widths {
		if over := total(widths) - t.limit; over > 0 && widths[i] != left {
			widths[i] = max(widths[i]-over, t.least(i, widths[i], leastOfAll, leastOfAll))
		}
	}
	for room := t.limit - total(widths); room > 0; room-- {
		t.widen(widths, full)
	}
	return widths
}

// total returns how wide a line is.
func total(widths []int) int {
	sum := -gap
	for _, w := range widths {
		if w != left {
			sum += w + gap
		}
	}
	return sum
}

// shorten writes tags without their first zeros.
func (t *Table) shorten(widths []int) {
	t.short = true
	for i, c := range t.columns {
		if c.tags {
			widths[i] = t.shorter[i]
		}
	}
}

// digits are those of tags.
const digits = "0123456789abcdefABCDEF"

// short returns tags, or a set of them, without their first zeros.
func short(text string) string {
	var b strings.Builder
	for {
		before, after, ok := strings.Cut(text, "0x")
		if b.WriteString(before); !ok {
			return b.String()
		}
		b.WriteString("0x")
		text = strings.TrimLeft(after, "0")
		if len(text) < len(after) && (text == "" || !strings.ContainsRune(digits, rune(text[0]))) {
			b.WriteByte('0') // of 0 itself
		}
	}
}

// least returns how narrow a column may become.
func (t *Table) least(i, full, text, key int) int {
	c := &t.columns[i]
	switch {
	case c.whole:
		return full
	case c.key:
		text = key
	}
	return min(full, max(text, utf8.RuneCountInString(c.Title)))
}

// leastUseful returns which column is left out next, or a negative number.
func (t *Table) leastUseful(widths []int) int {
	least := -1
	for i, c := range t.columns {
		if !c.key && widths[i] != left && (least < 0 || Rank(c.Title) >= Rank(t.columns[least].Title)) {
			least = i
		}
	}
	return least
}

// widen gives the narrowest column of those that are cut one character more.
func (t *Table) widen(widths, full []int) {
	narrowest := -1
	for i, w := range widths {
		if w != left && w < full[i] && (narrowest < 0 || w < widths[narrowest]) {
			narrowest = i
		}
	}
	if narrowest >= 0 {
		widths[narrowest]++
	}
}

// cut returns a cell of at most so many characters. Of a single tag the end stays, of several
// the beginning.
func (c *Column) cut(cell string, width int) string {
	if c.whole || utf8.RuneCountInString(cell) <= width {
		return cell
	}
	if digits, ok := strings.CutPrefix(cell, "0x"); ok && c.tags && !strings.ContainsAny(digits, "-,/x") {
		return mark + cell[len(cell)-(width-len(mark)):]
	}
	return Cut(cell, width)
}
