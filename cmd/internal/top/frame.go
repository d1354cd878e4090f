// SPDX-License-Identifier: Apache-2.0

package top

import (
	"cmp"
	"fmt"
	"strings"

	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/overview"
	"tagbus/cmd/internal/screen"
	"tagbus/internal/sanitize"
)

// style is how a text stands out.
type style int

const (
	normal  style = iota
	bad           // what stalls or loses now
	earlier       // what has lost before
	strong
	bar // a line across the screen
)

// sequences begin a style, with colours and without.
var sequences = map[style][2]string{
	bad:     {"\x1b[1;31m", "\x1b[1m"},
	earlier: {"\x1b[33m", ""},
	strong:  {"\x1b[1m", "\x1b[1m"},
	bar:     {"\x1b[7m", "\x1b[7m"},
}

func (v *view) paint(s style, text string) string {
	i := 1
	if v.plain {
		return text
	}
	if v.colour {
		i = 0
	}
	if begin := sequences[s][i]; begin != "" {
		return begin + text + "\x1b[0m"
	}
	return text
}

func styleOf(t overview.Trouble) style {
	switch t {
	case overview.Now:
		return bad
	case overview.Earlier:
		return earlier
	case overview.Silent:
		return strong
	default:
		return normal
	}
}

// leastHeight is of a screen that has room for the head.
const leastHeight = 7

// frame returns the lines of a screen.
func (v *view) frame(width, height int) []string {
	var lines []string
	if height >= leastHeight {
		lines = v.head(width)
	}
	v.height = max(0, height-len(lines)-2)
	switch {
	case v.help:
		lines = append(lines, v.paint(bar, screen.AlignLeft(" tagbus top: help", width)))
		lines = append(lines, fitAll(helpText, width, v.height)...)
	case v.rows() == 0:
		lines = append(lines, v.paint(bar, screen.AlignLeft("", width)))
		lines = append(lines, fitAll(v.nothing(), width, v.height)...)
	default:
		t := v.table(width)
		t[0] = v.paint(bar, screen.AlignLeft(t[0], width))
		lines = append(lines, t...)
	}
	for len(lines) < height-1 {
		lines = append(lines, "")
	}
	return append(lines[:max(0, height-1)], v.foot(width))
}

// table returns the titles, and the rows that are on the screen.
func (v *view) table(width int) []string {
	if v.links {
		return table(v, linkColumns, v.paths, width, (*overview.Link).Trouble, func(*overview.Link) string { return "" })
	}
	return table(v, instanceColumns, v.parties, width, (*overview.Instance).Trouble, reason)
}

func table[R any](v *view, columns []column[R], rows []R, width int, trouble func(*R) overview.Trouble, reason func(*R) string) []string {
	placed := place(columns, rows, width)
	lines := []string{titles(placed)}
	shown := visible(v, rows)
	for i := range shown {
		r := &shown[i]
		t := trouble(r)
		lines = append(lines, v.paint(styleOf(t), screen.Cut(row(placed, r, mark(t), reason(r)), width)))
	}
	return lines
}

// head says what is seen, and the totals.
func (v *view) head(width int) []string {
	what := "instances"
	if v.links {
		what = "links"
	}
	parts := []part{{strong, "tagbus top"}}
	if v.seen != nil {
		parts = append(parts, part{normal, v.seen.Time.Format("15:04:05")})
	}
	parts = append(parts, part{normal, fmt.Sprintf("%s by %s", what, v.by)})
	if v.paused {
		parts = append(parts, part{bar, "paused"})
	}
	if v.filter != "" && !v.typing {
		parts = append(parts, part{strong, "only " + sanitize.Text(v.filter)})
	}
	parts = append(parts, part{normal, sanitize.Text(v.bus)})
	lines := []string{v.join(parts, width), v.join(v.sums(), width)}
	if problem := v.problem(); problem != "" {
		lines = append(lines, v.paint(strong, screen.Cut(problem, width)))
	}
	return lines
}

// part is a piece of a line.
type part struct {
	style style
	text  string
}

// join returns as many parts as there is room for.
func (v *view) join(parts []part, width int) string {
	const gap = "  "
	var b strings.Builder
	used := 0
	for i, p := range parts {
		if i > 0 {
			used += len(gap)
		}
		if used += screen.Width(p.text); used > width {
			break
		}
		if i > 0 {
			b.WriteString(gap)
		}
		b.WriteString(v.paint(p.style, p.text))
	}
	return b.String()
}

// sums returns the totals, what matters most first.
func (v *view) sums() []part {
	if v.seen == nil {
		return []part{{normal, "looking …"}}
	}
	return totalParts(v.totals)
}

func totalParts(t overview.Totals) []part {
	if t.Entries == 0 && t.Missing == 0 {
		return []part{{normal, "0 entries"}}
	}
	alert := func(n int) style {
		if n > 0 {
			return bad
		}
		return normal
	}
	losing := fmt.Sprintf("%s losing", count(uint64(t.Losing)))
	if t.Losing > 0 {
		losing += fmt.Sprintf(" %s/s", rate(t.LostRate))
	}
	noun := "entries"
	if t.Entries == 1 {
		noun = "entry"
	}
	parts := []part{{normal, count(uint64(t.Entries)) + " " + noun}}
	if t.Silent > 0 {
		parts = append(parts, part{bad, count(uint64(t.Silent)) + " not answering"})
	}
	if t.Missing > 0 {
		parts = append(parts, part{bad, count(uint64(t.Missing)) + " gone"})
	}
	if t.Unconfirmed > 0 {
		parts = append(parts, part{bad, count(t.Unconfirmed) + " unconfirmed"})
	}
	return append(parts,
		part{alert(t.Stuck), count(uint64(t.Stuck)) + " stalled"}, part{alert(t.Losing), losing},
		part{normal, rate(t.MessageRate) + " msg/s"}, part{normal, megabytes(t.ByteRate) + " MB/s"},
		part{normal, count(uint64(t.Connected)) + " links"})
}

// problem names the worst of what is wrong; "" if nothing is. What does not answer stands at
// the end of the table, where it is not seen, and what has gone has no row at all.
func (v *view) problem() string {
	if v.seen == nil {
		return ""
	}
	if v.seen.Problem != nil {
		return "problem: " + cli.Text(v.seen.Problem)
	}
	for i := range v.problems { // the worst are the first
		g := &v.problems[i]
		if shown := g.ID == overview.PeerStalled || g.ID == overview.Losing; g.Level >= overview.Warning && !shown { // else the rows show it
			return v.named(g)
		}
	}
	return ""
}

// named says what is wrong with a culprit.
func (v *view) named(g *overview.Group) string {
	who := g.Culprit.Called()
	ago := func() string {
		if g.First.IsZero() {
			return ""
		}
		return ", " + span(cmp.Or(g.At, v.seen.Time).Sub(g.First)) + " ago"
	}
	switch g.ID {
	case overview.NoAnswer:
		if g.Why == "" {
			return "not answering: " + who
		}
		return "not answering: " + who + ": " + cli.Words(g.Why)
	case overview.StaleEntry:
		return "gone without a word: " + who + ago() + ": " + cli.Words(g.Why)
	case overview.PeerGone:
		return "gone without goodbye: " + who + ago() + ", from " + overview.Named(g.Witnesses)
	default:
		return g.ID + ": " + who + ": " + cli.Words(g.Text())
	}
}

// nothing says why there are no rows.
func (v *view) nothing() []string {
	filter := v.filter
	if v.typing {
		filter = v.typed
	}
	switch {
	case v.seen == nil:
		return nil
	case strings.TrimSpace(filter) != "":
		return []string{" No row has " + sanitize.Text(filter) + ". Escape shows all."}
	case len(v.seen.Rows) == 0 && len(v.seen.Dead) > 0:
		return []string{" No publisher or receiver of " + sanitize.Text(v.bus) + " lives: the line above says what has gone."}
	case len(v.seen.Rows) == 0:
		return []string{" No publisher or receiver is listed in " + sanitize.Text(v.bus) + ".", " Start one, or give the directory of another bus."}
	default:
		return []string{" There are no links: no subscriber or sender is connected to what is listed."}
	}
}

// foot is the line of keys, or the filter that is typed.
func (v *view) foot(width int) string {
	if v.typing {
		text := []rune("/" + v.typed)
		for len(text) > 0 && screen.Width(string(text)) > width-1 { // typing goes on at its end
			text = text[1:]
		}
		return string(text) + v.paint(bar, " ")
	}
	keys := "q quit  s order  v links  / filter  p pause  ? help"
	if v.links {
		keys = "q quit  s order  v instances  / filter  p pause  ? help"
	}
	where := ""
	if n := v.rows(); n > v.height && v.height > 0 && !v.help {
		where = fmt.Sprintf("%d-%d of %d", v.scroll+1, min(n, v.scroll+v.height), n)
	}
	room := width - len(where)
	if room < len("q quit  ") {
		return v.paint(bar, screen.AlignLeft(keys, width))
	}
	return v.paint(bar, screen.AlignLeft(keys, room)+where)
}

func fitAll(lines []string, width, height int) (fit []string) {
	for _, l := range lines[:min(len(lines), max(0, height))] {
		fit = append(fit, screen.Cut(l, width))
	}
	return fit
}
