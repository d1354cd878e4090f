package tags

import (
	"iter"
	"math/bits"
)

// maxPieces bounds the patterns that Without makes.
const maxPieces = 1 << 16

// Without returns the set of the tags that are in s and not in o. The result is
// exact. It may hold patterns where s had ranges: 0-15 without the even tags is a pattern.
//
// Cost: linear for ranges. Each pattern of o that meets a part of s splits it into
// tens of patterns, which later ones split again; a range with odd ends is tens of
// patterns by itself. Thousands of ranges that meet a pattern, or five patterns that
// meet each other, can need too many.
//
//   - Errors: ErrTooComplex if more than 65,536 patterns would be needed. Never for
//     sets of ranges only.
func (s Set) Without(o Set) (Set, error) {
	d := difference{ranges: subtractSpans(s.ranges, o.ranges)}
	gaps := subtractSpans([]span{{0, MaxTag}}, o.ranges)
	for _, p := range s.masks {
		if !p.intersectsSpans(o.ranges) {
			d.pieces = append(d.pieces, p)
			continue
		}
		for gap := range p.hits(gaps) {
			for block := range gap.blocks() {
				if block.intersects(p) {
					d.pieces = append(d.pieces, block.intersection(p))
				}
			}
			if len(d.pieces) > maxPieces {
				return Set{}, ErrTooComplex
			}
		}
	}
	for _, q := range o.masks {
		if !d.remove(q) {
			return Set{}, ErrTooComplex
		}
	}
	return build(d.ranges, d.pieces), nil
}

// difference is what is left of a set while patterns are removed from it.
type difference struct {
	ranges []span    // disjoint, ascending
	pieces []pattern // in any order
}

// remove removes the tags of q. It gives up, with d spoiled, and returns false when
// there are too many pieces.
func (d *difference) remove(q pattern) bool {
	var pieces []pattern
	for _, p := range d.pieces {
		if pieces = p.appendWithout(pieces, q); len(pieces) > maxPieces {
			return false
		}
	}
	ranges := d.ranges[:0]
	for _, r := range d.ranges {
		if at, ok := q.next(r.lo); !ok || at > r.hi {
			ranges = append(ranges, r)
			continue
		}
		for block := range r.blocks() {
			pieces = block.appendWithout(pieces, q)
		}
		if len(pieces) > maxPieces {
			return false
		}
	}
	d.ranges, d.pieces = ranges, pieces
	return true
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
