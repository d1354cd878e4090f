// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"slices"

	"tagbus/tags"
)

// mergeShare is the part of the covers from which on ranges that change are merged
// with all of them: below, to look each of them up costs less.
const mergeShare = 16

// changeAll adds 1 to the count of each tag in added, and takes 1 away for each in
// removed, which are ranges that have come. Both ascend, each without overlaps.
//
// Cost: linear in the covers and the ranges, or less if there are few ranges.
func (c *coverage) changeAll(added, removed []span) {
	covers := 0
	for _, chunk := range c.chunks {
		covers += len(chunk)
	}
	if len(added)+len(removed) > covers/mergeShare {
		c.merge(added, removed, covers)
		return
	}
	for _, s := range added {
		c.change(s.lo, s.hi, 1)
	}
	for _, s := range removed {
		c.change(s.lo, s.hi, -1)
	}
}

// merge is changeAll by one walk along all covers.
func (c *coverage) merge(added, removed []span, covers int) {
	all := make([]cover, 0, covers)
	for _, chunk := range c.chunks {
		all = append(all, chunk...)
	}
	w := coverChange{out: make([]cover, 0, covers+2*(len(added)+len(removed)))}
	for next, done := tags.Tag(0), false; !done; {
		piece := cover{lo: next, hi: tags.MaxTag}
		if all = skipCovers(all, next); len(all) > 0 {
			piece.overlay(all[0].lo, all[0].hi, all[0].ranges)
		}
		if added = skipSpans(added, next); len(added) > 0 {
			piece.overlay(added[0].lo, added[0].hi, 1)
		}
		if removed = skipSpans(removed, next); len(removed) > 0 {
			piece.overlay(removed[0].lo, removed[0].hi, -1)
		}
		w.push(piece)
		next, done = piece.hi+1, piece.hi == tags.MaxTag
	}
	c.chunks = slices.Collect(slices.Chunk(slices.Clip(w.out), maxChunk/2))
}

// overlay adds by to the count of a piece that lies in lo to hi. The piece is cut
// where it leaves that range, or enters it.
func (p *cover) overlay(lo, hi tags.Tag, by int) {
	if p.lo < lo {
		p.hi = min(p.hi, lo-1)
		return
	}
	p.hi = min(p.hi, hi)
	p.ranges += by
}

// skipCovers returns what is left of a list behind the covers that end below a tag.
func skipCovers(list []cover, tag tags.Tag) []cover {
	for len(list) > 0 && list[0].hi < tag {
		list = list[1:]
	}
	return list
}

// skipSpans is skipCovers for ranges.
func skipSpans(list []span, tag tags.Tag) []span {
	for len(list) > 0 && list[0].hi < tag {
		list = list[1:]
	}
	return list
}
