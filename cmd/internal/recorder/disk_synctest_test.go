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
	"tagbus/cmd/internal/tool"
	"tagbus/internal/stuck"
	"tagbus/recording"
	"tagbus/tags"
)

// TestASlowDisk: with block it holds the publisher, and nothing is lost. Else messages are
// lost at the publisher, and the recording has each hole as the publisher has counted it.
func TestASlowDisk(t *testing.T) {
	for _, policy := range []string{"block", "drop-newest", "drop-oldest", "latest", "sample:7"} {
		t.Run(policy, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, "5-6 run.tbr --queue-bytes 256KiB --policy "+policy, &fakeDisk{slow: 20 * time.Millisecond})
				const n = 20_000
				whole := policy == "block" || policy == "latest" // which leaves out, and loses nothing
				ctx, cancel := context.WithCancel(t.Context())
				began := time.Now()
				err := b.during(ctx, func() {
					b.publish(n - 100)
					time.Sleep(10 * time.Second) // the disk catches up
					b.publish(100)
					synctest.Wait()
					cancel()
				})
				code := 1
				if whole {
					code = 0
				}
				s, report := b.check(err, code, whole)
				counted := make(map[tags.Tag]bus.Losses)
				for _, l := range b.publisher.TagLosses(b.run.subscriber.Instance()) {
					counted[l.Tag] = l.Losses
				}
				for _, series := range report.Series {
					p, got := counted[series.Tag], series.Lost
					if got[recording.CauseFull] != p.Full || got[recording.CauseLeftOut] != p.LeftOut || got.Lost() != p.Lost() ||
						series.Messages+got.Lost()+got[recording.CauseLeftOut] != n/2 || series.Unexplained > 0 || (series.Missing > 0) == (policy == "block") {
						t.Errorf("tag %v: got %+v in the recording, want the holes of the publisher: %+v", series.Tag, series, p)
					}
				}
				if policy == "block" && (s.Messages != n || s.Holds == 0 || time.Since(began) < 12*time.Second) {
					t.Errorf("got %+v after %v, want all of %d messages, and the publisher held", s, time.Since(began), n)
				}
				if policy != "block" && (s.Messages == n || s.Messages == 0) {
					t.Errorf("got %d messages of %d, want some", s.Messages, n)
				}
			})
		})
	}
}

// TestADiskThatFills: the recording stops in order before.
func TestADiskThatFills(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const room, keep = 4 << 20, 2 << 20
		b := newBed(t, "5-6 run.tbr --queue-bytes 512KiB --keep-free 2MiB", &fakeDisk{room: room})
		err := b.during(t.Context(), b.publishToTheEnd)
		s, report := b.check(err, 1, false)
		if s.Ended != "disk" || s.NotWritten > 0 || s.Messages == 0 || !strings.Contains(s.Error, "the disk is almost full: 2.") || !strings.Contains(s.Error, "of which --keep-free leaves 2.00 MiB") {
			t.Errorf("got %+v, want all that came written, and why it ended", s)
		}
		if used := b.disk.used(); used > room-keep+1<<20 || used < room-keep-1<<20 {
			t.Errorf("got %d bytes on the disk, want about %d", used, room-keep)
		}
		if e := report.Stopped; e == nil || !e.Failed || !strings.Contains(e.Text, "the disk is almost full") || !report.Files[0].Indexed {
			t.Errorf("got the last event %v in a file with index: %v, want both", e, report.Files[0].Indexed)
		}
	})
}

// TestADiskThatFails: what was written before is there.
func TestADiskThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, "5-6 run.tbr --queue-bytes 512KiB", &fakeDisk{capacity: 2_000_000})
		err := b.during(t.Context(), b.publishToTheEnd)
		s, report := b.check(err, 1, false)
		if s.Ended != "disk" || s.NotWritten == 0 || !strings.Contains(s.Error, errBroken.Error()) || strings.Count(s.Error, errBroken.Error()) != 1 {
			t.Errorf("got %+v, want messages that are not written, and the error once", s)
		}
		if total := report.Total(); total.Messages != s.Messages-s.NotWritten || total.Messages == 0 || total.Missing > 0 || report.Files[0].Cut == 0 {
			t.Errorf("got %+v, want %d messages and a block that is cut off", total, s.Messages-s.NotWritten)
		}
	})
}

// TestADiskThatFailsBetweenBlocks: what was dropped since was missing in a file that had its end, and
// passed for whole. Where only the next part cannot be made, the rest is in the part before.
func TestADiskThatFailsBetweenBlocks(t *testing.T) {
	tests := []struct {
		name, flags string
		disk        *fakeDisk
		closed      bool
	}{
		{"the next part cannot be made", "--rotate-bytes 1MiB", &fakeDisk{createErr: errBroken}, true},
		{"fsync of a block", "--fsync block", &fakeDisk{syncErr: errBroken}, false},
		{"fsync of the part before", "--rotate-bytes 1MiB", &fakeDisk{syncErr: errBroken}, false},
		{"the free space is not known", "", &fakeDisk{freeErr: errBroken}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, "5-6 run.tbr --queue-bytes 512KiB "+test.flags, test.disk)
				err := b.during(t.Context(), b.publishToTheEnd)
				s, report := b.check(err, 1, false)
				if s.Ended != "disk" || strings.Count(s.Error, errBroken.Error()) != 1 {
					t.Errorf("got %+v, want the error once", s)
				}
				last := report.Files[len(report.Files)-1]
				if last.Indexed != test.closed || report.Total().Messages != s.Messages-s.NotWritten || test.closed && s.NotWritten > 0 {
					t.Errorf("got a file that is closed: %v, with %d messages, %+v, want it closed: %v", last.Indexed, report.Total().Messages, s, test.closed)
				}
				if e := report.Stopped; test.closed && (e == nil || !e.Failed || !strings.Contains(e.Text, errBroken.Error())) {
					t.Errorf("got the last event %v, want why it has ended", e)
				}
				for i, f := range b.disk.parts {
					if !f.closed {
						t.Errorf("part %d is left open", i)
					}
				}
			})
		})
	}
}

// TestASyncThatTakesLong is waited for at the end, wherever it is: it was taken for a disk that takes
// nothing.
func TestASyncThatTakesLong(t *testing.T) {
	for _, flags := range []string{"--fsync block", "--fsync rotate", "--fsync rotate --rotate-bytes 64KiB"} {
		t.Run(flags, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const n = 5000 // in three blocks
				b := newBed(t, "5-6 run.tbr --queue-bytes 4MiB --count 5000 "+flags, &fakeDisk{slowSync: 2 * diskGrace})
				err := b.during(t.Context(), func() { b.publish(n) })
				<-b.run.wrote // also if the run has given up
				if s, report := b.check(err, 0, true); s.Messages != n || report.Total().Messages != n {
					t.Errorf("got %+v, want all %d messages", s, n)
				}
			})
		})
	}
}

// TestASignalEndsAWaitForSync, the second one.
func TestASignalEndsAWaitForSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const wait = time.Minute
		b := newBed(t, "5-6 run.tbr --fsync block", &fakeDisk{slowSync: time.Hour})
		hurry, second := context.WithCancel(t.Context())
		b.run.env.Hurry = hurry
		ctx, first := context.WithCancel(t.Context())
		var signal time.Time
		err := b.during(ctx, func() {
			b.publish(10)
			time.Sleep(2 * time.Second)
			signal = time.Now()
			first()
			time.Sleep(wait)
			second()
		})
		if took := time.Since(signal); tool.Code(err) != 1 || took < wait || took > wait+time.Second {
			t.Errorf("got %v after %v, want the end at the second signal, after %v", err, took, wait)
		}
		<-b.run.wrote // what was left behind
	})
}

// TestADiskThatTakesNothing is not waited for without end.
func TestADiskThatTakesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := new(fakeDisk)
		b := newBed(t, "5-6 run.tbr --count 10", d)
		b.must(b.run.open(t.Context()))
		d.stuck = make(chan struct{})
		ended := make(chan error, 1)
		go func() { ended <- b.run.run(t.Context()) }()
		b.must(b.publisher.WaitSubscribers(t.Context(), 1, b.run.cmd.Tags))
		b.publish(10)
		err := <-ended
		close(d.stuck)
		synctest.Wait()
		var s summary
		b.must(json.Unmarshal(b.out.Bytes(), &s))
		if tool.Code(err) != 1 || s.Whole || s.NotWritten != 10 || s.Ended != "count" || !strings.Contains(s.Error, "run.tbr: nothing was taken for 30s: 10 messages not written") {
			t.Errorf("got %+v, want what was not written", s)
		}
	})
}

// TestADiskThatDoesNotAnswerIsNamed: once, and that it answers again; the line of status has it,
// and what is recorded is whole.
func TestADiskThatDoesNotAnswerIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answers := make(chan struct{})
		b := newBed(t, "5-6 run.tbr --count 40 --flush-every 1s", new(fakeDisk))
		b.run.console.SayWaits()
		defer stuck.Say(nil) // the console is of this bubble
		err := b.during(t.Context(), func() {
			b.publish(20)
			time.Sleep(2 * time.Second)
			b.disk.mu.Lock()
			b.disk.stuck = answers
			b.disk.mu.Unlock()
			b.publish(10)
			time.Sleep(20 * time.Second)
			synctest.Wait()
			if n, late := stuck.Late(); !late || n.Path != "run.tbr" {
				t.Errorf("got %v %v, want that run.tbr is waited for", n, late)
			}
			close(answers)
			b.publish(10)
		})
		b.check(err, 0, true)
		if said := b.err.String(); strings.Count(said, "waiting for run.tbr: its file system does not answer, since ") != 1 ||
			strings.Count(said, "run.tbr: its file system answers again, after ") != 1 {
			t.Errorf("got %q, want once that it does not answer, and that it does again", said)
		}
	})
}
