// SPDX-License-Identifier: Apache-2.0

package wanted_test

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	"tagbus/bus/internal/wanted"
	"tagbus/subscription"
	"tagbus/tags"
)

var errEnded = errors.New("ended")

// loop counts the calls of Take that are asked for.
type loop struct {
	asked int
	ended bool
}

func (l *loop) change(first bool) error {
	if l.ended {
		return errEnded
	}
	if first {
		l.asked++
	}
	return nil
}

// settled returns the error of an outcome; ok is false if it has none yet.
func settled(o *wanted.Outcome) (err error, ok bool) {
	select {
	case <-o.Done():
		return o.Err(), true
	default:
		return nil, false
	}
}

// Several changes are taken over at once, after one call of the loop.
func TestWishesTake(t *testing.T) {
	l := &loop{}
	w := wanted.New[string](tags.Of(1, 2), l.change)
	if _, changed := w.Take(); changed {
		t.Error("changed before the first change")
	}
	if err := errors.Join(w.Add(tags.Of(3)), w.Add(tags.Of(4)), w.Remove(tags.Of(1, 3))); err != nil {
		t.Fatal(err)
	}
	if got, want := w.Tags(), tags.Of(2, 4); !got.Equal(want) || l.asked != 1 {
		t.Errorf("got %v after %d calls, want %v after 1", got, l.asked, want)
	}
	if set, changed := w.Take(); !changed || !set.Equal(tags.Of(2, 4)) {
		t.Errorf("taken over: got %v, %v, want 2 and 4", set, changed)
	}
	if _, changed := w.Take(); changed {
		t.Error("taken over twice")
	}
	if err := w.Add(tags.Of(5)); err != nil || l.asked != 2 {
		t.Errorf("the next change: got %v after %d calls, want none after 2", err, l.asked)
	}
}

// A change that is refused changes nothing, and is not taken over.
func TestWishesRefused(t *testing.T) {
	l := &loop{}
	w := wanted.New[string](tags.Of(1, 2), l.change)
	outcome := w.Outcome()
	w.Settle(nil)
	many := make([]tags.Tag, subscription.MaxParts)
	for i := range many {
		many[i] = tags.Tag(2*i + 4)
	}
	tests := []struct {
		name   string
		change func() error
		want   error
	}{
		{"too many", func() error { return w.Add(tags.Of(many...)) }, subscription.ErrTooManyTags},
		{"none left", func() error { return w.Remove(tags.Of(1, 2, 3)) }, wanted.ErrEmpty},
		{"add after the end", func() error { l.ended = true; return w.Add(tags.Of(3)) }, errEnded},
		{"remove after the end", func() error { return w.Remove(tags.Of(1)) }, errEnded},
	}
	for _, test := range tests {
		if err := test.change(); !errors.Is(err, test.want) {
			t.Errorf("%s: got %v, want %v", test.name, err, test.want)
		}
		if got := w.Tags(); !got.Equal(tags.Of(1, 2)) || l.asked != 0 || w.Outcome() != outcome {
			t.Errorf("%s: the set is %v after %d calls, want 1 and 2 after none, with the same outcome", test.name, got, l.asked)
		}
	}
}

// Tags that overlap are no more parts than before, however often they are added.
func TestWishesAddAgain(t *testing.T) {
	w := wanted.New[string](tags.Of(1), (&loop{}).change)
	wide, err := tags.Range(0, 9)
	if err != nil {
		t.Fatal(err)
	}
	for range subscription.MaxParts + 1 {
		if err := w.Add(wide); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.Tags(); !got.Equal(wide) {
		t.Errorf("got %v, want %v", got, wide)
	}
}

// A change that follows a settled one has an outcome of its own; one that follows before that has
// the same.
func TestWishesOutcome(t *testing.T) {
	refused := errors.New("refused")
	w := wanted.New[string](tags.Of(1), (&loop{}).change)
	first := w.Outcome()
	if err := w.Add(tags.Of(2)); err != nil {
		t.Fatal(err)
	}
	if w.Outcome() != first || w.Unsettled() {
		t.Errorf("before it is taken over: another outcome, or unsettled is %v, want false", w.Unsettled())
	}
	w.Take()
	if _, ok := settled(first); ok || !w.Unsettled() {
		t.Error("settled before Settle")
	}
	w.Settle(refused)
	w.Settle(nil)
	if err, ok := settled(first); !ok || err != refused || w.Unsettled() { //nolint:errorlint // the same
		t.Errorf("got %v, %v, want what was settled first", err, ok)
	}
	if err := w.Remove(tags.Of(2)); err != nil {
		t.Fatal(err)
	}
	w.Take()
	if _, ok := settled(w.Outcome()); ok || !w.Unsettled() {
		t.Error("the next change is settled already")
	}
}

// The handler of a tag lasts as long as the tag.
func TestWishesHandle(t *testing.T) {
	w := wanted.New[string](tags.Of(1), (&loop{}).change)
	if w.Handle(2, "two", false) {
		t.Error("a tag that is not wanted got a handler")
	}
	if err := w.Add(tags.Of(2, 3)); err != nil {
		t.Fatal(err)
	}
	for tag, h := range map[tags.Tag]string{1: "one", 2: "two", 3: "three"} {
		if !w.Handle(tag, h, false) {
			t.Errorf("tag %v is not wanted", tag)
		}
	}
	w.Handle(3, "", true)
	if err := w.Remove(tags.Of(2)); err != nil {
		t.Fatal(err)
	}
	if err := w.Add(tags.Of(2)); err != nil {
		t.Fatal(err)
	}
	for tag, want := range map[tags.Tag]string{1: "one", 2: "", 3: ""} {
		if h, ok := w.Handler(tag); h != want || ok != (want != "") {
			t.Errorf("tag %v: got %q, %v, want %q", tag, h, ok, want)
		}
	}
}

// After any changes the set is what a map has.
func TestWishesAreAMap(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w, model := wanted.New[string](tags.Of(0), (&loop{}).change), map[tags.Tag]bool{0: true}
		for range rapid.IntRange(1, 20).Draw(rt, "changes") {
			list := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) tags.Tag { return tags.Tag(rapid.IntRange(0, 9).Draw(rt, "tag")) }), 1, 4).Draw(rt, "list")
			if rapid.Bool().Draw(rt, "add") {
				if err := w.Add(tags.Of(list...)); err != nil {
					rt.Fatal(err)
				}
				for _, tag := range list {
					model[tag] = true
				}
			} else if err := w.Remove(tags.Of(list...)); err == nil {
				for _, tag := range list {
					delete(model, tag)
				}
			} else if !errors.Is(err, wanted.ErrEmpty) {
				rt.Fatal(err)
			}
			if rapid.Bool().Draw(rt, "take") {
				w.Take()
			}
		}
		for tag := range tags.Tag(10) {
			if got := w.Tags().Contains(tag); got != model[tag] {
				rt.Errorf("tag %v: got %v, want %v", tag, got, model[tag])
			}
		}
	})
}
