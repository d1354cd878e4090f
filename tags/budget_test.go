// SPDX-License-Identifier: Apache-2.0

package tags_test

import (
	"errors"
	"math/rand/v2"
	"testing"

	"tagbus/tags"
)

// crossing returns n patterns that meet each other and most ranges: each fixes a few
// bits, from one with an offset on.
func crossing(n, offset int) tags.Set {
	random := rand.New(rand.NewPCG(1, uint64(offset)))
	sets := make([]tags.Set, n)
	for i := range sets {
		mask := tags.Tag(random.Uint64()&random.Uint64()&random.Uint64()) &^ 1
		mask |= 2 << random.IntN(63) // else it could be all tags
		sets[i] = tags.Match(tags.Tag(random.Uint64()), mask)
	}
	return tags.Union(sets...)
}

// layered returns n patterns, of which each meets one of those of another layer: the
// difference of two has 18 pieces for each, less than the most that there may be.
func layered(n int, layer uint) tags.Set {
	sets := make([]tags.Set, n)
	for i := range sets {
		sets[i] = tags.Match(tags.Tag(i)|^tags.Tag(0xfff), 0xfff|0x3ffff<<(18*layer)<<12)
	}
	return tags.Union(sets...)
}

// even returns n exact tags, none of which is odd.
func even(n int) tags.Set {
	list := make([]tags.Tag, n)
	for i := range list {
		list[i] = tags.Tag(4 * i)
	}
	return tags.Of(list...)
}

// odd returns n patterns of odd tags, which no even range meets, though each has tags
// beside all of them.
func odd(n int) tags.Set {
	sets := make([]tags.Set, n)
	for i := range sets {
		sets[i] = tags.Match(1, 1|tags.Tag(i)<<40)
	}
	return tags.Union(sets...)
}

// These took seconds to minutes.
func TestSet_operationsGiveUpWhenTheyAreTooMuchWork(t *testing.T) {
	a, b := crossing(3000, 1), crossing(3000, 2)
	if _, err := layered(3000, 0).Without(layered(3000, 1)); !errors.Is(err, tags.ErrTooComplex) {
		t.Errorf("Without of patterns with few pieces: got %v, want ErrTooComplex", err)
	}
	ranges, misses := even(1<<20), odd(3000)
	if _, err := a.Without(b); !errors.Is(err, tags.ErrTooComplex) {
		t.Errorf("Without of patterns: got %v, want ErrTooComplex", err)
	}
	if _, err := a.Intersection(b); !errors.Is(err, tags.ErrTooComplex) {
		t.Errorf("Intersection of patterns: got %v, want ErrTooComplex", err)
	}
	if _, err := ranges.Without(a); !errors.Is(err, tags.ErrTooComplex) {
		t.Errorf("Without of ranges and patterns: got %v, want ErrTooComplex", err)
	}
	few := tags.Match(1, 3)
	if _, err := ranges.Intersection(few.Union(misses)); !errors.Is(err, tags.ErrTooComplex) {
		t.Errorf("Intersection of ranges and patterns: got %v, want ErrTooComplex", err)
	}
	if !ranges.Intersects(few.Union(misses)) {
		t.Error("Intersects: got false, which is exact, want true: it would take too long to find out")
	}
	if _, err := tags.NewBudget(tags.MaxSteps).Intersects(ranges, misses); !errors.Is(err, tags.ErrTooComplex) {
		t.Errorf("Intersects with a budget: got %v, want ErrTooComplex", err)
	}
	if _, exact := ranges.Union(odd(1000)).Count(); exact {
		t.Error("Count: got an exact count, want a bound: it would take too long to find out")
	}
}

// Ranges alone are never too much.
func TestSet_ofRangesIsNeverTooMuchWork(t *testing.T) {
	a, b := even(1<<20), even(1<<19)
	for name, f := range map[string]func() (tags.Set, error){
		"Without":      func() (tags.Set, error) { return a.Without(b) },
		"Intersection": func() (tags.Set, error) { return a.Intersection(b) },
	} {
		if got, err := f(); err != nil || got.Parts() != 1<<19 {
			t.Errorf("%s: got %d parts and %v, want %d", name, got.Parts(), err, 1<<19)
		}
	}
	if a.Intersects(tags.Of(1, 3)) {
		t.Error("Intersects: got true, want false")
	}
}

// A budget is for all operations together.
func TestBudget_isSpentOnce(t *testing.T) {
	a, b := even(1000), even(2000)
	budget := tags.NewBudget(20000)
	operations := 0
	for ; operations < 100; operations++ {
		if _, err := budget.Without(a, b); err != nil {
			break
		}
	}
	if operations != 3 || budget.Left() >= 0 {
		t.Errorf("got %d operations of 6,000 steps out of 20,000, want 3", operations)
	}
	if _, err := budget.Intersects(a, b); !errors.Is(err, tags.ErrTooComplex) {
		t.Errorf("after that: got %v, want ErrTooComplex", err)
	}
}

// small returns a random set of tags below 64.
func small(random *rand.Rand) tags.Set {
	var sets []tags.Set
	for range random.IntN(4) {
		lo, hi := tags.Tag(random.IntN(64)), tags.Tag(random.IntN(64))
		r, err := tags.Range(min(lo, hi), max(lo, hi))
		if err != nil {
			panic(err)
		}
		sets = append(sets, r)
	}
	for range random.IntN(4) {
		sets = append(sets, tags.Match(tags.Tag(random.IntN(64)), ^tags.Tag(63)|tags.Tag(random.IntN(64))))
	}
	return tags.Union(sets...)
}

func TestSet_Intersection_andUnionHoldTheTagsThatTheyShould(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 20000 {
		a, b := small(random), small(random)
		both, err := a.Intersection(b)
		if err != nil {
			t.Fatal(err)
		}
		either := a.Union(b)
		for tag := range tags.Tag(64) {
			if got, want := both.Contains(tag), a.Contains(tag) && b.Contains(tag); got != want {
				t.Fatalf("%v in the intersection of %v and %v, %v: got %v, want %v", tag, a, b, both, got, want)
			}
			if got, want := either.Contains(tag), a.Contains(tag) || b.Contains(tag); got != want {
				t.Fatalf("%v in the union of %v and %v, %v: got %v, want %v", tag, a, b, either, got, want)
			}
		}
		if got, want := a.Intersects(b), !both.IsEmpty(); got != want {
			t.Fatalf("%v intersects %v: got %v, want %v", a, b, got, want)
		}
		if !either.Equal(tags.Union(a, b)) || !either.Equal(b.Union(a)) {
			t.Fatalf("unions of %v and %v: got different ones", a, b)
		}
	}
}
