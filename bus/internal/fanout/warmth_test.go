// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"testing"
)

// fill fills memory of bulkUnit bytes many times, at a cost in nanoseconds without clearing and with it. It returns how often
// it was cleared.
func (w *warmth) fill(times int, plain, cleared int64) (clears int) {
	now := int64(1)
	for range times {
		f := w.begin(now)
		if now += plain; f.clears() {
			now += cleared - plain
			clears++
		}
		w.end(f, now, bulkUnit)
	}
	return clears
}

func TestWarmth(t *testing.T) {
	const many = 100 * trialEvery
	for _, test := range []struct {
		name           string
		plain, cleared int64
		least, most    int // times of many that it is cleared
	}{
		{"clearing saves a third", 9000, 6000, many - 2*many/trialEvery, many},
		{"clearing costs a third", 6000, 9000, 1, many / trialEvery},
		{"both take as long", 6000, 6000, 1, many / trialEvery},
		{"clearing saves next to nothing", 6000, 5800, 1, many / trialEvery},
	} {
		t.Run(test.name, func(t *testing.T) {
			var w warmth
			if w.fill(trialEvery-1, test.plain, test.cleared) > 0 {
				t.Error("memory was cleared before that was tried")
			}
			if got := w.fill(many, test.plain, test.cleared); got < test.least || got > test.most {
				t.Errorf("got %d runs of %d cleared, want %d to %d", got, many, test.least, test.most)
			}
		})
	}
}

// What is better may change, as with the size of messages.
func TestWarmth_followsWhatIsBetter(t *testing.T) {
	const many = 200 * trialEvery
	var w warmth
	w.fill(many, 6000, 9000)
	if got := w.fill(many, 9000, 6000); got < many/2 {
		t.Errorf("got %d runs of %d cleared, want most", got, many)
	}
	w.fill(many, 9000, 6000)
	if got := w.fill(many, 6000, 9000); got > many/2 {
		t.Errorf("got %d runs of %d cleared, want few", got, many)
	}
}

// A goroutine that has lost its processor while it filled says nothing of filling.
func TestWarmth_aLostProcessor(t *testing.T) {
	var w warmth
	w.fill(100*trialEvery, 9000, 6000)
	for range 3 {
		f := filling{way: 1, began: 1}
		w.end(f, 10_000_000, bulkUnit)
		w.fill(trialEvery, 9000, 6000)
	}
	if w.better() != 1 {
		t.Errorf("got costs of %v, want those that were usual", w.cost)
	}
}

// A flood measures what filling takes, and a stream of lone messages does not.
func TestStream_measuresFilling(t *testing.T) {
	b := newPaceBed(t, 1)
	for range 10 {
		b.publishBytes(1<<10, repeat(1000, us)...)
		b.turn()
	}
	for way, cost := range b.s.warmth.cost {
		if want := int64(bulkUnit>>10) * int64(us); cost < want*9/10 || cost > want*5/4 {
			t.Errorf("way %d: got a cost of %d ns, want some %d, as each message took %v, and a little for wake-ups", way, cost, want, us)
		}
	}
	quiet := newPaceBed(t, 1)
	for range 100 {
		quiet.publish(100 * us)
		quiet.turn()
	}
	if quiet.s.warmth != (warmth{}) {
		t.Errorf("got %+v of lone messages, want nothing", quiet.s.warmth)
	}
}

// A cost that was next to nothing grows when filling takes its time: a loan may be published as it is, and the next one be filled.
func TestWarmth_growsFromNothing(t *testing.T) {
	var w warmth
	w.fill(10*trialEvery, 0, 0)
	w.fill(200*trialEvery, 9000, 6000)
	if w.better() != 1 {
		t.Errorf("got costs of %v, want 9000 and 6000", w.cost)
	}
}
