// SPDX-License-Identifier: Apache-2.0

package tags

import (
	"iter"
	"math/bits"
)

// maxPieces bounds the patterns that Without and Intersection make.
const maxPieces = 1 << 16

// Without returns the set of the tags that are in s and not in o. The result is
// exact. It may hold patterns where s had ranges: 0-15 without the even tags is a pattern.
//
// Cost: linear for ranges. Each pattern of o that meets a part of s splits it into
// tens of patterns, which later ones split again; a range with odd ends is tens of
// patterns by itself. Thousands of ranges that meet a pattern, or five patterns that
// meet each other, can need too many.
//
//   - Errors: ErrTooComplex if more than 65,536 patterns would be needed, or more than
//     MaxSteps steps beyond those for ranges (see Budget). Never for sets of ranges only.
func (s Set) Without(o Set) (Set, error) { return s.without(o, s.workWith(o)) }

func (s Set) without(o Set, w *work) (Set, error) {
	if !w.spend(2 * (len(s.ranges) + len(o.ranges))) {
		return Set{}, ErrTooComplex
	}
	d := difference{ranges: subtractSpans(s.ranges, o.ranges), work: w}
	var gaps []span
	if len(s.masks) > 0 {
		gaps = subtractSpans([]span{{0, MaxTag}}, o.ranges)
	}
	for _, p := range s.masks {
		if !p.intersectsSpans(o.ranges, w) {
			d.pieces = append(d.pieces, p)
		} else if d.pieces = p.appendWithin(d.pieces, gaps, w); w.over() || len(d.pieces) > maxPieces {
			return Set{}, ErrTooComplex
		}
	}
	for _, q := range o.masks {
		if !d.remove(q) {
			return Set{}, ErrTooComplex
		}
	}
	if w.over() {
		return Set{}, ErrTooComplex
	}
	return build(d.ranges, d.pieces), nil
}

// Intersection returns the set of the tags that are in s and in o. The result is exact.
//
// Cost: linear for ranges. Each pattern of one set that meets a range of the other
// becomes tens of patterns, and each pair of patterns that meet becomes one.
//
//   - Errors: as Without.
func (s Set) Intersection(o Set) (Set, error) { return s.intersection(o, s.workWith(o)) }

func (s Set) intersection(o Set, w *work) (Set, error) {
	if !w.spend(len(s.ranges) + len(o.ranges)) {
		return Set{}, ErrTooComplex
	}
	var pieces []pattern
	for _, p := range s.masks {
		pieces = p.appendWithin(pieces, o.ranges, w)
		w.spend(len(o.masks))
		for _, q := range o.masks {
			if w.over() || len(pieces) > maxPieces {
				return Set{}, ErrTooComplex
			}
			if p.intersects(q) {
				w.spend(stepsPerPiece)
				pieces = append(pieces, p.intersection(q))
			}
		}
	}
	for _, q := range o.masks {
		if pieces = q.appendWithin(pieces, s.ranges, w); w.over() || len(pieces) > maxPieces {
			return Set{}, ErrTooComplex
		}
	}
	if w.over() || len(pieces) > maxPieces {
		return Set{}, ErrTooComplex
	}
	return build(commonSpans(s.ranges, o.ranges), pieces), nil
}

// appendWithin appends the tags of p that are in the spans.
func (p pattern) appendWithin(out []pattern, spans []span, w *work) []pattern {
	for i := range p.hits(spans, w) {
		for block := range spans[i].blocks() {
			w.spend(1)
			if block.intersects(p) {
				w.spend(stepsPerPiece)
				out = append(out, block.intersection(p))
			}
		}
		if len(out) > maxPieces {
			break
		}
	}
	return out
}

// difference is what is left of a set while patterns are removed from it.
type difference struct {
	ranges []span    // disjoint, ascending
	pieces []pattern // in any order
	spare  []pattern // memory for the next pieces
	work   *work
}

// remove removes the tags of q. It gives up, with d spoiled, and returns false when
// there are too many pieces, or too much work.
func (d *difference) remove(q pattern) bool {
	if !d.work.spend(len(d.pieces)) {
		return false
	}
	pieces := d.spare[:0]
	for _, p := range d.pieces {
		before := len(pieces)
		if pieces = p.appendWithout(pieces, q); len(pieces) > maxPieces || !d.work.spend(stepsPerPiece*max(0, len(pieces)-before-1)) {
			return false
		}
	}
	kept, next := 0, 0 // d.ranges[:kept] stay, d.ranges[next:] are to be looked at
	for i := range q.hits(d.ranges, d.work) {
		kept += copy(d.ranges[kept:], d.ranges[next:i])
		next = i + 1
		before := len(pieces)
		for block := range d.ranges[i].blocks() {
			d.work.spend(1)
			pieces = block.appendWithout(pieces, q)
		}
		if len(pieces) > maxPieces || !d.work.spend(stepsPerPiece*(len(pieces)-before)) {
			return false
		}
	}
	if next > 0 {
		d.work.spend(len(d.ranges) / rangesPerStep)
		kept += copy(d.ranges[kept:], d.ranges[next:])
		d.ranges = d.ranges[:kept]
	}
	d.pieces, d.spare = pieces, d.pieces
	return !d.work.over()
}

// commonSpans returns the tags that are in both lists, which are ascending and
// disjoint, and so is the result. It searches the longer list for each span of the shorter one.
func commonSpans(a, b []span) []span {
	if len(a) > len(b) {
		a, b = b, a
	}
	out := make([]span, 0, len(a))
	for _, r := range a {
		b = b[skip(b, r.lo):]
		for _, c := range b {
			if c.lo > r.hi {
				break
			}
			out = append(out, span{max(r.lo, c.lo), min(r.hi, c.hi)})
		}
	}
	return out
}

// subtractSpans returns the tags of a that are not in b as new spans. Both lists are
// ascending and disjoint, and so is the result.
func subtractSpans(a, b []span) []span {
	out := make([]span, 0, len(a))
	for _, r := range a {
		b = b[skip(b, r.lo):]
		left := true
		for _, cut := range b {
			if cut.lo > r.hi {
				break
			}
			if cut.lo > r.lo {
				out = append(out, span{r.lo, cut.lo - 1})
			}
			if cut.hi >= r.hi {
				left = false
				break
			}
			r.lo = cut.hi + 1
		}
		if left {
			out = append(out, r)
		}
	}
	return out
}

// skip is firstEndingAt for a t that is not far into the list.
func skip(list []span, t Tag) int {
	n := 1
	for n <= len(list) && list[n-1].hi < t {
		n *= 2
	}
	return n/2 + firstEndingAt(list[n/2:min(n, len(list))], t)
}

// blocks yields the range as the fewest patterns, each a range whose size is a power
// of two and divides its first tag; at most 126.
func (r span) blocks() iter.Seq[pattern] {
	return func(yield func(pattern) bool) {
		lo := r.lo
		for {
			low := Tag(0) // ones in the open bits of the widest block at lo
			for n := bits.TrailingZeros64(uint64(lo)); n > 0; n-- {
				if low = MaxTag >> (64 - n); low <= r.hi-lo {
					break
				}
				low = 0
			}
			if !yield(pattern{mask: ^low, value: lo}) || lo+low == r.hi {
				return
			}
			lo += low + 1
		}
	}
}

// intersection returns the tags that match both patterns, which intersect.
func (p pattern) intersection(o pattern) pattern {
	return pattern{mask: p.mask | o.mask, value: p.value | o.value}
}

// appendWithout appends patterns, disjoint ones, that hold the tags of p that are
// not in q. Fixing the highest bit first leaves pieces that are ranges where possible.
func (p pattern) appendWithout(out []pattern, q pattern) []pattern {
	if !p.intersects(q) {
		return append(out, p)
	}
	for fix := uint64(q.mask &^ p.mask); fix != 0; {
		bit := Tag(1) << (bits.Len64(fix) - 1)
		fix &^= uint64(bit)
		p.mask |= bit
		out = append(out, pattern{mask: p.mask, value: p.value | ^q.value&bit})
		p.value |= q.value & bit
	}
	return out
}
