// SPDX-License-Identifier: Apache-2.0

//go:build linux

package replay

import (
	"context"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/cmd/internal/cli"
	"tagbus/recording"
)

// An internal test: only here is the publisher one of a network in memory, and is a nap of
// the system one of the fake clock.

const ms = time.Millisecond

// three are messages that come at once, soon and late.
var three = []sample{{0, 5, 0, "a"}, {0, 6, 3, "b"}, {1500 * time.Microsecond, 5, 255, "c"}, {20 * time.Second, 5, 0, ""}}

func TestReplayKeepsTheSpacing(t *testing.T) {
	for _, test := range []struct {
		name, line, wanted string
		want               []sample
	}{
		{"as it was recorded", "", "5-6", three},
		{"ten times as fast", "--speed 10", "5-6", []sample{three[0], three[1], {150 * time.Microsecond, 5, 255, "c"}, {2 * time.Second, 5, 0, ""}}},
		{"half as fast", "--speed 0.5", "5-6", []sample{three[0], three[1], {3 * ms, 5, 255, "c"}, {40 * time.Second, 5, 0, ""}}},
		{"without the long pause", "--max-gap 1s", "5-6", []sample{three[0], three[1], three[2], {1001500 * time.Microsecond, 5, 0, ""}}},
		{"without pauses", "--as-fast-as-possible", "5-6", []sample{three[0], three[1], {0, 5, 255, "c"}, {0, 5, 0, ""}}},
		{"one tag", "--tags 6", "6", []sample{three[1]}},
		{"the end", "--from 1ms", "5", []sample{{0, 5, 255, "c"}, {19998500 * time.Microsecond, 5, 0, ""}}},
		{"the middle", "--from 2026-11-24T09:30:00.001Z --to 20s", "5", []sample{{0, 5, 255, "c"}}},
		{"not checked", "--no-check --to 1s", "5-6", three[:3]},
		{"twice", "--to 1s --loop=2", "5-6", []sample{three[0], three[1], three[2], {1500 * time.Microsecond, 5, 0, "a"}, {1500 * time.Microsecond, 6, 3, "b"}, {3 * ms, 5, 255, "c"}}},
		{"other tags", "--to 1s --map 5-6=0x100", "0x100-0x1ff", []sample{{0, 0x100, 0, "a"}, {0, 0x101, 3, "b"}, {1500 * time.Microsecond, 0x100, 255, "c"}}},
		{"one publisher", "--publisher bob", "7", []sample{{0, 7, 1, "bob"}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			file := create(t, "r.tbr", recording.Config{}).add(alice, three...).add(bob, sample{30 * time.Second, 7, 1, "bob"}).close()
			line := test.line
			if !strings.Contains(line, "--publisher") && !strings.Contains(line, "--tags") {
				line += " --publisher alice"
			}
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, line, test.wanted, file)
				if got := b.play(t.Context()); got != 0 {
					t.Errorf("got status %d: %s", got, b.said())
				}
				checkSamples(t, b.got, test.want)
				if late := b.run.metronome; late != nil && late.late.Total().Max > leastNap {
					t.Errorf("got messages that are %v late, want at most %v", late.late.Total().Max, leastNap)
				}
			})
		})
	}
}

// checkSamples compares what was received with what was wanted. Messages may be a nap late,
// and what a page waits for others.
func checkSamples(t *testing.T, got, want []sample) {
	t.Helper()
	const late = leastNap + 100*time.Microsecond
	if len(got) != len(want) {
		t.Fatalf("got %d messages, want %d: %v", len(got), len(want), got)
	}
	for i := range got {
		g, w := got[i], want[i]
		if g.at < w.at-late || g.at > w.at+late || g.tag != w.tag || g.status != w.status || g.data != w.data {
			t.Errorf("message %d: got %v, want %v", i, g, w)
		}
	}
}

func TestReplayKeepsTheSpacingOfMany(t *testing.T) {
	w := create(t, "many.tbr", recording.Config{})
	var want []sample
	for i := range 20_000 { // 100,000 a second
		want = append(want, sample{time.Duration(i) * 10 * time.Microsecond, 5, 0, "data"})
	}
	file := w.add(alice, want...).close()
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, "", "5", file)
		if got := b.play(t.Context()); got != 0 {
			t.Errorf("got status %d: %s", got, b.said())
		}
		checkSamples(t, b.got, want)
		if got := b.run.metronome.late.Total(); got.Messages != 20_000 || got.Max > leastNap {
			t.Errorf("got %+v, want 20,000 messages that are at most %v late", got, leastNap)
		}
	})
}

func TestReplayMergesRecordings(t *testing.T) {
	one := create(t, "one.tbr", recording.Config{}).add(alice, sample{0, 5, 0, "1"}, sample{2 * time.Second, 5, 0, "3"}).close()
	two := create(t, "two.tbr", recording.Config{}).add(bob, sample{time.Second, 5, 0, "2"}, sample{3 * time.Second, 6, 0, "4"}).close()
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, "", "5-6", two, one)
		code := b.play(t.Context())
		checkSamples(t, b.got, []sample{{0, 5, 0, "1"}, {time.Second, 5, 0, "2"}, {2 * time.Second, 5, 0, "3"}, {3 * time.Second, 6, 0, "4"}})
		want := "1 tag with the messages of several publishers, or of several tags by --map: in the order in which they were recorded\n"
		if !strings.HasPrefix(b.said(), want) || code != 0 {
			t.Errorf("got status %d and %q, want %q first", code, b.said(), want)
		}
	})
}

func TestReplayEndsWithASignal(t *testing.T) {
	file := create(t, "r.tbr", recording.Config{}).add(alice, three...).close()
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, "--loop", "5-6", file)
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		time.AfterFunc(50*time.Second, func() { cancel(&cli.SignalError{Signal: syscall.SIGINT}) })
		began := time.Now()
		code := b.play(ctx)
		if took := time.Since(began); took < 50*time.Second || took > 51*time.Second {
			t.Errorf("took %v, want 50s", took)
		}
		if len(b.got) != 11 || code != 0 || b.run.passes != 2 { // the last of a pass comes with the first of the next
			t.Errorf("got %d messages, %d passes, status %d, want 11, 2, 0: %v", len(b.got), b.run.passes, code, b.got)
		}
		for _, want := range []string{"the next message is in 20.0 s: --max-gap cuts pauses\n", "; played 2 times; ended by signal\n"} {
			if !strings.Contains(b.said(), want) {
				t.Errorf("got %q, want %q", b.said(), want)
			}
		}
	})
}

func TestReplaySaysWhatTheRecordingLacks(t *testing.T) {
	gap := recording.Event{Kind: recording.Gap, Time: epoch, Peer: alice, Tag: 5, Count: 7, Cause: recording.CauseFull}
	leftOut := recording.Event{Kind: recording.Gap, Time: epoch, Peer: alice, Tag: 5, Count: 2, Cause: recording.CauseLeftOut}
	file := create(t, "r.tbr", recording.Config{}).add(alice, three[:3]...).event(gap).event(leftOut).
		event(recording.Event{Kind: recording.Vanished, Time: epoch, Peer: alice}).close()
	for _, line := range []string{"", "--no-check"} {
		synctest.Test(t, func(t *testing.T) {
			b := newBed(t, line, "5-6", file)
			const holes = "7 messages lost (full 7), 2 messages left out by its policy, 1 publisher vanished"
			if code := b.play(t.Context()); code != 0 || len(b.got) != 3 || !strings.Contains(b.said(), "; missing since it was recorded: "+holes+"; ended by end of recording\n") {
				t.Errorf("%s: got status %d, %d messages and %q, want 0, 3 and %q", line, code, len(b.got), b.said(), holes)
			}
			if got := strings.Contains(b.said(), "what was recorded is not all that was published then: "+holes); got != (line == "") {
				t.Errorf("%s: got %q", line, b.said())
			}
		})
	}
}
