// SPDX-License-Identifier: Apache-2.0

package writer_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bridge/internal/memlog"
	"tagbus/bridge/internal/spool"
	"tagbus/bridge/internal/spool/memdisk"
	"tagbus/bridge/internal/writer"
	"tagbus/bridge/record"
	"tagbus/recording"
)

// patience is how long a file system may do nothing in tests.
const patience = 10 * time.Second

// withSpool gives a writer little memory and a spool.
func withSpool(t *testing.T, d spool.Disk, bytes int64) func(*writer.Config) {
	t.Helper()
	return func(cfg *writer.Config) {
		cfg.MaxBytes, cfg.RecordBytes, cfg.SpoolPatience = 64<<10, 4<<10, patience
		cfg.Spool = openSpool(t, d, bytes)
	}
}

// give gives messages to a writer, in pages, each a millisecond after the one before.
func give(w *writer.Writer, first, last uint64) {
	for n := first; n <= last; n += 100 {
		w.Page(time.Now(), page(alice, 1, upTo(n, min(last, n+99))...))
		time.Sleep(time.Millisecond)
	}
}

// closeNow closes a writer without time for the log.
func closeNow(w *writer.Writer) error {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	return w.Close(ended)
}

// TestWriter_aSpoolHoldsWhatTheMemoryDoesNot while the log is away: no publisher is paused, and all is in the log then.
func TestWriter_aSpoolHoldsWhatTheMemoryDoesNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, d := memlog.New(limit, nil), memdisk.New()
		w, c := open(t, log, withSpool(t, d, 8<<20))
		settle(w, alice, 1, 0, 0)
		give(w, 1, 100)
		log.SetAway(true)
		const n = 40_000 // some 600 KiB
		give(w, 101, n)
		time.Sleep(time.Hour)
		st := w.Stats()
		if files, _ := d.Files(); c.said().pauses > 0 || !st.Spooling || st.Held > 64<<10 || st.SpoolBytes < 400<<10 || st.Spooled < n/2 || files < 1 {
			t.Errorf("got %d pauses, %d files and %+v, want most in the spool", c.said().pauses, files, st)
		}
		// What is in the spool is a recording as any other.
		r, err := recording.NewReader(bytes.NewReader(d.Bytes(0)), int64(len(d.Bytes(0))), recording.ReaderConfig{})
		if err != nil {
			t.Fatal(err)
		}
		if report, err := recording.Verify(r); err != nil || report.Total().Messages == 0 || report.Total().Missing > 0 {
			t.Errorf("got %+v, %v, want a recording without holes", report, err)
		}
		log.SetAway(false)
		give(w, n+1, n+1000)
		time.Sleep(time.Minute)
		st = w.Stats()
		if files, aside := d.Files(); st.Spooling || st.Held > 0 || st.SpoolBytes > 0 || st.Spooled > 0 || files+aside > 0 || st.Messages != n+1000 {
			t.Errorf("got %d files and %+v, want all in the log", files, st)
		}
		closeWriter(t, w)
		if got := only(t, log); got.next != n+1001 || len(got.lost) > 0 {
			t.Errorf("got %+v, want %d messages", got, n+1000)
		}
	})
}

// TestWriter_aSpoolIsBounded: at its bound the publishers are paused, as without one, and then go on.
func TestWriter_aSpoolIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, d := memlog.New(limit, nil), memdisk.New()
		w, c := open(t, log, withSpool(t, d, 256<<10))
		settle(w, alice, 1, 0, 0)
		give(w, 1, 100)
		log.SetAway(true)
		n := uint64(100)
		for c.said().pauses == 0 && n < 1e6 {
			give(w, n+1, n+100)
			n += 100
		}
		time.Sleep(time.Minute)
		if st := w.Stats(); c.said().pauses != 1 || c.said().resumes != 0 || st.SpoolBytes > 256<<10 || st.SpoolBytes < 128<<10 || st.Held > 66<<10 {
			t.Errorf("got %d pauses, %d resumes and %+v after %d messages", c.said().pauses, c.said().resumes, st, n)
		}
		if len(c.said().reports) != 2 || !slices.ContainsFunc(c.said().reports, func(err error) bool { return errors.Is(err, spool.ErrFull) }) {
			t.Errorf("got the reports %v, want the outage and ErrFull", c.said().reports)
		}
		log.SetAway(false)
		time.Sleep(time.Minute)
		if st := w.Stats(); c.said().resumes != 1 || st.Held > 0 || st.SpoolBytes > 0 || st.Messages != n {
			t.Errorf("got %d resumes and %+v, want all %d messages in the log", c.said().resumes, st, n)
		}
		closeWriter(t, w)
		if got := only(t, log); got.next != n+1 || len(got.lost) > 0 {
			t.Errorf("got %+v", got)
		}
	})
}

// TestWriter_aKillWithASpool loses what was in memory alone: the newest, which the publishers have kept.
func TestWriter_aKillWithASpool(t *testing.T) {
	for _, missing := range []int{0, 1, 5000} { // bytes of the segment that was written
		synctest.Test(t, func(t *testing.T) {
			log, d := memlog.New(limit, nil), memdisk.New()
			w, _ := open(t, log, withSpool(t, d, 8<<20))
			settle(w, alice, 1, 0, 0)
			give(w, 1, 100)
			log.SetAway(true)
			give(w, 101, 20_000)
			time.Sleep(time.Second)
			spooled := w.Stats().Spooled
			d = d.Kill(missing)
			kill(w, log)

			log = log.Reopen(nil)
			w, _ = open(t, log, withSpool(t, d, 8<<20))
			give(w, 20_001-5000, 20_100) // the cache of the publisher, and new ones
			settle(w, alice, 1, 20_001-5001, 20_100)
			closeWriter(t, w)
			got := only(t, log)
			if got.next != 20_101 || len(got.lost) > 0 {
				t.Errorf("got %+v, want all of 20100 messages, of which %d were in the spool", got, spooled)
			}
			if st := w.Stats(); st.Messages < spooled-1000 || st.Passed == 0 {
				t.Errorf("got %+v, want %d and more of the spool", st, spooled)
			}
		})
	}
}

// TestWriter_Close_leavesTheRestInTheSpool while the log is away, and the next bridge goes on with it.
func TestWriter_Close_leavesTheRestInTheSpool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, d := memlog.New(limit, nil), memdisk.New()
		w, _ := open(t, log, withSpool(t, d, 8<<20))
		settle(w, alice, 1, 0, 0)
		give(w, 1, 100)
		log.SetAway(true)
		give(w, 101, 200) // little, which no spool was needed for
		err := closeNow(w)
		var unwritten *writer.UnwrittenError
		if !errors.As(err, &unwritten) || unwritten.Messages != 0 || unwritten.Spooled != 100 || unwritten.Spool != "memdisk" {
			t.Errorf("got %v, want 100 messages in the spool", err)
		}
		log = log.Reopen(nil)
		w, _ = open(t, log, withSpool(t, d, 8<<20))
		give(w, 201, 300)
		settle(w, alice, 1, 200, 300)
		w.End(alice.Instance, record.Goodbye, time.Now(), "")
		closeWriter(t, w)
		if got := only(t, log); got.next != 301 || len(got.lost) > 0 || got.end != record.Goodbye || got.kinds != "bmeme" {
			t.Errorf("got %+v, want 300 messages in one chain", got)
		}
		if files, _ := d.Files(); files > 0 {
			t.Errorf("got %d files, want none", files)
		}
	})
}

// TestWriter_aSpoolWithoutItsPublishers: what they had published is in the log, and their end is unknown.
func TestWriter_aSpoolWithoutItsPublishers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, d := memlog.New(limit, nil), memdisk.New()
		w, _ := open(t, log, withSpool(t, d, 8<<20))
		log.SetAway(true) // before anything of the chain is in it
		settle(w, alice, 1, 0, 0)
		give(w, 1, 10_000)
		if err := closeNow(w); err == nil {
			t.Error("got nil, want what is not in the log")
		}
		log = log.Reopen(nil)
		w, _ = open(t, log, withSpool(t, d, 8<<20))
		w.EndAway(time.Now())
		time.Sleep(time.Minute)
		closeWriter(t, w)
		if got := only(t, log); got.begin != 1 || got.next != 10_001 || len(got.lost) > 0 || got.end != record.Away {
			t.Errorf("got %+v, want 10000 messages and an unknown end", got)
		}
	})
}
