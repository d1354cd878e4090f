// SPDX-License-Identifier: Apache-2.0

package top

import (
	"slices"
	"strings"

	"tagbus/cmd/internal/overview"
	"tagbus/cmd/internal/screen"
	tables "tagbus/cmd/internal/table"
)

// column is one of a table.
type column[R any] struct {
	title string
	width int  // at least
	text  bool // to the left, and wider if there is room
	entry bool // of the directory: known of what does not answer too
	cell  func(*R) string
}

// maxText is how wide a column of text becomes.
const maxText = 40

// placed is a column with the width that it has.
type placed[R any] struct {
	column[R]
	width int
}

// keyRank is that of the last column that is never left out: a link has two ends.
var keyRank = tables.Rank("TO")

// place chooses the columns for which there is room, in order of their use, and then gives
// what is left to those of text, as far as they need it. Without room for anything else, the
// names share it.
//
//   - room: columns of the terminal; 0 for as many as are needed.
func place[R any](all []column[R], rows []R, room int) []placed[R] {
	ranked := slices.Clone(all)
	slices.SortStableFunc(ranked, func(a, b column[R]) int { return tables.Rank(a.title) - tables.Rank(b.title) })
	used, least := 1, -1 // the mark; the rank up to which there is room
	keys := 0
	for _, c := range ranked {
		if tables.Rank(c.title) <= keyRank {
			keys++
		} else if room > 0 && used+c.width > room {
			break
		}
		used, least = used+c.width+1, tables.Rank(c.title)
	}
	used-- // the last column needs no gap
	var chosen []placed[R]
	for _, c := range all {
		if tables.Rank(c.title) > least {
			continue
		}
		p := placed[R]{column: c, width: c.width}
		if room > 0 && used > room {
			p.width = min(p.width, max(1, room/max(1, keys)-1))
		}
		if c.text {
			wish := min(p.wish(rows), maxText)
			if room > 0 {
				wish = min(wish, p.width+room-used)
			}
			used += max(0, wish-p.width)
			p.width = max(p.width, wish)
		}
		chosen = append(chosen, p)
	}
	return chosen
}

// wish returns how wide the longest text is.
func (p *placed[R]) wish(rows []R) int {
	widest := screen.Width(p.title)
	for i := range rows {
		widest = max(widest, screen.Width(p.cell(&rows[i])))
	}
	return widest
}

func (p *placed[R]) align(text string) string {
	if p.text {
		return screen.AlignLeft(text, p.width)
	}
	return screen.AlignRight(text, p.width)
}

// titles returns the line above the rows.
func titles[R any](columns []placed[R]) string {
	return line(" ", columns, func(p *placed[R]) string { return p.title })
}

// row returns a row behind its mark.
//
//   - reason: why it has no figures; it stands in their place. "" if it has.
func row[R any](columns []placed[R], r *R, mark, reason string) string {
	if reason == "" {
		return line(mark, columns, func(p *placed[R]) string { return p.cell(r) })
	}
	known := slices.DeleteFunc(slices.Clone(columns), func(p placed[R]) bool { return !p.entry })
	return line(mark, known, func(p *placed[R]) string { return p.cell(r) }) + " " + reason
}

func line[R any](mark string, columns []placed[R], cell func(*placed[R]) string) string {
	var b strings.Builder
	b.WriteString(mark)
	for i := range columns {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(columns[i].align(cell(&columns[i])))
	}
	return b.String()
}

// marks stand in front of a row, for those who see no colours.
func mark(t overview.Trouble) string {
	switch t {
	case overview.Now:
		return "!"
	case overview.Earlier:
		return "*"
	case overview.Silent:
		return "?"
	default:
		return " "
	}
}
