// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tagbus/tags"
)

// coverageUniverse is the number of tags at each end of the space of tags from
// which the model's ranges are drawn.
const coverageUniverse = 3000

func drawTag(t *rapid.T, name string) tags.Tag {
	tag := tags.Tag(rapid.IntRange(0, coverageUniverse-1).Draw(t, name))
	if rapid.Bool().Draw(t, name+" at the end") {
		tag = tags.MaxTag - tag
	}
	return tag
}

func TestTable_coverageCountsAsALoopOverAllRangesDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c coverage
		var model []span
		for range rapid.IntRange(0, 4).Draw(t, "rounds") {
			for i := range rapid.IntRange(0, 2000).Draw(t, "single") { // so that chunks are cut
				model = append(model, span{tags.Tag(i * 2), tags.Tag(i * 2)})
				c.change(tags.Tag(i*2), tags.Tag(i*2), 1)
			}
			for range rapid.IntRange(0, 5).Draw(t, "wide") {
				lo, hi := drawTag(t, "lo"), drawTag(t, "hi")
				lo, hi = min(lo, hi), max(lo, hi)
				model = append(model, span{lo, hi})
				c.change(lo, hi, 1)
			}
			checkCoverage(t, &c, model)
			for range rapid.IntRange(0, len(model)).Draw(t, "gone") {
				i := rapid.IntRange(0, len(model)-1).Draw(t, "which")
				c.change(model[i].lo, model[i].hi, -1)
				model[i] = model[len(model)-1]
				model = model[:len(model)-1]
			}
			checkCoverage(t, &c, model)
		}
		for _, s := range model {
			c.change(s.lo, s.hi, -1)
		}
		if len(c.chunks) != 0 {
			t.Fatalf("nothing covers anything: got %v, want no chunks", c.chunks)
		}
	})
}

func TestTable_coverageChangesManyRangesAtOnceAsOneByOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) (list []span) {
			for at := tags.Tag(0); ; {
				at += tags.Tag(rapid.IntRange(0, 4).Draw(t, name+" gap"))
				hi := at + tags.Tag(rapid.IntRange(0, 3).Draw(t, name+" length"))
				if hi >= coverageUniverse/8 || rapid.IntRange(0, 200).Draw(t, name+" end") == 0 {
					break
				}
				list = append(list, span{at, hi})
				at = hi + 1
			}
			if rapid.Bool().Draw(t, name+" at the end") {
				list = append(list, span{tags.MaxTag - tags.Tag(rapid.IntRange(0, 9).Draw(t, "last")), tags.MaxTag})
			}
			return list
		}
		var c coverage
		var model [][]span
		for range rapid.IntRange(1, 6).Draw(t, "rounds") {
			var removed []span
			if len(model) > 0 && rapid.Bool().Draw(t, "goes") {
				i := rapid.IntRange(0, len(model)-1).Draw(t, "which")
				removed = model[i]
				model = slices.Delete(model, i, i+1)
			}
			added := draw("added")
			model = append(model, added)
			c.changeAll(added, removed)
			checkCoverage(t, &c, slices.Concat(model...))
		}
		for _, list := range model {
			c.changeAll(nil, list)
		}
		if len(c.chunks) != 0 {
			t.Fatalf("nothing covers anything: got %v, want no chunks", c.chunks)
		}
	})
}

func checkCoverage(t *rapid.T, c *coverage, model []span) {
	counts := make(map[tags.Tag]int)
	for _, s := range model {
		for _, first := range []tags.Tag{0, tags.MaxTag - coverageUniverse + 1} {
			for tag := max(first, s.lo); tag >= first && tag-first < 2*coverageUniverse && tag <= s.hi; tag++ {
				counts[tag]++
			}
		}
	}
	var last cover
	for at, chunk := range c.chunks {
		if len(chunk) == 0 || len(chunk) > maxChunk {
			t.Fatalf("chunk %d has %d covers, want 1 to %d", at, len(chunk), maxChunk)
		}
		for i, v := range chunk {
			switch first := at == 0 && i == 0; {
			case v.lo > v.hi || v.ranges < 1 || !first && v.lo <= last.hi:
				t.Fatalf("cover %v after %v", v, last)
			case !first && v.lo == last.hi+1 && v.ranges == last.ranges:
				t.Fatalf("covers %v and %v should be one", last, v)
			}
			last = v
		}
	}
	for _, first := range []tags.Tag{0, tags.MaxTag - coverageUniverse + 1} {
		for i := range tags.Tag(coverageUniverse) {
			if tag := first + i; c.contains(tag) != (counts[tag] > 0) {
				t.Fatalf("contains %v: got %v, want %d ranges", tag, c.contains(tag), counts[tag])
			}
		}
	}
}
