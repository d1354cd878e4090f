// SPDX-License-Identifier: Apache-2.0

package writer_test

import (
	"errors"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bridge/internal/memlog"
	"tagbus/bridge/internal/spool/memdisk"
	"tagbus/bridge/internal/writer"
	"tagbus/bridge/record"
)

// TestWriter_aDiskThatIsFull is told once, and the writer goes on without it. So for one that is broken.
func TestWriter_aDiskThatIsFull(t *testing.T) {
	for _, broken := range []error{syscall.ENOSPC, syscall.EIO} {
		synctest.Test(t, func(t *testing.T) {
			log, d := memlog.New(limit, nil), memdisk.New()
			w, c := open(t, log, withSpool(t, d, 8<<20))
			settle(w, alice, 1, 0, 0)
			give(w, 1, 100)
			log.SetAway(true)
			d.FailWrites(broken, 30<<10) // in the middle of a record
			n := uint64(100)
			for c.said().pauses == 0 && n < 1e6 {
				give(w, n+1, n+100)
				n += 100
			}
			time.Sleep(time.Minute)
			told := 0
			for _, err := range c.said().reports {
				if errors.Is(err, broken) {
					told++
				}
			}
			if c.said().pauses != 1 || told != 1 {
				t.Errorf("got %d pauses and the reports %v, want one of each", c.said().pauses, c.said().reports)
			}
			d.FailWrites(nil, 0) // there is room again
			time.Sleep(time.Minute)
			if c.said().resumes != 1 || w.Stats().SpoolBytes < 40<<10 {
				t.Errorf("got %d resumes and %+v, want the spool to be used again", c.said().resumes, w.Stats())
			}
			log.SetAway(false)
			time.Sleep(time.Minute)
			closeWriter(t, w)
			if got := only(t, log); got.next != n+1 || len(got.lost) > 0 {
				t.Errorf("got %+v, want all of %d messages", got, n)
			}
		})
	}
}

// TestWriter_aSpoolThatCannotBeRead is lost by name, and set aside for people.
func TestWriter_aSpoolThatCannotBeRead(t *testing.T) {
	for name, harm := range map[string]func(*memdisk.Disk){
		"a damaged block": func(d *memdisk.Disk) { d.Damage(0.5) },
		"nothing":         func(d *memdisk.Disk) { d.FailReads(syscall.EIO) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log, d := memlog.New(limit, nil), memdisk.New()
				w, c := open(t, log, withSpool(t, d, 2<<20))
				settle(w, alice, 1, 0, 0)
				give(w, 1, 100)
				log.SetAway(true)
				give(w, 101, 40_000)
				time.Sleep(time.Second)
				harm(d)
				log.SetAway(false)
				time.Sleep(time.Minute)
				give(w, 40_001, 40_100)
				d.FailReads(nil)
				closeWriter(t, w)
				got := only(t, log)
				if got.next != 40_101 || got.causes[record.CauseSpool] == 0 || got.causes[record.CauseSpool] != uint64(len(got.lost)) || len(c.said().reports) < 2 {
					t.Errorf("got %d lost of %d, %v and the reports %v, want some of the spool", len(got.lost), got.next, got.causes, c.said().reports)
				}
				if files, aside := d.Files(); files > 0 || aside == 0 {
					t.Errorf("got %d files and %d set aside, want the damaged ones set aside", files, aside)
				}
			})
		})
	}
}

// TestWriter_aDiskThatHangs while it is written is told, and the writer goes on. What it took late is in the log once.
func TestWriter_aDiskThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, d := memlog.New(limit, nil), memdisk.New()
		w, c := open(t, log, withSpool(t, d, 8<<20))
		settle(w, alice, 1, 0, 0)
		give(w, 1, 100)
		log.SetAway(true)
		release := d.Hang()
		defer release()
		n := uint64(100)
		for c.said().pauses == 0 && n < 1e6 {
			give(w, n+1, n+100)
			n += 100
		}
		time.Sleep(time.Hour)
		var silent *writer.SpoolSilentError
		if !slices.ContainsFunc(c.said().reports, func(err error) bool { return errors.As(err, &silent) }) || silent.Lost || silent.Patience != patience {
			t.Errorf("got the reports %v, want a *SpoolSilentError", c.said().reports)
		}
		release()
		time.Sleep(time.Minute)
		if c.said().resumes != 1 {
			t.Errorf("got %d resumes, want 1 when the disk answers", c.said().resumes)
		}
		log.SetAway(false)
		give(w, n+1, n+100)
		closeWriter(t, w)
		if got := only(t, log); got.next != n+101 || len(got.lost) > 0 {
			t.Errorf("got %+v, want all of %d messages", got, n+100)
		}
	})
}

// TestWriter_aDiskThatHangsWithMessages while it is read: they are lost by name after a bounded time, and their files stay.
func TestWriter_aDiskThatHangsWithMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, d := memlog.New(limit, nil), memdisk.New()
		w, c := open(t, log, withSpool(t, d, 8<<20))
		settle(w, alice, 1, 0, 0)
		give(w, 1, 100)
		log.SetAway(true)
		give(w, 101, 40_000)
		time.Sleep(time.Second)
		release := d.Hang()
		defer release()
		log.SetAway(false)
		time.Sleep(2 * time.Minute)
		give(w, 40_001, 40_100)
		began := time.Now()
		closeWriter(t, w)
		var silent *writer.SpoolSilentError
		if !slices.ContainsFunc(c.said().reports, func(err error) bool { return errors.As(err, &silent) && silent.Lost }) || time.Since(began) > time.Minute {
			t.Errorf("got the reports %v, and an end after %v, want a *SpoolSilentError soon", c.said().reports, time.Since(began))
		}
		got := only(t, log)
		if got.next != 40_101 || got.causes[record.CauseSpool] == 0 || got.causes[record.CauseSpool] != uint64(len(got.lost)) {
			t.Errorf("got %d lost of %d, %v, want some of the spool", len(got.lost), got.next, got.causes)
		}
		if files, _ := d.Files(); files == 0 {
			t.Error("got no files, want them to stay")
		}
		release()
		synctest.Wait()
		// The next bridge finds them covered.
		w, _ = open(t, log, withSpool(t, d, 8<<20))
		time.Sleep(time.Minute)
		closeWriter(t, w)
		only(t, log)
		if files, _ := d.Files(); files > 0 {
			t.Errorf("got %d files, want none", files)
		}
	})
}
