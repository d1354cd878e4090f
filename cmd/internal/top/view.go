// SPDX-License-Identifier: Apache-2.0

package top

import (
	"slices"

	"tagbus/cmd/internal/overview"
	"tagbus/cmd/internal/screen"
)

// view is what is shown: a look at the bus, and how it is to be seen.
//
// Threads: one.
type view struct {
	bus    string
	colour bool
	plain  bool // no styles at all

	by       overview.Order
	links    bool             // instead of instances
	switched func(links bool) // is told; nil: nothing is
	filter   string           // that holds
	typing   bool             // a filter
	typed    string           // so far
	paused   bool
	help     bool
	scroll   int // rows above the screen
	height   int // rows on it, of the last frame
	order    overview.Sorter
	seen     *overview.Overview // nil: none yet
	totals   overview.Totals
	problems []overview.Group // the worst first
	parties  []overview.Instance
	paths    []overview.Link
}

func newView(c *Command, bus string, colour bool) *view {
	return &view{
		bus: bus, colour: colour,
		by: overview.Order(c.By), links: c.View == "links", filter: c.Filter,
	}
}

// show takes a new look.
func (v *view) show(o overview.Overview) {
	v.seen = &o
	v.problems = overview.Groups(o.Problems())
	v.totals = o.Totals(v.problems)
	v.arrange()
}

// arrange makes the rows of the look that is shown.
func (v *view) arrange() {
	v.parties, v.paths = nil, nil
	if v.seen == nil {
		return
	}
	text := v.filter
	if v.typing {
		text = v.typed
	}
	f := overview.NewFilter(text)
	if v.links {
		v.paths = f.Links(v.seen.Links())
		v.order.Links(v.paths, v.by)
		return
	}
	v.parties = f.Instances(v.seen.Instances())
	v.order.Instances(v.parties, v.by)
}

// rows returns how many there are, on the screen or not.
func (v *view) rows() int { return len(v.parties) + len(v.paths) }

// orderKeys choose what rows are sorted by.
var orderKeys = map[screen.Key]overview.Order{
	'u': overview.ByQueue, 'l': overview.ByLost, 'm': overview.ByMessages, 'b': overview.ByBytes,
}

// press answers to a key. quit reports whether it ends the view.
func (v *view) press(k screen.Key) (quit bool) {
	switch {
	case k == screen.Quit:
		return true
	case v.typing:
		v.edit(k)
		return false
	case v.help:
		v.help = false
		return false
	case v.move(k):
		return false
	}
	switch k {
	case 'q', 'Q':
		return true
	case 's':
		v.by = v.by.Next()
	case 'v', screen.Left, screen.Right:
		v.links, v.scroll = !v.links, 0
		if v.switched != nil {
			v.switched(v.links)
		}
	case 'p', ' ':
		v.paused = !v.paused
	case '/':
		v.typing, v.typed = true, v.filter
	case screen.Escape:
		v.filter = ""
	case '?', 'h':
		v.help = true
	default:
		by, ok := orderKeys[k]
		if !ok {
			return false
		}
		v.by = by
	}
	v.arrange()
	return false
}

// move scrolls. ok is false if the key is for something else.
func (v *view) move(k screen.Key) (ok bool) {
	page := max(1, v.height-1)
	switch k {
	case screen.Up, 'k':
		v.scroll--
	case screen.Down, 'j':
		v.scroll++
	case screen.PageUp:
		v.scroll -= page
	case screen.PageDown:
		v.scroll += page
	case screen.Home, 'g':
		v.scroll = 0
	case screen.End, 'G':
		v.scroll = v.rows()
	default:
		return false
	}
	v.clamp()
	return true
}

// clamp keeps the screen filled with rows.
func (v *view) clamp() { v.scroll = max(0, min(v.scroll, v.rows()-v.height)) }

// maxFilter is how many bytes a filter may have.
const maxFilter = 200

// edit changes the filter that is typed. Rows follow at once.
func (v *view) edit(k screen.Key) {
	switch {
	case k == screen.Enter:
		v.typing, v.filter = false, v.typed
	case k == screen.Escape:
		v.typing, v.typed = false, ""
	case k == screen.Backspace:
		v.typed = screen.WithoutLast(v.typed)
	case k == screen.ClearLine:
		v.typed = ""
	case k > 0 && len(v.typed) < maxFilter:
		v.typed += string(rune(k))
	}
	v.scroll = 0
	v.arrange()
}

// visible returns the part of rows that is on the screen.
func visible[R any](v *view, rows []R) []R {
	v.clamp()
	end := min(len(rows), v.scroll+v.height)
	return slices.Clip(rows[min(v.scroll, end):end])
}
