// SPDX-License-Identifier: Apache-2.0

package overlap_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"tagbus/bus/internal/overlap"
	"tagbus/bus/internal/workqueue"
	"tagbus/tags"
)

type wish struct{ rule overlap.Rule }

func (w *wish) Rule() overlap.Rule { return w.rule }

// side is a subscriber of the tests. A function that was posted waits for turn.
type side struct {
	overlap.Choice[string, *wish]
	work   workqueue.Queue
	posted []func()

	there  map[string]overlap.Presence
	denied map[string]tags.Set // what may not be had of a publisher
	acked  map[string]map[*wish]tags.Set
	calls  []string

	divided int // calls of Divide
}

func newSide() *side {
	s := &side{there: make(map[string]overlap.Presence), denied: make(map[string]tags.Set), acked: make(map[string]map[*wish]tags.Set)}
	post := func(f func()) bool {
		s.posted = append(s.posted, f)
		return true
	}
	s.work = workqueue.New(post)
	s.Choice = overlap.NewChoice(s, &s.work, post)
	return s
}

// turn runs what was posted, and returns what the side was told since the last call, sorted.
func (s *side) turn() []string {
	for len(s.posted) > 0 {
		f := s.posted[0]
		s.posted = s.posted[1:]
		f()
	}
	calls := s.calls
	s.calls = nil
	slices.Sort(calls)
	return calls
}

// comes announces a publisher that is connected.
func (s *side) comes(p *publisher) {
	s.there[p.Source] = overlap.Ready
	s.Meet(p)
}

// acks notes what a publisher has acknowledged.
func (s *side) acks(p *publisher, w *wish, list ...tags.Tag) {
	if s.acked[p.Source] == nil {
		s.acked[p.Source] = make(map[*wish]tags.Set)
	}
	s.acked[p.Source][w] = tags.Of(list...)
}

func (s *side) Presence(p string) overlap.Presence { return s.there[p] }

func (s *side) Divide(p string, set tags.Set) (has, rest tags.Set) {
	s.divided++
	has, _ = set.Without(s.denied[p])
	rest, _ = set.Without(has)
	return has, rest
}

func (s *side) Acked(p string, w *wish) tags.Set { return s.acked[p][w] }

func (s *side) Asked(p string) []*wish { return slices.Collect(maps.Keys(s.acked[p])) }

func (s *side) Consider(p string) { s.calls = append(s.calls, "consider "+p) }

func (s *side) ConsiderOne(p string, _ *wish) { s.calls = append(s.calls, "consider one of "+p) }

func (s *side) Considered() { s.calls = append(s.calls, "considered") }

func (s *side) Overlap(v *overlap.Pair[string]) {
	later, earlier := v.Order()
	s.calls = append(s.calls, later+" after "+earlier)
}

func (s *side) TooComplex(a, b string, _ tags.Set, _ error) {
	s.calls = append(s.calls, a+" and "+b+" too complex")
}

func (s *side) TooMany(p string) { s.calls = append(s.calls, "too many, as "+p) }

// want fails unless calls are those that are wanted.
func want(t *testing.T, what string, got []string, calls ...string) {
	t.Helper()
	if !slices.Equal(got, calls) {
		t.Errorf("%s: got %q, want %q", what, got, calls)
	}
}

// A rule leaves a common tag to one of two publishers, as long as that is there and may send it.
func TestChoiceChoose(t *testing.T) {
	set := tags.Of(1, 2, 3)
	for _, test := range []struct {
		name       string
		rule       overlap.Rule
		change     func(*side)
		older, new []tags.Tag // of the publishers a, first, and b, which have 1 to 3 and 2 and 3
	}{
		{"all", overlap.All, nil, []tags.Tag{1, 2, 3}, []tags.Tag{1, 2, 3}},
		{"the oldest", overlap.Oldest, nil, []tags.Tag{1, 2, 3}, []tags.Tag{1}},
		{"the oldest has gone", overlap.Oldest, func(s *side) { s.there["a"] = overlap.Gone }, []tags.Tag{1, 2, 3}, []tags.Tag{1, 2, 3}},
		{"the oldest is listed", overlap.Oldest, func(s *side) { s.there["a"] = overlap.Listed }, []tags.Tag{1, 2, 3}, []tags.Tag{1}},
		{"the oldest may not send a tag", overlap.Oldest, func(s *side) { s.denied["a"] = tags.Of(2) }, []tags.Tag{1, 2, 3}, []tags.Tag{1, 2}},
		{"the newest sends nothing yet", overlap.Newest, nil, []tags.Tag{1, 2, 3}, []tags.Tag{1, 2, 3}},
		{"the newest sends a tag", overlap.Newest, func(s *side) { s.acked["b"] = nil }, []tags.Tag{1, 2}, []tags.Tag{1, 2, 3}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, w := newSide(), &wish{test.rule}
			a, b := of("a", 1, 1, 2, 3), of("b", 2, 2, 3)
			s.comes(a)
			s.comes(b)
			if test.change != nil {
				test.change(s)
			}
			if _, sends := s.acked["b"]; sends {
				s.acks(b, w, 3)
			}
			if got := s.Choose(a, w, set); !got.Equal(tags.Of(test.older...)) {
				t.Errorf("the older one: got %v, want %v", got, test.older)
			}
			if got := s.Choose(b, w, set); !got.Equal(tags.Of(test.new...)) {
				t.Errorf("the newer one: got %v, want %v", got, test.new)
			}
		})
	}
}

// Two publishers of a tag are told of once, when both have acknowledged it; the older one then
// leaves it to the newest.
func TestChoiceCheck(t *testing.T) {
	s, w := newSide(), &wish{overlap.Newest}
	a, b := of("a", 1, 1, 2), of("b", 2, 2)
	s.comes(a)
	s.comes(b)
	s.acks(a, w, 1)
	s.acks(b, w, 2)
	s.Check(b, w)
	want(t, "another tag", s.turn())
	s.acks(a, w, 1, 2)
	s.there["a"] = overlap.Listed
	s.Check(b, w)
	want(t, "not connected", s.turn())
	s.there["a"] = overlap.Ready
	s.CheckAll(b)
	want(t, "both send it", s.turn(), "b after a", "consider one of a")
	s.Check(b, w)
	want(t, "once more", s.turn(), "consider one of a")
}

// A publisher and its rivals are reconsidered once in a turn, unless every subscription takes
// all of them, and a forgotten one is not.
func TestChoiceReconsider(t *testing.T) {
	s := newSide()
	a, b, c := of("a", 1, 1), of("b", 2, 1, 2), of("c", 3, 3)
	for _, p := range []*publisher{a, b, c} {
		s.comes(p)
	}
	all, newest := &wish{overlap.All}, &wish{overlap.Newest}
	s.Open(all)
	s.Reconsider(a)
	want(t, "nothing is left to one", s.turn())
	s.Open(newest)
	s.Reconsider(a)
	s.Reconsider(b)
	s.Reconsider(c) // it has no rival
	want(t, "before the turn", s.calls)
	want(t, "rivals", s.turn(), "consider a", "consider b", "considered")
	s.Forget(b)
	s.there["b"] = overlap.Forgotten
	want(t, "one is forgotten", s.turn(), "consider a", "considered")
	s.Reconsider(a)
	want(t, "no rival any more", s.turn())
	s.Close(all)
	s.Close(newest)
	s.comes(b)
	s.Reconsider(a)
	want(t, "no subscription", s.turn())
}

// What takes long is compared later, unless one of the two is forgotten by then.
func TestChoiceMeetLater(t *testing.T) {
	defer func(steps int) { workqueue.SliceSteps = steps }(workqueue.SliceSteps)
	workqueue.SliceSteps = 1
	s := newSide()
	s.Open(&wish{overlap.Oldest})
	list := []*publisher{of("a", 1, 1), of("b", 2, 1), of("c", 3, 1)}
	for _, p := range list {
		s.comes(p)
	}
	if n := list[2].Count(); n == 2 {
		t.Fatal("all are compared at once")
	}
	s.Forget(list[0])
	s.there["a"] = overlap.Forgotten
	s.turn()
	if list[2].Count() != 1 || list[1].Count() != 1 || list[0].Count() != 0 {
		t.Errorf("rivals: got %d, %d and %d, want 0, 1 and 1", list[0].Count(), list[1].Count(), list[2].Count())
	}
}

// Thousands of publishers of a tag are a pair each with few others, which is told once. A tag of
// two is chosen from all the same, and what had no room is made up for when there is.
func TestChoice_theMemoryForPairsIsLinear(t *testing.T) {
	s, w := newSide(), &wish{overlap.Oldest}
	s.Open(w)
	const strangers = 1000
	var all []*publisher
	for i := range strangers {
		all = append(all, of(fmt.Sprintf("x%04d", i), i+1, 1))
		s.comes(all[i])
	}
	a, b := of("a", 1, 7), of("b", 2, 7)
	last := of("last", strangers+1, 1)
	for _, p := range []*publisher{a, b, last} {
		s.comes(p)
	}
	told := slices.DeleteFunc(s.turn(), func(call string) bool { return !strings.HasPrefix(call, "too many") })
	if len(told) != 1 {
		t.Errorf("told %q, want once", told)
	}
	pairs := 0
	for _, p := range all {
		pairs += p.Count()
	}
	if most := overlap.MaxPairs + strangers*overlap.AlwaysRivals; pairs/2 > most {
		t.Errorf("got %d pairs, want at most %d", pairs/2, most)
	}
	if got := s.Choose(b, w, tags.Of(7)); !got.IsEmpty() {
		t.Errorf("the later one of two: got %v, want nothing", got)
	}
	if n := last.Count(); n > overlap.AlwaysRivals {
		t.Errorf("the last one: got %d rivals, want at most %d", n, overlap.AlwaysRivals)
	}
	for _, p := range all[1:] {
		s.Forget(p)
		s.there[p.Source] = overlap.Forgotten
	}
	s.turn()
	if got := s.Choose(last, w, tags.Of(1)); !got.IsEmpty() || last.Count() != 1 {
		t.Errorf("the last one beside one earlier, and %d rivals: got %v, want nothing", last.Count(), got)
	}
}

// Publishers whose common tags are unknown are told of, and both send all.
func TestChoiceTooComplex(t *testing.T) {
	s, w := newSide(), &wish{overlap.Oldest}
	a, b := &publisher{Source: "a"}, &publisher{Source: "b"}
	a.Update("a", combs(24, 0), at(1))
	b.Update("b", combs(24, 24), at(2))
	s.comes(a)
	s.comes(b)
	want(t, "compared", s.turn(), "b and a too complex")
	if got := s.Choose(b, w, tags.Everything()); !got.Equal(tags.Everything()) {
		t.Errorf("got %v, want all", got)
	}
}
