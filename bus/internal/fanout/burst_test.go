// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"math/rand/v2"
	"testing"
	"time"

	"tagbus/subscription"
)

// burst publishes so many messages at once. Then nothing happens for 200 µs, except that the
// loop comes if it was woken, or its time has come. It returns whether the burst waits then.
func (b *paceBed) burst(messages int) (waits bool) {
	b.t.Helper()
	b.publish(repeat(messages, 100*ns)...)
	b.tick()
	for range 3 {
		b.wait(60 * us)
		b.tick()
	}
	b.wait(20 * us)
	return b.s.pending()
}

// bursts publishes so many bursts of one length.
func (b *paceBed) bursts(n, messages int) {
	b.t.Helper()
	for range n {
		b.burst(messages)
	}
}

// learned returns a bed that has seen bursts of 10 messages and foretells their end.
func learned(t *testing.T, lanes int) *paceBed {
	t.Helper()
	b := newPaceBed(t, lanes)
	b.bursts(20, 10)
	b.direct, b.queued, b.posts = 0, 0, 0
	return b
}

// Once the bursts of a stream have had one length, the goroutine that publishes the last
// message of the next one sends it. The loop is not woken.
func TestBurstsOfOneLengthAreSentByTheirPublisher(t *testing.T) {
	for _, messages := range []int{2, 3, 10, 64, 100} {
		b := newPaceBed(t, 1)
		b.bursts(20, messages)
		b.direct, b.queued, b.posts = 0, 0, 0
		b.bursts(1000, messages)
		b.want(1000, 0, 0)
	}
	b := learned(t, 4)
	b.bursts(100, 10)
	b.want(400, 0, 0)
}

// The first bursts are left to the loop, until four were alike.
func TestAFewBurstsTellTheirLength(t *testing.T) {
	b := newPaceBed(t, 1)
	b.burst(10)
	before := b.direct
	b.bursts(4, 10)
	if got := b.direct - before; got != 0 || b.queued != 5 {
		t.Errorf("got %d direct sends and %d by the loop, want none and 5", got, b.queued)
	}
	b.bursts(10, 10)
	if got := b.direct - before; got != 10 || b.queued != 5 {
		t.Errorf("got %d direct sends and %d by the loop, want 10 and 5", got, b.queued)
	}
}

// Nothing waits longer in a burst that is longer than was foretold, and the next one is
// foretold again.
func TestABurstThatIsLongerCostsOneSend(t *testing.T) {
	b := learned(t, 1)
	b.publish(repeat(12, 100*ns)...)
	b.want(1, 0, 1) // the loop is woken at once
	b.bed.fan.loop.(*paceLoop).turn()
	b.want(1, 1, 1)
	b.complete()
	b.wait(200 * us)
	b.bursts(100, 10)
	b.want(101, 1, 1)
}

// A stream whose bursts have another length from now on is told by these.
func TestALongerLengthIsLearned(t *testing.T) {
	b := learned(t, 1)
	b.bursts(50, 12)
	b.direct, b.queued, b.posts = 0, 0, 0
	b.bursts(100, 12)
	b.want(100, 0, 0)
}

// A burst that is shorter than was foretold is sent with the first messages of the next one,
// or by the loop. Then no end is foretold until 64 bursts have kept their length.
func TestABurstThatIsShorterWaits(t *testing.T) {
	b := learned(t, 1)
	b.bursts(100, 10)
	b.direct, b.queued, b.posts = 0, 0, 0
	b.burst(7)
	b.want(0, 0, 0)
	b.publish(0)
	b.want(1, 0, 0)
	b.publish(repeat(9, 100*ns)...)
	b.tick()
	b.want(1, 1, 1)
	b.wait(200 * us)
	b.bursts(63, 10)
	b.want(1, 64, 64)
	b.bursts(10, 10)
	b.want(11, 64, 64)
	if waited := b.waits(7); waited > 2*time.Millisecond {
		t.Errorf("a short burst waits for %v, want 2 ms at most", waited)
	}
}

// waits publishes a burst, and returns how long it waits for the loop if nothing follows.
func (b *paceBed) waits(messages int) time.Duration {
	b.t.Helper()
	begun := b.clock
	b.publish(repeat(messages, 100*ns)...)
	for range 3 { // the timer may have been set for a burst before
		if b.s.pending() {
			b.turn()
		}
	}
	if b.s.pending() {
		b.t.Fatal("a burst waits for ever")
	}
	return b.clock - begun
}

// The sooner a burst is foretold after one that was shorter, the sooner the loop comes.
func TestABurstWaitsNoLongerThanOthersHaveSaved(t *testing.T) {
	b := newPaceBed(t, 1)
	b.bursts(10, 10)
	if waited := b.waits(7); waited > 450*us {
		t.Errorf("a short burst waits for %v, want 450 µs at most", waited)
	}
}

// Fewer than one of a hundred bursts is taken for a longer one, whatever the share of those
// that are alike. What bursts that are longer cost, in sends, others save in wake-ups.
func TestIrregularBurstsAreNotForetold(t *testing.T) {
	const bursts = 5000
	r := rand.New(rand.NewPCG(1, 2))
	for _, x := range []struct {
		name   string
		length func() int
	}{
		{"any of 1 to 20", func() int { return 1 + r.IntN(20) }},
		{"2 or 3", func() int { return 2 + r.IntN(2) }},
		{"9 of 10 alike, or shorter", func() int { return 10 - min(1, r.IntN(10)/9) }},
		{"64 of 65 alike, or shorter", func() int { return 10 - min(1, r.IntN(65)/64) }},
		{"9 of 10 alike, or longer", func() int { return 10 + min(1, r.IntN(10)/9) }},
		{"half of them longer", func() int { return 10 + 10*r.IntN(2) }},
	} {
		b, left := newPaceBed(t, 1), newPaceBed(t, 1)
		shorter := 0
		for range bursts {
			n := x.length()
			if b.burst(n) {
				shorter++
			}
			left.s.alike = 0 // so that it foretells nothing
			left.burst(n)
		}
		if shorter > bursts/100 {
			t.Errorf("%s: %d of %d bursts were foretold to be longer", x.name, shorter, bursts)
		}
		if got, want := b.direct+b.queued+b.posts, left.direct+left.queued+left.posts; got > want*101/100 {
			t.Errorf("%s: %d sends and wake-ups, a stream that foretells nothing has %d", x.name, got, want)
		}
	}
}

// Lengths that alternate are left to the loop.
func TestAlternatingBurstsAreLeftToTheLoop(t *testing.T) {
	for _, other := range []int{5, 11, 20} {
		b := newPaceBed(t, 1)
		b.s.bursty = true
		for range 500 {
			b.burst(10)
			b.burst(other)
		}
		if b.direct > 0 || b.queued != 1000 {
			t.Errorf("10 and %d: %d direct sends and %d by the loop, want none and 1000", other, b.direct, b.queued)
		}
	}
}

// A flood behind bursts costs one send more, and then fills its pages.
func TestAFloodBehindBurstsFillsItsPages(t *testing.T) {
	b := learned(t, 1)
	for range 20 {
		b.publish(repeat(5000, 30*ns)...)
		b.tick()
	}
	if pages := 100_000*68/130_900 + 3; b.direct > 1 || b.queued > pages {
		t.Errorf("got %d direct sends and %d by the loop, want 1 and %d at most", b.direct, b.queued, pages)
	}
}

// A publisher that stops in the middle of a burst sends when it goes on.
func TestABurstThatTakesLongIsSent(t *testing.T) {
	b := learned(t, 1)
	b.publish(repeat(3, 100*ns)...)
	b.wait(60 * us)
	b.publish(0)
	b.want(1, 0, 0)
}

// A message that is the answer to one that was sent alone is not held back, although they
// come in pairs.
func TestAnAnswerIsNoSecondMessageOfABurst(t *testing.T) {
	b := newPaceBed(t, 1)
	for range 1000 {
		b.publish(20*us, 200*us)
	}
	b.want(2000, 0, 0)
}

// Flush sends at the end of bursts whose length is known, too.
func TestFlushEndsABurstThatIsForetold(t *testing.T) {
	b := learned(t, 1)
	b.publish(repeat(4, 100*ns)...)
	b.bed.fan.Flush()
	b.want(1, 0, 0)
	if b.s.pending() || !b.s.asked {
		t.Error("Flush has left something behind, or is forgotten")
	}
}

// So does the end of a batch.
func TestABatchEndsABurstThatIsForetold(t *testing.T) {
	for _, x := range []struct{ single, batch int }{{0, 10}, {0, 3}, {3, 3}, {3, 20}} {
		b := learned(t, 1)
		b.publish(repeat(x.single, 100*ns)...)
		run, _ := b.bed.fan.BeginRun(1)
		for range x.batch {
			if ok, err := run.Publish(1, 0, make([]byte, 64)); !ok || err != nil {
				t.Fatal(ok, err)
			}
		}
		run.End(false)
		if b.turn(); b.s.pending() || b.direct+b.queued != 1 {
			t.Errorf("%d messages and a batch of %d: %d direct sends and %d by the loop, want one",
				x.single, x.batch, b.direct, b.queued)
		}
	}
}

// Bursts that the publishing goroutine cannot send are left to the loop: to many lanes, of
// many bytes, under a policy that decides message by message.
func TestBurstsThatCannotBeSentAreLeftToTheLoop(t *testing.T) {
	for _, x := range []struct {
		name         string
		lanes, bytes int
		policy       subscription.Policy
	}{
		{"many lanes", 16, 64, subscription.Policy{}},
		{"long", 1, 4000, subscription.Policy{}},
		{"a policy", 1, 64, subscription.Policy{Kind: subscription.Sample, Every: 1}},
	} {
		b := newPaceBedWith(t, x.lanes, x.policy)
		b.s.bursty = true
		for range 100 {
			b.publishBytes(x.bytes, repeat(10, 100*ns)...)
			b.tick()
			b.wait(200 * us)
		}
		if b.direct > 0 || b.queued != 100*x.lanes {
			t.Errorf("%s: %d direct sends and %d by the loop, want none and %d", x.name, b.direct, b.queued, 100*x.lanes)
		}
	}
}

func TestForetoldBurstsAllocateNothing(t *testing.T) {
	b := learned(t, 1)
	data := make([]byte, 64)
	got := testing.AllocsPerRun(200, func() {
		for range 10 {
			_ = b.bed.fan.Publish(1, 0, data, nil)
		}
		b.wait(200 * us)
	})
	if got > 0 || b.queued > 0 {
		t.Errorf("got %v allocations for a burst and %d sends by the loop, want none", got, b.queued)
	}
}
