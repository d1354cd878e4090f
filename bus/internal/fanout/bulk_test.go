// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"testing"
	"time"
)

// wantBulk publishes messages, and looks at how many pages were sent by their publisher after
// the first ones.
func (b *paceBed) wantBulk(own bool, size, messages int, pause time.Duration) {
	b.t.Helper()
	flood := func(messages int) {
		for range messages {
			b.publishBytes(size, pause)
			b.tick()
		}
	}
	flood(3 * messages)
	b.direct, b.queued = 0, 0
	flood(messages)
	perPage := max(1, b.bed.fan.cfg.PageBytes/(size+8))
	want := messages / perPage
	got, other := b.direct, b.queued
	if !own {
		got, other = other, got
	}
	if got < want-1 || got > want+1 || other > 1 {
		b.t.Errorf("%d messages of %d B, %v apart: got %d pages sent by their publisher and %d by the loop; want all of %d by one, which is the publisher: %t",
			messages, size, pause, b.direct, b.queued, want, own)
	}
}

func TestAPageThatIsSoonFullIsSentByItsPublisher(t *testing.T) {
	newPaceBed(t, 1).wantBulk(true, 1<<10, 2000, 20*ns)
	newPaceBed(t, 1).wantBulk(true, 1<<20, 10, 2*us)
}

func TestAPageThatIsSlowlyFullIsLeftToTheLoop(t *testing.T) {
	newPaceBed(t, 1).wantBulk(false, 1<<10, 2000, 300*ns)
}

// Half a page would wake the subscriber twice as often.
func TestHalfAPageIsLeftToTheLoop(t *testing.T) { newPaceBed(t, 1).wantBulk(false, 64<<10, 16, us) }

// The mutexes are not held for as long as a very large message takes.
func TestAVeryLargeMessageIsLeftToTheLoop(t *testing.T) {
	b := newPaceBed(t, 1)
	b.bed.fan.cfg.MaxMessageBytes = 2 << 20
	b.wantBulk(false, 2<<20, 2, us)
}

func TestFullPagesForSeveralSubscribersAreLeftToTheLoop(t *testing.T) {
	b := newPaceBed(t, 2)
	b.publishBytes(1<<10, repeat(2000, 20*ns)...)
	if b.direct > 2*2 { // the first two messages stand alone
		t.Errorf("got %d direct sends, want none of a full page", b.direct)
	}
}

// Small messages take their subscriber so long that filling a page may take as long.
func TestPagesOfSmallMessagesThatCostLittleAreSentByTheirPublisher(t *testing.T) {
	newPaceBed(t, 1).wantBulk(true, 64, 20_000, 9*ns)
	newPaceBed(t, 1).wantBulk(false, 64, 20_000, 20*ns)
	newPaceBed(t, 1).wantBulk(false, 512, 4_000, 70*ns)
}

// A goroutine that is preempted while it fills, or that waits for room, is as quick as before.
func TestAPublisherThatWasPreemptedIsQuick(t *testing.T) {
	b := newPaceBed(t, 1)
	b.wantBulk(true, 1<<10, 2000, 20*ns)
	b.wait(10 * time.Millisecond)
	b.direct = 0
	b.publishBytes(1<<10, repeat(2000, 20*ns)...)
	if b.direct < 14 {
		t.Errorf("got %d direct sends, want one for each page", b.direct)
	}
}

// One send that was preempted neither ends nor begins anything for good.
func TestAPreemptedSendOfAFullPageIsForgotten(t *testing.T) {
	b := newPaceBed(t, 1)
	b.sendCost = func() time.Duration { return 10 * time.Millisecond }
	b.publishBytes(1<<10, repeat(300, 20*ns)...)
	b.sendCost = func() time.Duration { return 6 * us }
	b.wantBulk(true, 1<<10, 2000, 20*ns)
	b.wantBulk(false, 1<<10, 2000, 300*ns)
}
