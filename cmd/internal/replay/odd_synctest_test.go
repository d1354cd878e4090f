// SPDX-License-Identifier: Apache-2.0

//go:build linux

package replay

// Tests of recordings that are odd, and of subscribers that are.

import (
	"context"
	"net/netip"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus/directory"
	"tagbus/cmd/internal/cli"
	"tagbus/internal/testkit"
	"tagbus/recording"
	"tagbus/tags"
)

// damage changes a byte of a file, from its middle on in the first block of messages.
func damage(t *testing.T, file string) {
	t.Helper()
	data, err := os.ReadFile(file)
	testkit.Must(t, err)
	data[len(data)/2] ^= 1
	testkit.Must(t, os.WriteFile(file, data, 0o600))
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
	testkit.Must(t, os.Truncate(cut, 2000))
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

func TestReplayOfParts(t *testing.T) {
	parts := make([]string, 3)
	w := create(t, "0.tbr", recording.Config{})
	for i, name := range []string{"0.tbr", "1.tbr", "2.tbr"} {
		if i > 0 {
			w.rotate(name)
		}
		from := *alice
		from.Addr = netip.AddrPortFrom(netip.IPv4Unspecified(), uint16(i)) // it has connected again
		w.add(&from, sample{time.Duration(i) * time.Second, 5, 0, name})
		parts[i] = w.file.Name()
	}
	w.close()
	for _, test := range []struct {
		name  string
		files []string
		want  string
		got   []sample
		code  int
	}{
		{"all", []string{parts[2], parts[0], parts[1]}, "ended by end of recording", []sample{{0, 5, 0, "0.tbr"}, {time.Second, 5, 0, "1.tbr"}, {2 * time.Second, 5, 0, "2.tbr"}}, 0},
		{"the first", parts[:1], "0.tbr is part 0 of a recording that goes on: give the next parts too if they are to be played\n", []sample{{0, 5, 0, "0.tbr"}}, 0},
		{"without the middle", []string{parts[0], parts[2]}, "2.tbr is part 2, and part 1 is not given: what can be read is published\n", []sample{{0, 5, 0, "0.tbr"}, {2 * time.Second, 5, 0, "2.tbr"}}, 1},
		{"one twice", []string{parts[0], parts[0]}, "0.tbr is part 0 of a recording, which is given twice: leave one of the files out\n", nil, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, "", "5", test.files...)
				if code := b.play(t.Context()); code != test.code || !strings.Contains(b.said(), test.want) {
					t.Errorf("got status %d and %s, want %d and %s", code, b.said(), test.code, test.want)
				}
				checkSamples(t, b.got, test.got)
				if test.got != nil && (b.run.publishers != 1 || strings.Contains(b.said(), "several publishers")) {
					t.Errorf("got %d publishers and %s, want 1", b.run.publishers, b.said())
				}
			})
		})
	}
}

func TestReplayToASubscriberThatTakesNothing(t *testing.T) {
	file := create(t, "r.tbr", recording.Config{}).add(alice, sample{0, 5, 0, strings.Repeat("x", 1<<20)}).close()
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, "--drain-timeout 4s --name player", "5", file)
		b.stalled = true
		began := time.Now()
		code := b.play(t.Context())
		if took := time.Since(began); took < 4*time.Second || took > 5*time.Second || code != 1 {
			t.Errorf("got status %d after %v, want 1 after 4s", code, took)
		}
		for _, want := range []string{
			"waiting up to 4s for 1 subscriber to take what is left: ",
			"; a signal shortens that to 5s, another one gives up\n",
			"1 message of 1 tag, 1.05 MB in 4.00 s: 0.25 /s, 262 kB/s, ",
		} {
			if !strings.Contains(clock.ReplaceAllString(b.err.String(), ""), want) {
				t.Errorf("got %s, want %s", b.err.String(), want)
			}
		}
	})
}

func TestWaitingForSubscribers(t *testing.T) {
	file := create(t, "r.tbr", recording.Config{}).add(alice, three...).close()
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, "", "5", file) // and not 6
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		time.AfterFunc(6*time.Second, func() { cancel(&cli.SignalError{Signal: syscall.SIGINT}) })
		code := b.play(ctx)
		want := "still waiting: 1 subscriber so far; --tags publishes fewer tags, --wait-subscribers 0 waits for none\n"
		if len(b.got) != 0 || code != 0 || !strings.Contains(b.said(), want) || !strings.Contains(b.said(), "0 messages of 2 tags") {
			t.Errorf("got %d messages, status %d and %s, want none, 0 and %s", len(b.got), code, b.said(), want)
		}
	})
}

func TestReplayBesideOthers(t *testing.T) {
	file := create(t, "r.tbr", recording.Config{}).add(alice, three...).close()
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, "", "5-6", file)
		address := []netip.AddrPort{netip.MustParseAddrPort("10.0.0.9:9")}
		for i, set := range []tags.Set{tags.Of(7), tags.Of(1, 6), tags.Of(5), tags.Of(5), tags.Of(5), tags.Of(5)} {
			e := directory.Entry{Instance: string(rune('A' + i)), Name: "other", Host: "h", PID: 1, Backend: "memory", Addresses: address, Tags: set, PageBytes: 1000, MaxMessageBytes: 1000}
			if i == 5 {
				e.Role = "receiver"
			}
			withdraw, err := b.run.dir.Announce(e)
			testkit.Must(t, err)
			defer func() {
				if err := withdraw.Withdraw(); err != nil {
					t.Error(err)
				}
			}()
		}
		b.play(t.Context())
		const rest = " publishes some of these tags, too: subscribers get the messages of both; --map publishes under other tags\n"
		if got := strings.Count(b.said(), rest); got != 3 || !strings.Contains(b.said(), "1 publisher more with some of these tags\n") {
			t.Errorf("got %s, want 3 lines with %s and the number of the rest", b.said(), rest)
		}
	})
}
