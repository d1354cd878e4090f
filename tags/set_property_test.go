// SPDX-License-Identifier: Apache-2.0

package tags_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tagbus/tags"
)

// model is a set over a universe of 1,024 cells, the obvious way.
type model [1024]bool

// universe maps the cells of a model to tags: cell i is the 2^shift tags from
// base + i<<shift on.
type universe struct {
	name  string
	base  tags.Tag
	shift uint
}

var universes = []universe{
	{"at the bottom of the numbers", 0, 0},
	{"at the top of the numbers", tags.MaxTag - 1023, 0},
	{"in the link of a detector tag", 0x1000013000000000, 22},
	{"over all numbers", 0, 54},
}

// first and last are the ends of cell i.
func (u universe) first(i int) tags.Tag { return u.base + tags.Tag(i)<<u.shift }
func (u universe) last(i int) tags.Tag  { return u.first(i) + (1<<u.shift - 1) }

// draw returns a set and the model of it.
func (u universe) draw(t *rapid.T, label string) (tags.Set, *model) {
	var s tags.Set
	m := new(model)
	cell := rapid.IntRange(0, len(m)-1)
	for n := rapid.IntRange(0, 6).Draw(t, label+" parts"); n > 0; n-- {
		var part tags.Set
		var in func(i int) bool
		a, b := cell.Draw(t, "a"), cell.Draw(t, "b")
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0: // one cell
			part, in = mustRangeRapid(t, u.first(a), u.last(a)), func(i int) bool { return i == a }
		case 1:
			a, b = min(a, b), max(a, b)
			part, in = mustRangeRapid(t, u.first(a), u.last(b)), func(i int) bool { return a <= i && i <= b }
		case 2: // a short range near another
			b = min(a+b%4, len(m)-1)
			part, in = mustRangeRapid(t, u.first(a), u.last(b)), func(i int) bool { return a <= i && i <= b }
		case 3: // b has a one for each fixed bit
			mask := ^(tags.Tag(len(m))<<u.shift - 1) | tags.Tag(b)<<u.shift
			part, in = tags.Match(u.first(a), mask), func(i int) bool { return i&b == a&b }
		}
		s = s.Union(part)
		for i := range m {
			m[i] = m[i] || in(i)
		}
	}
	return s, m
}

func mustRangeRapid(t *rapid.T, lo, hi tags.Tag) tags.Set {
	s, err := tags.Range(lo, hi)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// check compares all that a set says about itself with the model.
func (u universe) check(t *rapid.T, what string, s tags.Set, m *model) {
	var want []tags.Tag
	cells := uint64(0)
	for i, in := range m {
		for _, tag := range []tags.Tag{u.first(i), u.last(i), u.first(i) + tags.Tag(i*7919)&(u.last(i)-u.first(i))} {
			if s.Contains(tag) != in {
				t.Fatalf("%s %q: contains %v: got %v want %v", what, s, tag, !in, in)
			}
		}
		if in {
			want = append(want, u.first(i))
			cells++
		}
	}
	if s.IsEmpty() != (cells == 0) {
		t.Fatalf("%s %q: empty: got %v, holds %d cells", what, s, s.IsEmpty(), cells)
	}
	n, exact := s.Count()
	// 1,024 cells of 2^54 are 2^64 and do not fit.
	if fits := u.shift < 54 || cells < 1024; exact && (!fits || n != cells<<u.shift) || fits && n < cells<<u.shift {
		t.Fatalf("%s %q: count: got %d, %v want %d", what, s, n, exact, cells<<u.shift)
	}
	if !exact && !slices.Contains(slices.Collect(maskOverlaps(s)), true) && cells < 1024 {
		t.Fatalf("%s %q: count is not exact and no patterns overlap", what, s)
	}
	if u.shift == 0 {
		if got := slices.Collect(s.All()); !slices.Equal(got, want) {
			t.Fatalf("%s %q: tags: got %v want %v", what, s, got, want)
		}
	} else {
		for got := range s.All() {
			if got != want[0] {
				t.Fatalf("%s %q: first tag: got %v want %v", what, s, got, want[0])
			}
			break
		}
	}
	u.checkForms(t, what, s)
}

// maskOverlaps yields for each pair of patterns whether they overlap.
func maskOverlaps(s tags.Set) func(yield func(bool) bool) {
	return func(yield func(bool) bool) {
		for v1, m1 := range s.Masks() {
			for v2, m2 := range s.Masks() {
				if (v1 != v2 || m1 != m2) && !yield((v1^v2)&m1&m2 == 0) {
					return
				}
			}
		}
	}
}

// checkForms checks that the canonical form is canonical and survives each encoding.
func (universe) checkForms(t *rapid.T, what string, s tags.Set) {
	prev, first := tags.Tag(0), true
	for lo, hi := range s.Ranges() {
		if lo > hi || !first && (lo <= prev || lo-1 == prev) {
			t.Fatalf("%s %q: range %v-%v is after %v", what, s, lo, hi, prev)
		}
		prev, first = hi, false
	}
	if again := tags.Union(s); !again.Equal(s) {
		t.Fatalf("%s %q: built again: %q", what, s, again)
	}
	if got, err := tags.ParseSet(s.String()); err != nil || !got.Equal(s) {
		t.Fatalf("%s %q: through text: %q, %v", what, s, got, err)
	}
	var got tags.Set
	data, err := s.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	if err := got.UnmarshalBinary(data); err != nil || !got.Equal(s) {
		t.Fatalf("%s %q: through binary %x: %q, %v", what, s, data, got, err)
	}
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	got = tags.Set{}
	if err := json.Unmarshal(text, &got); err != nil || !got.Equal(s) {
		t.Fatalf("%s %q: through JSON %s: %q, %v", what, s, text, got, err)
	}
}

func TestSet_behavesAsTheModel(t *testing.T) {
	for _, u := range universes {
		t.Run("a universe "+u.name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				a, ma := u.draw(t, "a")
				b, mb := u.draw(t, "b")
				u.check(t, "a", a, ma)

				var union, without model
				intersects := false
				for i := range ma {
					union[i] = ma[i] || mb[i]
					without[i] = ma[i] && !mb[i]
					intersects = intersects || ma[i] && mb[i]
				}
				u.check(t, "union", a.Union(b), &union)
				if x, y := a.Union(b), tags.Union(b, a, b); !x.Equal(y) {
					t.Fatalf("union depends on the order: %q and %q", x, y)
				}
				if got := a.Intersects(b); got != intersects || b.Intersects(a) != intersects {
					t.Fatalf("%q and %q: intersects: got %v want %v", a, b, got, intersects)
				}
				left, err := a.Without(b)
				if err != nil {
					t.Fatalf("%q without %q: %v", a, b, err)
				}
				u.check(t, fmt.Sprintf("%q without %q", a, b), left, &without)
				if a.Equal(b) && *ma != *mb {
					t.Fatalf("%q and %q are not equal", a, b)
				}
			})
		})
	}
}

func TestSet_Equal_setsOfRangesWhenTheirTagsAre(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var m model
		list := rapid.SliceOf(rapid.Uint64Range(0, uint64(len(m))-1)).Draw(t, "tags")
		var one, each tags.Set
		var all []tags.Tag
		for _, v := range list {
			m[v] = true
			each = each.Union(tags.Of(tags.Tag(v)))
			all = append(all, tags.Tag(v))
		}
		one = tags.Of(all...)
		for i := 0; i < len(m); i++ {
			if lo := i; m[i] {
				for i+1 < len(m) && m[i+1] {
					i++
				}
				one = one.Union(mustRangeRapid(t, tags.Tag(lo), tags.Tag(i)))
			}
		}
		if !one.Equal(each) {
			t.Fatalf("got %q want %q", one, each)
		}
	})
}
