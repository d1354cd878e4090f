// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"testing"
	"time"

	"tagbus/subscription"
)

// repeat returns n equal pauses.
func repeat(n int, pause time.Duration) []time.Duration {
	list := make([]time.Duration, n)
	for i := range list {
		list[i] = pause
	}
	return list
}

const ns, us = time.Nanosecond, time.Microsecond

func TestMessagesThatStandAloneAreSentByTheirPublisher(t *testing.T) {
	for _, pause := range []time.Duration{14 * us, 100 * us, time.Second} {
		b := newPaceBed(t, 1)
		b.publish(repeat(1000, pause)...)
		b.want(1000, 0, 0)
	}
}

// The receiver of a message takes the processor while its sender is still in the call, and
// answers: the sender's next message comes as soon as the call has returned. A bus that
// takes this for a burst waits for the loop in each round trip.
func TestAnAnswerAtTheEndOfASendIsNoBurst(t *testing.T) {
	b := newPaceBed(t, 1)
	b.publish(repeat(10, 50*us)...) // what a send costs is known
	b.sendCost = func() time.Duration { return 60 * us }
	b.publish(repeat(1000, 0)...)
	b.want(1010, 0, 0)
}

// What preemption costs is not what a send costs.
func TestPreemptedSendsDoNotMakeASendExpensive(t *testing.T) {
	b := newPaceBed(t, 1)
	n := 0
	b.sendCost = func() time.Duration {
		if n++; n%10 > 0 {
			return 500 * us
		}
		return 6 * us
	}
	b.publish(repeat(1000, 20*us)...)
	b.want(1000, 0, 0)
	if !b.s.few() {
		t.Errorf("a send counts as %v, want little", time.Duration(b.s.cost))
	}
}

// A burst is left to the loop, from the third one of the messages on that come at once. Then
// later bursts are, although waking the loop takes longer than a message, unless their
// length is known.
func TestBurstsAreLeftToTheLoop(t *testing.T) {
	b := newPaceBed(t, 1)
	b.publish(repeat(10, 100*ns)...)
	b.turn()
	b.want(2, 1, 0) // the first one comes when its time has come
	for i := range 100 {
		b.wait(200 * us)
		b.publish(repeat(10+i%7, 100*ns)...)
		b.turn()
	}
	b.want(2, 101, 100)
}

// The loop that finds a message alone forgets the bursts.
func TestBurstsAreForgotten(t *testing.T) {
	b := newPaceBed(t, 1)
	b.publish(repeat(10, 100*ns)...)
	b.turn()
	b.wait(200 * us)
	b.publish(100 * us)
	b.turn()
	b.want(2, 2, 1)
	b.publish(repeat(100, 100*us)...)
	b.want(102, 2, 1)
}

// A loop that does not come, because its processor is busy, is not waited for.
func TestAPublisherSendsInThePlaceOfALoopThatDoesNotCome(t *testing.T) {
	b := newPaceBed(t, 1)
	b.publish(repeat(10, 100*ns)...) // a burst
	b.publish(repeat(100, 20*us)...)
	if b.direct < 90 || b.queued > 0 {
		t.Errorf("got %d direct sends and %d by the loop, which has had no turn; want 90 and none", b.direct, b.queued)
	}
}

// To send to many takes so long that the loop does it.
func TestManySubscribersAreLeftToTheLoop(t *testing.T) {
	b := newPaceBed(t, 16)
	for range 10 {
		b.publish(0)
		b.turn()
		b.wait(time.Millisecond)
	}
	b.want(0, 160, 10)
}

// The same is true if each of them has a stream of its own.
func TestManyStreamsAreLeftToTheLoop(t *testing.T) {
	b := newPaceBedWith(t, 16, subscription.Policy{Kind: subscription.Sample, Every: 1})
	for range 10 {
		b.publish(0)
		b.turn()
		b.wait(time.Millisecond)
	}
	if b.direct > 0 || b.queued != 160 {
		t.Errorf("got %d direct sends and %d by the loop, want none and 160", b.direct, b.queued)
	}
}

// A flood fills its pages: the loop looks from time to time, and no page is sent that is not
// full.
func TestAFloodFillsItsPages(t *testing.T) {
	b := newPaceBed(t, 1)
	flood := func(between int) {
		for range 100_000 / between {
			b.publish(repeat(between, 30*ns)...)
			b.tick()
		}
		b.complete()
	}
	flood(5000) // the loop is late, so that pages are full when it comes
	b.direct, b.queued = 0, 0
	flood(100)
	if pages := 100_000 * 68 / 130_900; b.direct > 0 || b.queued > pages*14/13 {
		t.Errorf("got %d direct sends and %d by the loop, want none and about %d full pages", b.direct, b.queued, pages)
	}
	b.turn()
	b.turn()
	if b.s.page != nil {
		t.Error("the last page of the flood waits for a third tick")
	}
}

// At a steady rate that is too high for single sends the loop sends with pauses.
func TestSteadyMessagesGatherBetweenTwoSends(t *testing.T) {
	b := newPaceBed(t, 1)
	for range 100 {
		b.publish(repeat(25, 2*us)...) // 50 µs
		b.turn()
	}
	if sends := b.direct + b.queued; sends < 50 || sends > 110 {
		t.Errorf("got %d direct sends and %d by the loop in 5 ms, want one each 50 µs", b.direct, b.queued)
	}
}

// Flush sends on the goroutine of its caller. Once a stream is flushed at the end of its
// bursts, their first messages do not wake the loop.
func TestFlushSendsOnItsOwnGoroutine(t *testing.T) {
	b := newPaceBed(t, 1)
	for range 100 {
		b.publish(repeat(10, 100*ns)...)
		b.bed.fan.Flush()
		b.wait(200 * us)
		b.tick()
	}
	if b.queued > 0 || b.posts > 1 || b.direct < 100 || b.direct > 102 {
		t.Errorf("got %d direct sends, %d by the loop and %d wake-ups; want 100 to 102, none and 1", b.direct, b.queued, b.posts)
	}
	b.publish(0)
	b.turn() // the loop comes for the last burst
	b.turn() // and for this message, which is not flushed
	if b.s.page != nil || b.s.asked {
		t.Error("a message waits for a Flush that does not come")
	}
}

// The end of a batch is the end of a burst.
func TestTheEndOfABatchSends(t *testing.T) {
	b := newPaceBed(t, 1)
	for range 100 {
		run, ok := b.bed.fan.BeginRun(1)
		if !ok {
			t.Fatal("no run")
		}
		for range 10 {
			if ok, err := run.Publish(1, 0, make([]byte, 64)); !ok || err != nil {
				t.Fatal(ok, err)
			}
		}
		run.End(false)
		b.wait(200 * us)
	}
	b.want(100, 0, 0)
}

// Under the policy Latest too a message that the loop finds alone ends the bursts.
func TestBurstsOfALatestLaneAreForgotten(t *testing.T) {
	for _, policy := range []subscription.Policy{{}, {Kind: subscription.Latest}, {Kind: subscription.Sample, Every: 1}} {
		b := newPaceBedWith(t, 1, policy)
		b.publish(repeat(10, 100*ns)...)
		b.turn()
		for range 10 {
			b.wait(time.Millisecond)
			b.publish(0)
			b.turn()
		}
		before := b.direct
		for range 10 {
			b.wait(time.Millisecond)
			b.publish(0)
			b.turn()
		}
		if got := b.direct - before; got != 10 {
			t.Errorf("%v: %d of 10 messages that stand alone were sent by their publisher", policy, got)
		}
	}
}

// A page that Flush leaves to the loop costs its caller next to nothing. That is not what a
// direct send costs.
func TestFlushesDoNotMakeManyLanesFew(t *testing.T) {
	b := newPaceBed(t, 64)
	for range 100 {
		b.publish(time.Millisecond)
		b.bed.fan.Flush()
		b.turn()
	}
	for range 10 {
		b.wait(time.Second)
		b.publish(0)
		b.turn()
	}
	if b.direct > 0 {
		t.Errorf("%d direct sends of 10 messages to 64 lanes, want none", b.direct)
	}
}

// Between two runs of a batch a fixed delay is none of 50 µs.
func TestARunKeepsTheFlushInterval(t *testing.T) {
	b := newPaceBed(t, 1)
	b.bed.fan.cfg.FlushInterval = 10 * time.Millisecond
	run, _ := b.bed.fan.BeginRun(1)
	if _, err := run.Publish(1, 0, make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	run.End(true)
	b.wait(time.Millisecond)
	b.tick()
	b.want(0, 0, 0)
}

// The publisher of a burst wakes the loop and then says when the page is due. A loop that has
// looked at the clock before that does not wait for a timer.
func TestALoopThatComesAtOnceNeedsNoTimer(t *testing.T) {
	b := newPaceBed(t, 1)
	b.publish(repeat(10, 100*ns)...)
	b.clock = time.Duration(b.s.due)
	if wait := b.s.turn(b.s.due - 1); wait != 0 || b.s.pending() {
		t.Errorf("got a wait of %v for a page that is due, want it sent", time.Duration(wait))
	}
}
