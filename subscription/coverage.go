// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"slices"
	"sort"

	"tagbus/tags"
)

// coverage counts, for every tag, how many ranges cover it. Thousands of
// ranges come and go one by one: each costs a search and the move of part of
// one chunk, whatever their number. The zero value covers nothing.
type coverage struct {
	chunks  [][]cover // ascending; none is empty
	changed []cover   // memory for change
}

// cover is a longest run of tags that the same number of ranges cover.
type cover struct {
	lo, hi tags.Tag
	ranges int // at least 1
}

// maxChunk is the length above which a chunk is cut in two.
const maxChunk = 512

// contains reports whether some range covers a tag.
func (c *coverage) contains(tag tags.Tag) bool {
	at, i := c.find(tag)
	return at < len(c.chunks) && c.chunks[at][i].lo <= tag
}

// overlaps reports whether some range covers a tag from lo to hi.
func (c *coverage) overlaps(lo, hi tags.Tag) bool {
	at, i := c.find(lo)
	return at < len(c.chunks) && c.chunks[at][i].lo <= hi
}

// find returns the chunk and the place in it of the first cover that ends at or
// behind a tag; the number of chunks if there is none.
func (c *coverage) find(tag tags.Tag) (at, i int) {
	at = sort.Search(len(c.chunks), func(at int) bool {
		chunk := c.chunks[at]
		return chunk[len(chunk)-1].hi >= tag
	})
	if at < len(c.chunks) {
		chunk := c.chunks[at]
		i = sort.Search(len(chunk), func(i int) bool { return chunk[i].hi >= tag })
	}
	return at, i
}

// change adds by to the count of each tag from lo to hi: 1 for a range that
// comes, -1 for one that goes, which must have come.
func (c *coverage) change(lo, hi tags.Tag, by int) {
	first, last := max(lo, 1)-1, min(hi, tags.MaxTag-1)+1 // with the neighbours, which may grow together
	fromChunk, from := c.find(first)
	toChunk, to := fromChunk, from
	w := coverChange{out: c.changed[:0], lo: lo, hi: hi, next: lo, by: by}
	for toChunk < len(c.chunks) && c.chunks[toChunk][to].lo <= last {
		w.pass(c.chunks[toChunk][to])
		if to++; to == len(c.chunks[toChunk]) {
			toChunk, to = toChunk+1, 0
		}
	}
	w.fill(hi)
	c.changed = w.out
	c.splice(fromChunk, from, toChunk, to, w.out)
}

// coverChange makes the covers that take the place of those around a range.
type coverChange struct {
	out    []cover
	lo, hi tags.Tag
	next   tags.Tag // first tag of the range that has not been dealt with
	done   bool     // all have
	by     int
}

// pass deals with the next cover that is there.
func (w *coverChange) pass(v cover) {
	if v.lo < w.lo {
		w.push(cover{v.lo, min(v.hi, w.lo-1), v.ranges})
	}
	if v.lo > w.next {
		w.fill(min(v.lo-1, w.hi))
	}
	if lo, hi := max(v.lo, w.lo), min(v.hi, w.hi); lo <= hi {
		w.push(cover{lo, hi, v.ranges + w.by})
		w.reached(hi)
	}
	if v.hi > w.hi {
		w.push(cover{max(v.lo, w.hi+1), v.hi, v.ranges})
	}
}

// fill covers the tags from next to hi, which nothing has covered.
func (w *coverChange) fill(hi tags.Tag) {
	if !w.done && w.by > 0 {
		w.push(cover{w.next, hi, w.by})
	}
	w.reached(hi)
}

func (w *coverChange) reached(hi tags.Tag) {
	if w.done = w.done || hi == w.hi; !w.done {
		w.next = hi + 1
	}
}

// push appends v, grown together with the one before where they are alike.
func (w *coverChange) push(v cover) {
	if v.ranges == 0 {
		return
	}
	if n := len(w.out); n > 0 && w.out[n-1].ranges == v.ranges && w.out[n-1].hi+1 == v.lo {
		w.out[n-1].hi = v.hi
		return
	}
	w.out = append(w.out, v)
}

// splice puts covers in the place of those from one position up to another.
func (c *coverage) splice(fromChunk, from, toChunk, to int, covers []cover) {
	switch {
	case len(c.chunks) == 0:
		c.chunks = slices.AppendSeq(c.chunks, slices.Chunk(slices.Clone(covers), maxChunk/2))
		return
	case fromChunk == len(c.chunks): // behind the last one, which may have room
		fromChunk--
		from = len(c.chunks[fromChunk])
		toChunk, to = fromChunk, from
	case to == 0 && toChunk > fromChunk: // the same place has two names
		toChunk--
		to = len(c.chunks[toChunk])
	}
	head, tail := c.chunks[fromChunk][:from], c.chunks[toChunk][to:]
	if n := len(head) + len(covers) + len(tail); fromChunk == toChunk && n > 0 && n <= maxChunk {
		c.chunks[fromChunk] = slices.Replace(c.chunks[fromChunk], from, to, covers...)
		return
	}
	joined := slices.Collect(slices.Chunk(slices.Concat(head, covers, tail), maxChunk/2))
	c.chunks = slices.Replace(c.chunks, fromChunk, toChunk+1, joined...)
}
