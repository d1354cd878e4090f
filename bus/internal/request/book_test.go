// SPDX-License-Identifier: Apache-2.0

package request

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	"tagbus/bus/internal/tagset"
	"tagbus/tags"
)

// A book finds and counts its requests as they are, whatever has happened to them.
func TestABookKnowsItsRequests(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const lanes, most = 3, 2 * tagset.FewTags
		var b Book[string]
		all := make([]*req, 6)
		set := rapid.Custom(func(t *rapid.T) tags.Set {
			first := rapid.Uint64Range(1, most).Draw(t, "first")
			set, err := tags.Range(tags.Tag(first), tags.Tag(first+rapid.Uint64Range(0, most).Draw(t, "more")))
			if err != nil {
				t.Fatal(err)
			}
			return set
		})
		for i := range all {
			all[i] = New("", uint64(i), uint16(i%lanes), set.Draw(t, "set"))
		}
		one := func(t *rapid.T) *req { return rapid.SampledFrom(all).Draw(t, "request") }
		t.Repeat(map[string]func(*rapid.T){
			"wants": func(t *rapid.T) {
				r := one(t)
				if r.Rewant(set.Draw(t, "set")) {
					b.Note(r)
				}
			},
			"asks or is answered": func(t *rapid.T) {
				r := one(t)
				switch {
				case r.Leaving():
					r.Ended()
				case !r.Subscribing():
					r.Ask()
				case rapid.Bool().Draw(t, "refused"):
					r.Refused(errors.New("no"))
				default:
					r.Acknowledged()
				}
				b.Note(r)
			},
			"leaves": func(t *rapid.T) {
				r := one(t)
				r.Drop()
				r.Leave()
				b.Note(r)
			},
			"lost": func(t *rapid.T) {
				for _, r := range b.All() {
					r.Disconnected(rapid.Bool().Draw(t, "over"))
					b.Note(r)
				}
			},
			"": func(t *rapid.T) {
				for i, r := range all {
					if b.Of(r.id) == nil {
						all[i] = New("", r.id, r.lane, r.want) // its subscription begins again
					}
				}
				checkBook(t, &b, all, lanes, 4*most)
			},
		})
		for _, r := range b.All() {
			r.Disconnected(true)
			b.Note(r)
		}
		for _, n := range b.lanes {
			if len(b.byID)+b.open+b.owing+len(n.byTag)+len(n.wide) > 0 {
				t.Errorf("after the end: got %+v, want it empty", b)
			}
		}
	})
}

func checkBook(t *rapid.T, b *Book[string], all []*req, lanes uint16, most tags.Tag) {
	open, owing, known, unsettled := 0, 0, 0, false
	wide := make([]int, lanes)
	for _, r := range all {
		if r.Open() {
			open++
		}
		if !r.Acked().IsEmpty() {
			owing++
			unsettled = unsettled || r.again
		}
		if !r.Open() && r.Acked().IsEmpty() && r.Denied() == nil {
			if b.Of(r.id) != nil {
				t.Errorf("request %d is found, and nothing is left of it", r.id)
			}
			continue
		}
		known++
		if b.Of(r.id) != r || !b.AckedOf(r.id).Equal(r.Acked()) {
			t.Errorf("request %d is not found", r.id)
		}
		if !tagset.Few(r.sent) || !tagset.Few(r.active) || !tagset.Few(r.acked) {
			wide[r.lane]++
		}
	}
	if b.Open() != open || b.Owing() != owing || b.Unsettled() != unsettled || len(b.All()) != known {
		t.Errorf("got %d open, %d owing, unsettled %v, %d in all, want %d, %d, %v, %d",
			b.Open(), b.Owing(), b.Unsettled(), len(b.All()), open, owing, unsettled, known)
	}
	if n := len(b.Owed()); owing == 0 && n > 0 || owing > 0 && n != known {
		t.Errorf("got %d subscriptions with %d requests that owe messages, want those of all %d, or none", n, owing, known)
	}
	for lane := range lanes {
		if got := b.Wide(lane); got != wide[lane] {
			t.Errorf("lane %d: got %d wide requests, want %d", lane, got, wide[lane])
		}
		for tag := range most {
			checkTag(t, b, all, lane, tag)
		}
	}
}

func checkTag(t *rapid.T, b *Book[string], all []*req, lane uint16, tag tags.Tag) {
	found := make(map[*req]int)
	for r := range b.About(lane, tag) {
		found[r]++
	}
	knows := false
	for _, r := range all {
		if r.lane != lane {
			continue
		}
		concerned := r.knows(tag)
		knows = knows || concerned
		if found[r] > 1 || concerned && found[r] == 0 {
			t.Errorf("tag %v in lane %d: got request %d %d times", tag, lane, r.id, found[r])
		}
		delete(found, r)
	}
	if len(found) > 0 {
		t.Errorf("tag %v in lane %d: got requests of other lanes", tag, lane)
	}
	if b.Knows(lane, tag) != knows {
		t.Errorf("tag %v in lane %d: got known %v, want %v", tag, lane, !knows, knows)
	}
}

// A caller that has found one request need not look at the others.
func TestAboutStopsWhenItsCallerDoes(t *testing.T) {
	for name, set := range map[string]tags.Set{"few": tags.Of(1), "wide": tags.Everything()} {
		var b Book[string]
		for id := range uint64(2) {
			r := New(name, id, 0, set)
			r.Ask()
			b.Note(r)
		}
		n := 0
		for r := range b.About(0, 1) {
			if r.Sub != name || !r.Want().Equal(set) || !r.Sent().Equal(set) {
				t.Errorf("%s: got %+v", name, r)
			}
			n++
			break
		}
		if n != 1 {
			t.Errorf("%s: got %d requests, want 1", name, n)
		}
	}
}

// A lane without requests is no fault.
func TestABookWithoutRequests(t *testing.T) {
	var b Book[string]
	if b.Of(1) != nil || len(b.All()) > 0 || b.Knows(7, 1) || b.Wide(7) > 0 || b.Unsettled() {
		t.Error("got a request in an empty book")
	}
}

// A tag is owed once it is acknowledged, and as long as it is wanted.
func TestOwesAndCurrent(t *testing.T) {
	r := New("", 1, 0, tags.Of(1, 2))
	check := func(when string, owes, current bool) {
		t.Helper()
		if r.Owes(1) != owes || r.Current() != current {
			t.Errorf("%s: owes %v, current %v, want %v, %v", when, r.Owes(1), r.Current(), owes, current)
		}
	}
	check("at first", false, false)
	r.Ask()
	check("asked", false, false)
	r.Acknowledged()
	check("acknowledged", true, true)
	r.Rewant(tags.Of(1, 2, 3))
	check("wants more", true, false)
	r.Rewant(tags.Of(2))
	check("wants less", false, false)
	r.Rewant(tags.Of(1, 2))
	check("wants it again before the answer", false, false)
	r.Ask()
	r.Acknowledged()
	check("acknowledged again", true, true)
	r.Drop()
	check("dropped", false, false)
}
