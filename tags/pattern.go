// SPDX-License-Identifier: Apache-2.0

package tags

import (
	"cmp"
	"iter"
	"math/bits"
)

// pattern is the set of the tags t with t&mask == value; value&^mask is 0. The bits
// that are zero in mask are open: a pattern with n of them holds 2^n tags.
type pattern struct{ mask, value Tag }

// compare orders by mask and then by value.
func (p pattern) compare(o pattern) int {
	if c := cmp.Compare(p.mask, o.mask); c != 0 {
		return c
	}
	return cmp.Compare(p.value, o.value)
}

// last returns the highest tag of the pattern; value is the lowest.
func (p pattern) last() Tag { return p.value | ^p.mask }

// span returns the pattern as a range if its open bits are the lowest bits.
func (p pattern) span() (span, bool) {
	if open := ^p.mask; open&(open+1) != 0 {
		return span{}, false
	}
	return span{p.value, p.last()}, true
}

// intersects reports whether some tag matches both patterns.
func (p pattern) intersects(o pattern) bool {
	return (p.value^o.value)&p.mask&o.mask == 0
}

// next returns the lowest tag of the pattern that is not below from, and false if
// there is none.
func (p pattern) next(from Tag) (Tag, bool) {
	differ := (from ^ p.value) & p.mask
	if differ == 0 {
		return from, true
	}
	// Above the highest bit where from violates the pattern, from is kept.
	high := uint(bits.Len64(uint64(differ)) - 1)
	if p.value>>high&1 == 0 {
		// The pattern wants a zero where from has a one, so a higher bit must grow:
		// the lowest open bit above that is zero in from.
		candidates := ^p.mask & ^from &^ (2<<high - 1)
		if candidates == 0 {
			return 0, false
		}
		high = uint(bits.TrailingZeros64(uint64(candidates)))
		keep := from&^(2<<high-1) | 1<<high
		return keep | p.value&(1<<high-1), true
	}
	below := Tag(2)<<high - 1
	return from&^below | p.value&below, true
}

// rank returns how many tags of the pattern are below t. The pattern has at least
// one bit fixed, so that the count fits.
func (p pattern) rank(t Tag) uint64 {
	at, ok := p.next(t)
	if !ok {
		return p.count()
	}
	// The open bits of a member, pushed together, are its position in the pattern.
	var n uint64
	var to uint
	for open := uint64(^p.mask); open != 0; open &= open - 1 {
		n |= uint64(at) >> bits.TrailingZeros64(open) & 1 << to
		to++
	}
	return n
}

// rankAfter returns how many tags of the pattern are at t or below it.
func (p pattern) rankAfter(t Tag) uint64 {
	if t == MaxTag {
		return p.count()
	}
	return p.rank(t + 1)
}

// count returns the number of tags of the pattern, which has at least one bit fixed.
func (p pattern) count() uint64 { return 1 << bits.OnesCount64(uint64(^p.mask)) }

// intersectsSpans reports whether some tag of the pattern is in one of the ascending,
// disjoint spans. The answer means nothing when the work is over.
func (p pattern) intersectsSpans(spans []span, w *work) bool {
	for range p.hits(spans, w) {
		return true
	}
	return false
}

// hits yields the indices of those of the ascending, disjoint spans that hold a tag of
// the pattern, until the work is over. It leaps from the next tag of the pattern to the
// next span and back, and so skips what lies between.
func (p pattern) hits(spans []span, w *work) iter.Seq[int] {
	return func(yield func(int) bool) {
		from := p.value
		for i := 0; w.spend(stepsPerLeap); {
			i += skip(spans[i:], from)
			if i == len(spans) {
				return
			}
			r := spans[i]
			at, ok := p.next(max(from, r.lo))
			if !ok {
				return
			}
			if at <= r.hi {
				if !yield(i) || r.hi == MaxTag {
					return
				}
				at = r.hi + 1
			}
			from = at
		}
	}
}
