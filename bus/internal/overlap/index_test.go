// SPDX-License-Identifier: Apache-2.0

package overlap_test

import (
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"tagbus/bus/internal/overlap"
	"tagbus/tags"
)

// world is publishers that are compared in one of two ways: each new one with those of an
// index, or with all others.
type world struct {
	index      *overlap.Index[string] // nil: with all others
	publishers map[string]*publisher
}

// announce makes a publisher announce a set.
func (w *world) announce(t interface{ Fatal(...any) }, name string, set tags.Set, second, most int) {
	p := w.publishers[name]
	if p == nil {
		p = &publisher{Source: name}
		w.publishers[name] = p
	}
	p.Update(name, set, at(second))
	var others []*publisher
	if w.index != nil {
		others, _ = w.index.Meet(p, most)
	} else {
		for _, o := range w.publishers {
			if o != p {
				others = append(others, o)
			}
		}
	}
	for _, o := range others {
		if _, err := p.Compare(o); err != nil && !errors.Is(err, tags.ErrTooComplex) {
			t.Fatal(err)
		}
	}
}

func (w *world) forget(name string) {
	if p := w.publishers[name]; p != nil {
		if w.index != nil {
			w.index.Forget(p)
		}
		p.Forget()
		delete(w.publishers, name)
	}
}

// pairs returns what each publisher would send of each tag to 40, beside each other one.
func (w *world) pairs(t interface{ Fatal(...any) }, wanted tags.Set) map[string]string {
	result := make(map[string]string)
	for name, p := range w.publishers {
		for o, v := range p.Rivals {
			older, some, err := v.LeaveToOlder(p, wanted, overlap.Budget())
			newer, err2 := v.LeaveToNewer(&publisher{}, wanted, wanted, overlap.Budget())
			if err = errors.Join(err, err2); err != nil {
				t.Fatal(err)
			}
			result[name+" beside "+o.Source] = fmt.Sprint(older, some, newer, v.Complex(), v.Common(wanted), v.Concerns(wanted))
		}
	}
	return result
}

// setOf draws a set of tags to 40, mostly of few parts, and now and then with masks.
func setOf(rt *rapid.T) tags.Set {
	var sets []tags.Set
	for range rapid.IntRange(0, 4).Draw(rt, "parts") {
		lo := tags.Tag(rapid.Uint64Range(0, 40).Draw(rt, "first"))
		set, err := tags.Range(lo, lo+tags.Tag(rapid.SampledFrom([]int{0, 0, 0, 1, 7, 40}).Draw(rt, "more")))
		if err != nil {
			rt.Fatal(err)
		}
		sets = append(sets, set)
	}
	if rapid.IntRange(0, 9).Draw(rt, "masks") == 0 {
		sets = append(sets, tags.Match(tags.Tag(rapid.Uint64Range(0, 40).Draw(rt, "value")), ^tags.Tag(5)))
	}
	return tags.Union(sets...)
}

// TestTheIndexFindsWhatTheComparisonOfAllFinds: whatever publishers announce, change and
// take back, those that an index names are enough to compare.
func TestTheIndexFindsWhatTheComparisonOfAllFinds(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		quick := &world{index: &overlap.Index[string]{}, publishers: make(map[string]*publisher)}
		all := &world{publishers: make(map[string]*publisher)}
		most := rapid.SampledFrom([]int{0, 5, 20, 1 << 20}).Draw(rt, "most steps")
		wanted, err := tags.Range(0, 90)
		if err != nil {
			rt.Fatal(err)
		}
		for second := range rapid.IntRange(1, 60).Draw(rt, "changes") {
			name := fmt.Sprint(rapid.IntRange(0, 12).Draw(rt, "publisher"))
			if rapid.IntRange(0, 5).Draw(rt, "forget") == 0 {
				quick.forget(name)
				all.forget(name)
			} else {
				set := setOf(rt)
				quick.announce(rt, name, set, second, most)
				all.announce(rt, name, set, second, most)
			}
			got, want := quick.pairs(rt, wanted), all.pairs(rt, wanted)
			for pair := range got {
				if got[pair] != want[pair] {
					rt.Fatalf("%s: got %q, want %q", pair, got[pair], want[pair])
				}
			}
			for pair := range want {
				if _, ok := got[pair]; !ok {
					rt.Fatalf("%s: got no rivals, want them", pair)
				}
			}
		}
	})
}

// A publisher is compared with few others unless they have tags of it, however the tags
// lie, and one of very many ranges is not much more work than one of 1,024.
func TestTheIndexNamesFew(t *testing.T) {
	const n = 2000
	for _, test := range []struct {
		name  string
		set   func(i int) tags.Set
		total int // others that are named, of all publishers
		steps int // for each
	}{
		{"one after the other", func(i int) tags.Set { return comb(10*i, 1, 10) }, 0, 200},
		{"among each other", func(i int) tags.Set { return comb(i, n, 10) }, 5 * n, 2500},
		{"one is where all others are", func(i int) tags.Set {
			if i == n/2 {
				return comb(5, 10, n)
			}
			return comb(10*i, 1, 3)
		}, 2 * n, 200},
		{"very many ranges", func(i int) tags.Set { return comb(i, n, 4*1024) }, 2 * n * n, 1 << 18},
	} {
		t.Run(test.name, func(t *testing.T) {
			var index overlap.Index[string]
			count := n
			if test.steps > 10_000 {
				count = 20
			}
			total, steps := 0, 0
			for i := range count {
				p := &publisher{Source: fmt.Sprint(i)}
				p.Update(p.Source, test.set(i), at(i))
				others, spent := index.Meet(p, 1<<20)
				total, steps = total+len(others), steps+spent
			}
			t.Logf("got %d others named, %d steps for each", total, steps/count)
			if total > test.total || steps > test.steps*count {
				t.Errorf("got %d others named in %d steps, want at most %d in %d", total, steps, test.total, test.steps*count)
			}
		})
	}
}

// comb returns n tags with the same distance.
func comb(first, step, n int) tags.Set {
	list := make([]tags.Tag, n)
	for i := range list {
		list[i] = tags.Tag(first + i*step)
	}
	return tags.Of(list...)
}

// A search that takes too long names all others, also those that it would have found last.
func TestTheIndexNamesAllRatherThanSearchLong(t *testing.T) {
	var index overlap.Index[string]
	const n = 100
	for i := range n {
		p := &publisher{Source: fmt.Sprint(i)}
		p.Update(p.Source, comb(0, 2, n), at(i)) // all the same
		others, _ := index.Meet(p, 50)
		if len(others) != i {
			t.Fatalf("got %d others, want all %d", len(others), i)
		}
	}
}
