// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"context"
	"os"
	"slices"
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
		want := "1 tag had several publishers or become one by --map: this one publishes all of their messages, in the order in which they were recorded\n"
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

// damage changes a byte of a file, from its middle on in the first block of messages.
func damage(t *testing.T, file string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 1
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestReplayOfDamagedFiles(t *testing.T) {
	var all []sample
	for range 40 {
		all = append(all, sample{0, 5, 0, strings.Repeat("x", 100)})
	}
	small := recording.Config{BlockBytes: 1000}
	damaged := create(t, "damaged.tbr", small).add(alice, all...).close()
	damage(t, damaged)
	cut := create(t, "cut.tbr", small).add(alice, all...).close()
	if err := os.Truncate(cut, 2000); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, line, file string
		messages         int
		want             []string
	}{
		{"damage is said and passed over", "", damaged, 30, []string{
			"checksum is wrong", ": what is behind that block is published\n", "30 messages of 1 tag", "1 block cannot be read\n",
		}},
		{"damage that is met", "--no-check", damaged, 30, []string{": what is behind that block is published\n", "what was published is not all of the recording: 1 block cannot be read\n"}},
		{"nothing of a damaged file", "--strict", damaged, 0, []string{"checksum is wrong", ": leave --strict out to publish the rest\n"}},
		{"until the damage", "--strict --no-check", damaged, 20, []string{"checksum is wrong"}},
		{"a file that was cut off", "", cut, 10, []string{"cut.tbr was not closed: the last block of its recorder is missing", ": what can be read is published\n", "what was published is not all of the recording: "}},
		{"nothing of one that was cut off", "--strict", cut, 0, []string{"cut.tbr was not closed", ": leave --strict out to publish what is there\n"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, test.line, "5", test.file)
				if code := b.play(t.Context()); code != 1 || len(b.got) != test.messages {
					t.Errorf("got status %d and %d messages, want 1 and %d", code, len(b.got), test.messages)
				}
				for _, want := range test.want {
					if !strings.Contains(b.said(), want) {
						t.Errorf("got %s\nwant %q", b.said(), want)
					}
				}
			})
		})
	}
}

func TestReplayOfNothing(t *testing.T) {
	file := create(t, "r.tbr", recording.Config{}).add(alice, three...).add(bob, sample{30 * time.Second, 0x70, 1, "bob"}).close()
	empty := create(t, "empty.tbr", recording.Config{}).close()
	for _, test := range []struct{ name, line, file, want string }{
		{"no messages at all", "", empty, "nothing to publish: no messages are in " + empty},
		{"none of the tags", "--tags 0x60-0x6f,0x80", file, "nothing to publish: no message has a tag of --tags 0x0000000000000060-0x000000000000006f,0x0000000000000080: the nearest that were recorded are 0x0000000000000070, 0x0000000000000006, 0x0000000000000005"},
		{"none of the publisher", "--publisher carol", file, "nothing to publish: no message is from --publisher carol: those of the recording are alice, bob"},
		{"none of the time", "--from 1m", file, "nothing to publish from 1m0s on (--from): the files are about 2026-11-24T09:30:00Z to 2026-11-24T09:30:30Z, the first 30s after their beginning"},
		{"none of the time, which only the end tells", "--from 1s --to 2s --no-check --wait 0", file, "nothing to publish from 1s on (--from) and before 2s (--to): "},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, test.line, "5", test.file)
				if code := b.play(t.Context()); code != 1 || !strings.Contains(b.said(), test.want) {
					t.Errorf("got status %d and %s\nwant 1 and %s", code, b.said(), test.want)
				}
			})
		})
	}
}

func TestLargeMessages(t *testing.T) {
	large := []sample{{0, 5, 0, strings.Repeat("x", 3<<20)}, {0, 5, 0, "small"}, {0, 5, 0, strings.Repeat("y", 300_000)}, {0, 5, 0, strings.Repeat("z", 300_000)}}
	file := create(t, "r.tbr", recording.Config{}).add(alice, large...).close()
	for _, test := range []struct {
		line string
		code int
		want string
	}{
		{"", 0, "ended by end of recording"},
		{"--no-check", 1, "give --max-message-bytes 3145728\n"},
		{"--no-check --max-message-bytes 3145728", 0, "ended by end of recording"},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newBed(t, test.line, "5", file)
			if code := b.play(t.Context()); code != test.code || !strings.Contains(b.said(), test.want) {
				t.Errorf("%q: got status %d and %s, want %d and %q", test.line, code, b.said(), test.code, test.want)
			}
			if test.code == 0 && !slices.EqualFunc(b.got, large, func(a, b sample) bool { return a.data == b.data }) {
				t.Errorf("%q: got %d other messages", test.line, len(b.got))
			}
		})
	}
}
