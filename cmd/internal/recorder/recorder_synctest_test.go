// SPDX-License-Identifier: Apache-2.0

//go:build linux

package recorder

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/tool"
	"tagbus/recording"
	"tagbus/tags"
)

// check checks the exit status, that the summary and Verify agree on whether the recording
// is whole, and returns both.
func (b *bed) check(err error, code int, whole bool) (s summary, report *recording.Report) {
	b.t.Helper()
	if err := json.Unmarshal(b.out.Bytes(), &s); err != nil {
		b.t.Fatalf("%v in %q", err, b.out.String())
	}
	report = b.verify()
	if got := tool.Code(err); got != code || s.Exit != code || s.Whole != whole || report.Whole() != whole {
		b.t.Errorf("got status %d, want %d; whole: want %v, got %+v and\n%v\n%s", got, code, whole, s, report, b.err.String())
	}
	return s, report
}

func TestWhatIsOnTheBusIsRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, "5-9 run.tbr --name probe", new(fakeDisk))
		b.must(b.publisher.Publish(5, []byte("before")))
		b.must(b.publisher.Publish(6, []byte("before"))) // of which nothing comes
		const n = 5000
		ctx, cancel := context.WithCancel(t.Context())
		err := b.during(ctx, func() {
			for i := range n {
				b.must(b.publisher.PublishStatusContext(ctx, 5, bus.Status(i%3), make([]byte, i%900)))
			}
			b.must(b.publisher.Drain(ctx))
			synctest.Wait()
			cancel()
		})
		s, report := b.check(err, 0, true)
		if s.Messages != n || s.Ended != "signal" || s.Publishers != 1 || s.Parts != 1 || s.FileBytes != uint64(b.disk.used()) || s.NotWritten+s.Lost > 0 {
			t.Errorf("got %+v, want %d messages of one publisher in one file of %d bytes", s, n, b.disk.used())
		}
		total := report.Total()
		if total.Messages != s.Messages || total.Bytes != s.Bytes || total.First != 0 {
			t.Errorf("got %+v in the recording, want %+v", total, s)
		}
		begins := make(map[tags.Tag]uint64)
		for _, e := range b.events(recording.Position) {
			begins[e.Tag] = e.Count
		}
		if begins[5] != 1 || begins[6] != 1 || len(begins) != 2 {
			t.Errorf("got positions %v, want 1 of tag 5 and of tag 6", begins)
		}
		kinds := b.events(recording.Joined, recording.Ended, recording.Lost, recording.Stopped)
		if len(kinds) != 3 || kinds[0].Kind != recording.Joined || kinds[1].Kind != recording.Ended || kinds[2].Kind != recording.Stopped ||
			kinds[2].Text != "signal" || kinds[2].Failed {
			t.Errorf("got events %v, want joined, ended, stopped by signal", kinds)
		}
		f := b.disk.parts[0]
		if !f.closed || f.syncs != 1 || b.disk.named != 1 {
			t.Errorf("got a file that is closed: %v, with %d syncs and %d names, want 1 of each", f.closed, f.syncs, b.disk.named)
		}
		info := report.Files[0].Info
		if info.Name != "probe" || !info.Tags.Equal(b.run.cmd.Tags) || info.Policy != "block" || !info.Indexed {
			t.Errorf("got header %+v, want what was asked for", info)
		}
	})
}

// TestAQuietRecordingIsOnTheDisk: a kill loses at most what came within --flush-every.
func TestAQuietRecordingIsOnTheDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, "5-6 run.tbr --flush-every 3s --fsync block --duration 1m", new(fakeDisk))
		line := func() string { return b.run.liveLine(cli.NewMeter(), cli.NewMeter()) }
		if got := line(); !strings.HasPrefix(got, "waiting 0s for publishers in ") {
			t.Errorf("got %q on a terminal, want what is waited for", got)
		}
		err := b.during(t.Context(), func() {
			b.publish(10)
			time.Sleep(2 * time.Second)
			if got, want := line(), "10 messages, 0 lost, 1 publisher, 96 B in 1 file"; !strings.HasSuffix(got, want) {
				t.Errorf("got %q on a terminal, want %q at the end", got, want)
			}
			if n := b.run.writer.messages.Load(); n != 0 {
				t.Errorf("got %d messages written, want them to wait for more", n)
			}
			time.Sleep(2 * time.Second)
			synctest.Wait()
			if n := b.run.writer.messages.Load(); n != 10 || b.disk.synced(0) == 0 {
				t.Errorf("got %d messages written after --flush-every and %d syncs, want 10 and one", n, b.disk.synced(0))
			}
		})
		if s, _ := b.check(err, 0, true); s.Messages != 10 || s.Ended != "duration" {
			t.Errorf("got %+v, want 10 messages in the time", s)
		}
	})
}

func TestARecordingHasParts(t *testing.T) {
	for _, test := range []struct {
		line   string
		parts  int
		syncs  int // of the first and of the last part
		atLast int
	}{
		{"--rotate-bytes 1MiB", 4, 1, 1},
		{"--rotate-bytes 1MiB --fsync end", 4, 0, 1},
		{"--rotate-bytes 1MiB --fsync never", 4, 0, 0},
		{"--rotate-every 10s --fsync 1h", 3, 1, 1},
	} {
		t.Run(test.line, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, "5-6 run.tbr --queue-bytes 1MiB --until-goodbye "+test.line, new(fakeDisk))
				const n = 9000
				err := b.during(t.Context(), func() {
					for range 3 {
						b.publish(n / 3)
						time.Sleep(9 * time.Second)
					}
					b.must(b.publisher.Drain(t.Context()))
				})
				s, report := b.check(err, 0, true)
				if s.Messages != n || report.Total().Messages != n || int(s.Parts) != test.parts || len(b.disk.parts) != test.parts || b.disk.named != test.parts || s.Ended != "goodbye" {
					t.Errorf("got %+v in %d files, want %d messages in %d", s, len(b.disk.parts), n, test.parts)
				}
				if first, last := b.disk.parts[0], b.disk.parts[len(b.disk.parts)-1]; first.syncs != test.syncs || last.syncs != test.atLast || !first.closed || !last.closed {
					t.Errorf("got %d syncs of the first part and %d of the last, want %d and %d", first.syncs, last.syncs, test.syncs, test.atLast)
				}
			})
		})
	}
}

// TestACountIsExact: a page that has more messages is recorded up to the count.
func TestACountIsExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, "5-6 run.tbr --count 7", new(fakeDisk))
		err := b.during(t.Context(), func() {
			for range 100 {
				b.must(b.publisher.Publish(5, nil))
			}
			b.publisher.Flush()
		})
		if s, report := b.check(err, 0, true); s.Messages != 7 || report.Total().Messages != 7 {
			t.Errorf("got %+v, want 7 messages", s)
		}
	})
}

func TestACountThatIsNotReached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, "5-6 run.tbr --count 7 --duration 1s", new(fakeDisk))
		err := b.during(t.Context(), func() { b.publish(3) })
		if s, _ := b.check(err, 1, true); s.Error != "got 3 of 7 messages (--count): ended by duration" {
			t.Errorf("got %+v, want how many are missing", s)
		}
	})
}

// TestKeptMessagesComeFirst: the recording begins behind those that it did not ask for.
func TestKeptMessagesComeFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, "5-6 run.tbr --replay 2 --count 5", new(fakeDisk))
		for range 10 {
			b.must(b.publisher.Publish(5, []byte("kept")))
		}
		err := b.during(t.Context(), func() {
			synctest.Wait()
			for range 3 {
				b.must(b.publisher.Publish(5, []byte("new")))
			}
			b.publisher.Flush()
		})
		_, report := b.check(err, 0, true)
		if got := report.Total().Messages; got != 5 {
			t.Errorf("got %d messages, want 5", got)
		}
		for _, e := range b.events(recording.Position) {
			if want := map[tags.Tag]uint64{5: 8}[e.Tag]; e.Count != want {
				t.Errorf("got %v, want it to begin behind %d", e, want)
			}
		}
	})
}

// TestADisconnectIsAHole: a publisher that does not wait any longer cuts the recorder off, and
// what it published meanwhile is missing.
func TestADisconnectIsAHole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, "5-6 run.tbr --queue-bytes 128KiB --policy disconnect:1s", &fakeDisk{slow: 3 * time.Second})
		ctx, cancel := context.WithCancel(t.Context())
		err := b.during(ctx, func() {
			b.publish(2000)
			time.Sleep(time.Minute)
			b.publish(20)
			time.Sleep(time.Minute)
			cancel()
		})
		s, report := b.check(err, 1, false)
		total := report.Total()
		if s.LostBy.Connection == 0 || total.Lost[recording.CauseConnection] != s.LostBy.Connection || total.Unexplained > 0 || total.Messages+total.Lost.Lost() != 2020 {
			t.Errorf("got %+v, in the recording %+v, want each message there or lost with the connection", s, total)
		}
		if joined := b.events(recording.Joined, recording.Lost); len(joined) < 3 {
			t.Errorf("got events %v, want it lost and joined again", joined)
		}
	})
}
