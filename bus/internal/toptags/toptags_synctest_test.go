// SPDX-License-Identifier: Apache-2.0

package toptags_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus/internal/fanout"
	"tagbus/bus/internal/toptags"
	"tagbus/bus/state"
	"tagbus/tags"
)

// source is the tags of a test, by their numbers.
type source struct{ messages []uint64 }

func (s *source) KnownTags() int { return len(s.messages) }

func (s *source) at(i int) fanout.Figures {
	return fanout.Figures{Number: i, Tag: tags.Tag(i), Messages: s.messages[i], Bytes: 100 * s.messages[i], Last: uint32(time.Now().Unix()), Lanes: i}
}

func (s *source) Figures(from, n int, f func(fanout.Figures)) (read int) {
	for i := from; i < min(from+n, len(s.messages)); i++ {
		f(s.at(i))
		read++
	}
	return read
}

func (s *source) FiguresAt(numbers []int, f func(fanout.Figures)) {
	for _, i := range numbers {
		f(s.at(i))
	}
}

func names(all []state.Tag) (found []tags.Tag) {
	for _, t := range all {
		found = append(found, t.Tag)
	}
	return found
}

// With few tags each question measures all of them, and the rates are those since the
// question before.
func TestTheBusiestOfFewTags(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{messages: []uint64{50, 1000, 0, 7}}
		w := toptags.New(s)
		all := w.Busiest(time.Now(), 3)
		if got, want := names(all), []tags.Tag{1, 0, 3}; !slices.Equal(got, want) {
			t.Fatalf("first: got %v, want %v, by messages", got, want)
		}
		if x := all[0]; x.MessageRate != nil || x.ByteRate != nil || x.Messages != 1000 || x.PayloadBytes != 100_000 || x.Peers != 1 || !x.Last.Equal(time.Now()) {
			t.Errorf("first: got %+v, want no rates", x)
		}
		time.Sleep(2 * time.Second)
		s.messages[3] += 10
		s.messages[0] += 3
		all = w.Busiest(time.Now(), 10)
		if got, want := names(all), []tags.Tag{3, 0, 1, 2}; !slices.Equal(got, want) {
			t.Fatalf("second: got %v, want %v, by rate", got, want)
		}
		for i, want := range []float64{5, 1.5, 0, 0} {
			if got := all[i]; *got.MessageRate != want || *got.ByteRate != 100*want {
				t.Errorf("tag %v: got %v and %v a second, want %v and %v", got.Tag, *got.MessageRate, *got.ByteRate, want, 100*want)
			}
		}
		time.Sleep(100 * time.Millisecond)
		s.messages[1]++
		again := w.Busiest(time.Now(), 10)
		if *again[2].MessageRate != 0 || again[2].Messages != 1001 {
			t.Errorf("at once: got %+v, want the new count with the rate of before", again[2])
		}
		if w.Busiest(time.Now(), 0) != nil {
			t.Error("asked for none: got some")
		}
	})
}

// Tags that are asked for are measured too, by those questions alone.
func TestTagsThatAreAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{messages: make([]uint64, 100_000)}
		w := toptags.New(s)
		ask := func() state.Tag { return w.Of(time.Now(), []fanout.Figures{s.at(99_999)})[0] }
		if got := ask(); got.MessageRate != nil {
			t.Errorf("first: got %+v, want no rate", got)
		}
		s.messages[99_999] = 300
		time.Sleep(3 * time.Second)
		if got := ask(); got.MessageRate == nil || *got.MessageRate != 100 {
			t.Errorf("second: got %+v, want 100 a second", got)
		}
		if w.Visits != 2 {
			t.Errorf("got %d visits, want 2", w.Visits)
		}
	})
}

// With very many tags a question costs what one of some tags costs, a round finds the
// busiest wherever they are, and they are measured each time from then on.
func TestTheBusiestOfManyTags(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const known = 100_000
		s := &source{messages: make([]uint64, known)}
		w := toptags.New(s)
		busy := []int{99_999, 12, 50_000}
		round := 0
		for second := range 30 {
			before := w.Visits
			all := w.Busiest(time.Now(), 3)
			if steps := w.Visits - before; steps > 8192+state.MaxTags {
				t.Fatalf("question %d: got %d visits, want up to %d", second, steps, 8192+state.MaxTags)
			}
			if round == 0 && slices.Equal(names(all), []tags.Tag{99_999, 12, 50_000}) && all[2].MessageRate != nil {
				round = second
			}
			if round > 0 && (*all[0].MessageRate != 30 || *all[1].MessageRate != 20 || *all[2].MessageRate != 10) {
				t.Errorf("question %d: got %v, %v and %v a second, want 30, 20 and 10", second, *all[0].MessageRate, *all[1].MessageRate, *all[2].MessageRate)
			}
			time.Sleep(time.Second)
			for i, tag := range busy {
				s.messages[tag] += uint64(30 - 10*i)
			}
		}
		if round == 0 || round > 2*known/8192+1 {
			t.Errorf("the busiest were known after %d questions, want at most %d", round, 2*known/8192+1)
		}
	})
}

// A rate is over 30 s at most, and after 10 s without a question nothing is remembered.
func TestWhatIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{messages: make([]uint64, 10)}
		w := toptags.New(s)
		w.Busiest(time.Now(), 1)
		time.Sleep(9 * time.Second)
		s.messages[5] = 90
		if x := w.Busiest(time.Now(), 1)[0]; x.Tag != 5 || x.MessageRate == nil || *x.MessageRate != 10 {
			t.Errorf("after 9 s: got %+v, want tag 5 at 10 a second", x)
		}
		time.Sleep(11 * time.Second)
		if x := w.Busiest(time.Now(), 1)[0]; x.Tag != 5 || x.MessageRate != nil {
			t.Errorf("after 11 s more: got %+v, want no rate", x)
		}
		one := []fanout.Figures{s.at(1)}
		for range 8 { // questions, but none for this tag
			w.Of(time.Now(), []fanout.Figures{s.at(2)})
			time.Sleep(5 * time.Second)
		}
		if x := w.Of(time.Now(), one)[0]; x.MessageRate != nil {
			t.Errorf("40 s after the visit before: got %+v, want no rate", x)
		}
	})
}
