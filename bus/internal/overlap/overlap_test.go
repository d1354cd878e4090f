// SPDX-License-Identifier: Apache-2.0

package overlap_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tagbus/bus/internal/overlap"
	"tagbus/subscription"
	"tagbus/tags"
)

type publisher = overlap.Publisher[string]

// at returns an instant of the tests.
func at(second int) time.Time { return time.Unix(int64(second), 0) }

// of returns a publisher that announces a set.
func of(name string, second int, list ...tags.Tag) *publisher {
	p := &publisher{Source: name}
	p.Update(name, tags.Of(list...), at(second))
	return p
}

// compared returns the pair of two publishers, or nil if they are no rivals.
func compared(t *testing.T, a, b *publisher) *overlap.Pair[string] {
	t.Helper()
	if _, err := a.Compare(b); err != nil {
		t.Errorf("compare: got %v, want no error", err)
	}
	return pairOf(t, a, b)
}

// pairOf returns what both publishers have the other one by.
func pairOf(t *testing.T, a, b *publisher) (v *overlap.Pair[string]) {
	t.Helper()
	for o, pair := range a.Rivals {
		if o == b {
			v = pair
		}
	}
	for o, pair := range b.Rivals {
		if o == a && pair != v {
			t.Errorf("the two publishers do not have the same pair")
		}
	}
	return v
}

// combs returns a set of masks, of which each meets each one of another shift.
func combs(n, shift int) tags.Set {
	all := make([]tags.Set, n)
	for i := range all {
		all[i] = tags.Match(0, tags.Tag(i+1)<<shift)
	}
	return tags.Union(all...)
}

// The older publisher keeps the common tags, or the newer one takes them when it sends.
func TestWhatEachIsToSend(t *testing.T) {
	for _, test := range []struct {
		name         string
		a, b         *publisher
		older, newer []tags.Tag // of a subscription to 1 to 4, for a as the older one and as the newer one
	}{
		{"b is later", of("a", 1, 1, 2), of("b", 2, 2, 3), []tags.Tag{1, 2, 3, 4}, []tags.Tag{1, 3, 4}},
		{"a is later", of("a", 2, 1, 2), of("b", 1, 2, 3), []tags.Tag{1, 3, 4}, []tags.Tag{1, 2, 3, 4}},
		{"at once: the instance decides", of("a", 1, 1, 2), of("b", 1, 2, 3), []tags.Tag{1, 2, 3, 4}, []tags.Tag{1, 3, 4}},
		{"at once, the other way round", of("b", 1, 1, 2), of("a", 1, 2, 3), []tags.Tag{1, 3, 4}, []tags.Tag{1, 2, 3, 4}},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, order := range [][2]*publisher{{test.a, test.b}, {test.b, test.a}} {
				v := compared(t, order[0], order[1])
				set := tags.Of(1, 2, 3, 4)
				older, some, err := v.LeaveToOlder(test.a, set, overlap.Budget())
				if err != nil || !older.Equal(tags.Of(test.older...)) || some != (len(test.older) < 4) {
					t.Errorf("to the older: got %v, %v, %v, want %v", older, some, err, test.older)
				}
				newer, err := v.LeaveToNewer(test.b, set, tags.Of(2, 3, 4), overlap.Budget())
				if err != nil || !newer.Equal(tags.Of(test.newer...)) {
					t.Errorf("to the newer: got %v, %v, want %v", newer, err, test.newer)
				}
				if got, err := v.LeaveToNewer(test.b, set, tags.Set{}, overlap.Budget()); err != nil || !got.Equal(set) {
					t.Errorf("to a newer one that sends nothing yet: got %v, %v, want all", got, err)
				}
				order[0].Forget()
			}
		})
	}
}

// A publisher that adds a tag is the later one of that tag alone.
func TestTagsAreAnnouncedOneByOne(t *testing.T) {
	a, b := of("a", 1, 1, 2), of("b", 2, 2, 3)
	a.Update("a", tags.Of(1, 2, 3), at(3))
	v := compared(t, a, b)
	both := func(p *publisher) tags.Set {
		set, _, err := v.LeaveToOlder(p, tags.Of(2, 3), overlap.Budget())
		if err != nil {
			t.Fatal(err)
		}
		return set
	}
	if !both(a).Equal(tags.Of(2)) || !both(b).Equal(tags.Of(3)) {
		t.Errorf("got %v of a and %v of b, want 2 and 3", both(a), both(b))
	}
	if later, earlier := v.Order(); later != "b" || earlier != "a" {
		t.Errorf("each has announced a tag later: got %s, %s, want b, a", later, earlier)
	}
	a.Update("a", tags.Of(1, 3), at(3)) // and 2 again, later than b
	a.Update("a", tags.Of(1, 2, 3), at(4))
	if v = compared(t, a, b); !both(a).IsEmpty() || !both(b).Equal(tags.Of(2, 3)) {
		t.Errorf("removed and added again: got %v of a and %v of b, want none and both", both(a), both(b))
	}
	if later, earlier := v.Order(); later != "a" || earlier != "b" {
		t.Errorf("got %s, %s, want a, b", later, earlier)
	}
}

// One of two publishers sends each common tag, whatever they have announced, and each of
// them what is not common.
func TestEachTagIsSentOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		both := []*publisher{{Source: "a"}, {Source: "b"}}
		now := make([]tags.Set, 2)
		set := func(name string) tags.Set {
			return tags.Of(rapid.SliceOfN(rapid.Map(rapid.Uint64Range(0, 20), func(n uint64) tags.Tag { return tags.Tag(n) }), 0, 8).Draw(rt, name)...)
		}
		for second := range rapid.IntRange(2, 30).Draw(rt, "changes") {
			i := second % 2
			now[i] = set("announced")
			both[i].Update(both[i].Source, now[i], at(second/rapid.IntRange(1, 4).Draw(rt, "at once")))
		}
		v := compared(t, both[0], both[1])
		common, err := now[0].Intersection(now[1])
		if err != nil {
			t.Fatal(err)
		}
		if v == nil {
			if !common.IsEmpty() {
				rt.Errorf("got no rivals, want them of %v", common)
			}
			return
		}
		wanted := set("wanted")
		var left [2]tags.Set
		for i, p := range both {
			if left[i], _, err = v.LeaveToOlder(p, wanted, overlap.Budget()); err != nil {
				t.Fatal(err)
			}
		}
		for tag := range tags.Tag(21) {
			want := 0 // of the two
			if wanted.Contains(tag) {
				if want = 2; common.Contains(tag) {
					want = 1
				}
			}
			got := 0
			for _, set := range left {
				if set.Contains(tag) {
					got++
				}
			}
			if got != want {
				rt.Errorf("tag %v: got it from %d, want %d; wanted %v, common %v", tag, got, want, wanted, common)
			}
		}
		if v.Concerns(wanted) != common.Intersects(wanted) {
			rt.Errorf("got concerned %v by %v, common are %v", v.Concerns(wanted), wanted, common)
		}
	})
}

// Each common tag is reported once, and publishers stay rivals because of that.
func TestReport(t *testing.T) {
	a, b := of("a", 1, 1), of("b", 2, 2)
	if v := compared(t, a, b); v != nil || a.Count() > 0 {
		t.Fatalf("nothing in common: got %v", v)
	}
	check := func(when string, want bool, list ...tags.Tag) {
		t.Helper()
		b.Update("b", tags.Of(list...), at(3))
		v := compared(t, a, b)
		if got := v.Report(); got != want {
			t.Errorf("%s: got %v, want %v", when, got, want)
		}
		if got := v.Common(tags.Of(1, 7)); got.Contains(7) || got.Contains(1) != tags.Of(list...).Contains(1) {
			t.Errorf("%s: got %v in common", when, got)
		}
		if v.Report() {
			t.Errorf("%s: reported twice", when)
		}
	}
	a.Update("a", tags.Of(1, 2, 3), at(3))
	check("a tag", true, 1)
	check("a tag more", true, 1, 2)
	check("one of them", false, 2)
	check("none any more", false, 4)
	if a.Count() != 1 || b.Count() != 1 {
		t.Errorf("got %d and %d rivals, want each other", a.Count(), b.Count())
	}
	check("both again", false, 1, 2)
	b.Forget()
	if a.Count() > 0 || b.Count() > 0 {
		t.Errorf("forgotten: got %d and %d rivals, want none", a.Count(), b.Count())
	}
	check("forgotten", true, 1)
}

// Publishers whose tags change again and again take no memory for it.
func TestTheReportedAreBounded(t *testing.T) {
	var a, b publisher
	set := func(from int) tags.Set {
		list := make([]tags.Set, subscription.MaxMasks)
		for i := range list {
			list[i] = tags.Match(tags.Tag(from+i)<<20|1, tags.MaxTag&^0x80)
		}
		return tags.Union(list...)
	}
	for i := range 2 {
		a.Update("a", set(i*subscription.MaxMasks), at(i))
		b.Update("b", set(i*subscription.MaxMasks), at(i))
		if v := compared(t, &a, &b); !v.Report() {
			t.Errorf("%d: got no report of new tags", i)
		}
	}
	if !a.Ever().Equal(tags.Everything()) {
		t.Errorf("got %d parts as ever served, want everything", a.Ever().Parts())
	}
	a.Update("a", tags.Of(1), at(9))
	b.Update("b", tags.Of(1), at(9))
	if v := compared(t, &a, &b); v.Report() {
		t.Error("got another report after everything was reported")
	}
}

// Of a publisher that changes often, only the newest tags are known to be new.
func TestManyAnnouncements(t *testing.T) {
	var a publisher
	var list []tags.Tag
	for i := range 16 {
		list = append(list, tags.Tag(i*2))
		a.Update("a", tags.Of(list...), at(i))
	}
	old := of("b", 8, 0) // later than tag 0 of a, earlier than the newest
	older := func() bool {
		left, _, err := compared(t, &a, old).LeaveToOlder(&a, tags.Of(0), overlap.Budget())
		return err == nil && left.Contains(0)
	}
	if !older() {
		t.Error("after 16 announcements: got b as the older one of the first tag, want a")
	}
	a.Update("a", tags.Of(append(list, 99)...), at(20))
	if older() {
		t.Error("after 17 announcements: got a as the older one, want all tags as new as the newest")
	}
	if want := tags.Of(append(list, 99)...); !a.Ever().Equal(want) {
		t.Errorf("ever: got %v, want %v", a.Ever(), want)
	}
}

// What takes too long leaves all to both, until a comparison that does not.
func TestTooComplex(t *testing.T) {
	a, b := &publisher{Source: "a"}, &publisher{Source: "b"}
	a.Update("a", combs(200, 0), at(1))
	b.Update("b", combs(200, 20), at(2))
	steps, err := a.Compare(b)
	if !errors.Is(err, tags.ErrTooComplex) || steps == 0 {
		t.Fatalf("got %v after %d steps, want ErrTooComplex", err, steps)
	}
	v := pairOf(t, a, b)
	if v == nil || !v.Complex() || v.Concerns(tags.Everything()) {
		t.Errorf("got %v, want a complex pair that concerns nothing", v)
	}
	a.Update("a", tags.Of(tags.MaxTag), at(3))
	if v := compared(t, a, b); v != nil {
		t.Errorf("simple again, nothing in common: got %v, want no rivals", v)
	}
}

// What is left of a set of a subscription may be too complex too.
func TestASubscriptionMayBeTooComplex(t *testing.T) {
	for name, leave := range map[string]func(v *overlap.Pair[string], b *publisher, set tags.Set, budget *tags.Budget) (tags.Set, error){
		"to the older": func(v *overlap.Pair[string], b *publisher, set tags.Set, budget *tags.Budget) (tags.Set, error) {
			left, _, err := v.LeaveToOlder(b, set, budget)
			return left, err
		},
		"to the newer": func(v *overlap.Pair[string], b *publisher, set tags.Set, budget *tags.Budget) (tags.Set, error) {
			return v.LeaveToNewer(b, set, tags.Everything(), budget)
		},
	} {
		for _, steps := range []int{-1 << 20, 10} {
			a, b := of("a", 1), of("b", 2)
			a.Update("a", combs(20, 0), at(1))
			b.Update("b", combs(20, 0), at(2))
			v := compared(t, a, b)
			set := combs(200, 20)
			left, err := leave(v, b, set, tags.NewBudget(steps))
			if !errors.Is(err, tags.ErrTooComplex) || !left.Equal(set) || !v.Complex() {
				t.Errorf("%s, %d steps: got %v, complex %v, want ErrTooComplex and all left", name, steps, err, v.Complex())
			}
		}
	}
}

// Until publishers are compared again, both send all. They stay rivals.
func TestDefer(t *testing.T) {
	a, b := of("a", 1, 1), of("b", 2, 1)
	a.Defer(b) // they never met
	if v := compared(t, a, b); !v.Concerns(tags.Of(1)) {
		t.Fatal("got nothing in common")
	}
	b.Defer(a)
	v := pairOf(t, a, b)
	if v == nil || v.Concerns(tags.Of(1)) {
		t.Errorf("got %v, want a pair with nothing in common", v)
	}
	if v := compared(t, a, b); !v.Concerns(tags.Of(1)) {
		t.Error("compared anew: got nothing in common")
	}
}

// A loop over rivals may stop.
func TestRivals(t *testing.T) {
	a := of("a", 1, 1)
	names := []string{"b", "c", "d"}
	for _, name := range names {
		compared(t, a, of(name, 2, 1))
	}
	var got []string
	for o := range a.Rivals {
		got = append(got, o.Source)
	}
	if slices.Sort(got); !slices.Equal(got, names) || a.Count() != 3 {
		t.Errorf("got %v, want %v", got, names)
	}
	for range a.Rivals {
		return
	}
	t.Error("got no rivals")
}

// Most publishers have nothing in common, and there may be thousands: of such a pair nothing
// is kept, and the comparison is a step.
func TestPublishersApartAreComparedAtOnce(t *testing.T) {
	with := func(name string, sets ...tags.Set) *publisher {
		p := &publisher{Source: name}
		p.Update(name, tags.Union(sets...), at(1))
		return p
	}
	span := func(lo, hi tags.Tag) tags.Set {
		set, err := tags.Range(lo, hi)
		if err != nil {
			t.Fatal(err)
		}
		return set
	}
	low, high := with("low", span(0x100, 0x1ff)), with("high", span(0x200, 0x2ff), tags.Match(0x1000, 0xff0f))
	empty := with("empty")
	for _, pair := range [][2]*publisher{{low, high}, {high, low}, {empty, low}, {low, empty}} {
		var steps int
		var err error
		if allocs := testing.AllocsPerRun(10, func() { steps, err = pair[0].Compare(pair[1]) }); allocs > 0 || steps != 1 || err != nil {
			t.Errorf("%s and %s: got %d steps, %v and %v allocations, want one step", pair[0].Source, pair[1].Source, steps, err, allocs)
		}
		if pair[0].Count()+pair[1].Count() > 0 {
			t.Errorf("%s and %s are rivals", pair[0].Source, pair[1].Source)
		}
	}
	if steps, err := low.Compare(with("edge", tags.Of(0x1ff))); steps <= 1 || err != nil || low.Count() != 1 {
		t.Errorf("a common tag: got %d steps, %v and %d rivals, want one rival", steps, err, low.Count())
	}
}
