// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"tagbus/subscription"
	"tagbus/tags"
)

// list returns positions, or counts.
func (h *hostileBed) list() []byte {
	kind, first, n, count := h.byte(), h.byte(), int(h.byte()), h.number()
	tag, step := tags.Tag(first), tags.Tag(1)
	switch kind % 6 {
	case 0:
		n = 1
	case 1:
		n *= 8 // up to 2,040 known tags
	case 2: // unknown ones
		tag, n = tags.Tag(first)<<32, n*8
	case 3: // up to the last
		tag = tags.MaxTag - tags.Tag(n)
	case 4: // not the same again
		tag += tags.Tag(h.round) << 8
	case 5:
		return h.bytes(n) // damaged
	}
	var list []byte
	prev := tags.Tag(0)
	for i := range n {
		at := tag + step*tags.Tag(i)
		if len(list) > subscription.MaxControlBytes-128 || i > 0 && at <= prev {
			break
		}
		list = subscription.AppendPosition(list, prev, subscription.Position{Tag: at, Count: count + uint64(h.round)*uint64(kind>>7)})
		prev = at
	}
	return list
}

// set returns the binary form of a set, or what is none.
func (h *hostileBed) set() []byte {
	kind, a, n := h.byte(), h.byte(), int(h.byte())
	var set tags.Set
	switch kind % 14 {
	case 0:
		set = tags.Of(tags.Tag(a) + tags.Tag(h.round))
	case 1:
		set, _ = tags.Range(tags.Tag(a), tags.Tag(a)+tags.Tag(n)*8)
	case 2: // not the same again
		set, _ = tags.Range(tags.Tag(a)+tags.Tag(h.round)*8, tags.Tag(a)+tags.Tag(n)*8+tags.Tag(h.round)*8)
	case 3:
		set, _ = tags.Range(0, tags.MaxTag)
	case 4: // all that are known, range by range
		set = everySecond(n*4, tags.Tag(a+byte(h.round))&1)
	case 5: // many that are not
		set = everySecond(n*32, tags.Tag(a+byte(h.round))&1)
	case 6:
		set = masks(n, int(a)+h.round)
	case 7: // more masks than are allowed
		set = masks(256+n, int(a)+h.round)
	case 8:
		set = tags.Match(tags.Tag(a)+tags.Tag(h.round)&1, tags.Tag(a)|1)
	case 9: // a random half
		var list []tags.Tag
		for tag := range 16 * n {
			if (tag*int(a|1)+h.round)>>3&1 == 1 {
				list = append(list, tags.Tag(tag))
			}
		}
		set = tags.Of(list...)
	case 10: // the head of very many ranges
		head, part := endless(uint64(n+1) << 16)
		return append(head, part[:int(a)*16]...)
	case 11: // the head of as many as are allowed
		head, part := endless(subscription.MaxParts)
		return append(head, part[:int(a)*32]...)
	case 12:
		return h.bytes(n)
	case 13: // none
	}
	b, err := set.MarshalBinary()
	must(h.t, err)
	return b
}

// everySecond returns n ranges of one tag.
func everySecond(n int, first tags.Tag) tags.Set {
	list := make([]tags.Tag, n)
	for i := range list {
		list[i] = first + 2*tags.Tag(i)
	}
	return tags.Of(list...)
}
