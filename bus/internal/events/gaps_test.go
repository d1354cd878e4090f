// SPDX-License-Identifier: Apache-2.0

package events

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tagbus/bus/internal/ledger"
	"tagbus/subscription"
)

// loss is the event of a gap.
type loss struct {
	of       key
	cause    subscription.Cause
	messages uint64
}

// key is a tag by its name.
type key string

func (of key) Gap(cause subscription.Cause, messages uint64) loss { return loss{of, cause, messages} }

// bed has the gaps of a test, and what they tell.
type bed struct {
	queue *Queue[loss]
	gaps  *Gaps[loss, key]
	loop  handLoop
	told  []loss
}

func newBed() *bed {
	b := new(bed)
	b.queue = New(b.loop.post, func(e loss) { b.told = append(b.told, e) }, func(uint64) loss { panic("dropped") })
	b.gaps = NewGaps[loss, key](b.queue)
	return b
}

// expect compares what is told since the last call.
func (b *bed) expect(t *testing.T, want ...loss) {
	t.Helper()
	b.loop.run()
	if !slices.Equal(b.told, want) {
		t.Errorf("got %v, want %v", b.told, want)
	}
	b.told = nil
}

func TestLossesOfOneCauseAreOneEvent(t *testing.T) {
	b := newBed()
	var x, y Gap[loss, key]
	for n := range uint64(100) {
		b.gaps.Add(&x, "x", subscription.CauseFull, n)
		b.gaps.Add(&y, "y", subscription.CauseFull, 1)
		b.gaps.Add(&x, "x", subscription.CauseConnection, 1)
	}
	if b.queue.Waiting() != 2 {
		t.Errorf("got %d entries, want one of each tag", b.queue.Waiting())
	}
	b.expect(t, loss{"x", subscription.CauseFull, 4950}, loss{"x", subscription.CauseConnection, 100}, loss{"y", subscription.CauseFull, 100})
	b.gaps.Add(&x, "again", subscription.CauseMemory, 7)
	b.expect(t, loss{"again", subscription.CauseMemory, 7})
	if x.untold != nil || y.untold != nil {
		t.Error("a gap that is told keeps its memory")
	}
}

func TestWhatIsLeftOutIsToldByReport(t *testing.T) {
	b := newBed()
	var x, y Gap[loss, key]
	steps := []struct {
		gap      *Gap[loss, key]
		of       key
		cause    subscription.Cause
		messages uint64
		begun    bool
	}{
		{&x, "x", subscription.CauseFull, 1, false},
		{&x, "x", subscription.CauseLeftOut, 2, true},
		{&x, "x", subscription.CauseLeftOut, 3, false},
		{&y, "y", ledger.Queue, 4, false},
		{&y, "y", subscription.CauseLeftOut, 5, false},
	}
	for round := range 2 {
		for i, s := range steps {
			if begun := b.gaps.Add(s.gap, s.of, s.cause, s.messages); begun != s.begun {
				t.Errorf("round %d, step %d: got a report due %v, want %v", round, i, begun, s.begun)
			}
		}
		b.expect(t, loss{"x", subscription.CauseFull, 1})
		b.gaps.Report()
		b.expect(t, loss{"x", subscription.CauseLeftOut, 5}, loss{"y", subscription.CauseLeftOut, 5}, loss{"y", ledger.Queue, 4})
		if x.untold != nil || y.untold != nil {
			t.Errorf("round %d: a gap that is told keeps its memory", round)
		}
	}
	b.gaps.Report()
	if len(b.loop.posts) > 0 {
		t.Error("a report of nothing is queued")
	}
}

func TestGapsAreNotDropped(t *testing.T) {
	b := newBed()
	for range maxPlain {
		b.queue.Add(loss{}, nil)
	}
	gaps := make([]Gap[loss, key], 100)
	for i := range gaps {
		b.gaps.Add(&gaps[i], key(fmt.Sprint(i)), ledger.Ended, 1)
	}
	b.loop.run()
	if got := len(b.told) - maxPlain; got != len(gaps) {
		t.Errorf("got %d gaps of %d", got, len(gaps))
	}
}

// TestEachLossIsToldOnce: whatever is lost when, the events have the same numbers in
// the end, and no more entries wait than tags, and one for each report.
func TestEachLossIsToldOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newBed()
		var gaps [3]Gap[loss, key]
		lost, told := make(map[loss]uint64), make(map[loss]uint64)
		due, reports := false, 0
		t.Repeat(map[string]func(*rapid.T){
			"lose": func(t *rapid.T) {
				i := rapid.IntRange(0, len(gaps)-1).Draw(t, "tag")
				cause := rapid.SampledFrom([]subscription.Cause{ledger.Ended, subscription.CauseFull, subscription.CauseLeftOut, ledger.Queue}).Draw(t, "cause")
				lost[loss{of: key(fmt.Sprint(i)), cause: cause}]++
				begun := b.gaps.Add(&gaps[i], key(fmt.Sprint(i)), cause, 1)
				if begun && due {
					t.Fatal("a report that was due already begins")
				}
				due = due || begun
			},
			"report": func(*rapid.T) {
				b.gaps.Report()
				if due {
					due = false
					reports++
				}
			},
			"turn": func(*rapid.T) {
				b.loop.turn()
				if b.queue.Waiting() == 0 { // a turn has its time, and may leave some
					reports = 0
				}
			},
			"": func(t *rapid.T) {
				if n := b.queue.Waiting(); n > len(gaps)+reports {
					t.Fatalf("got %d entries waiting, want at most %d", n, len(gaps)+reports)
				}
			},
		})
		b.gaps.Report()
		b.loop.run()
		for _, e := range b.told {
			told[loss{of: e.of, cause: e.cause}] += e.messages
		}
		if fmt.Sprint(told) != fmt.Sprint(lost) {
			t.Errorf("got %v, want %v", told, lost)
		}
	})
}

// TestMemoryOfGaps: a loss that is added to a waiting gap allocates nothing, and the
// first one of a tag its counts.
func TestMemoryOfGaps(t *testing.T) {
	b := newBed()
	var x, y Gap[loss, key]
	n := testing.AllocsPerRun(100, func() { b.gaps.Add(&x, "x", subscription.CauseFull, 1) })
	if n != 0 {
		t.Errorf("got %v allocations of a loss that is merged, want none", n)
	}
	b.loop.run()
	b.told = make([]loss, 0, 1000)
	run := b.queue.turn
	b.queue.post = func(func()) bool { return true }
	n = testing.AllocsPerRun(100, func() {
		b.gaps.Add(&y, "y", subscription.CauseFull, 1)
		run()
	})
	if n > 1 {
		t.Errorf("got %v allocations of a gap that is told, want one", n)
	}
}
