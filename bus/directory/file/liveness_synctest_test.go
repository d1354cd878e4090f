// SPDX-License-Identifier: Apache-2.0

//go:build linux

package file_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/directory/file"
)

// The tests in this file run on fake time and real files, without notifications,
// whose goroutine would wait outside the bubble.
var polled = file.Config{PollOnly: true}

// watchTimes returns a log of events with their times since the start.
func watchTimes(t *testing.T, d *file.Directory) func() []string {
	t.Helper()
	start := time.Now()
	var mu sync.Mutex
	var log []string
	if _, err := d.Watch(func(e directory.Event) {
		mu.Lock()
		defer mu.Unlock()
		log = append(log, time.Since(start).String()+" "+e.String())
	}); err != nil {
		t.Fatal(err)
	}
	return func() []string {
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		result := log
		log = nil
		return result
	}
}

func wantLog(t *testing.T, got []string, want ...string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("got events %q, want %q", got, want)
	}
	for i := range got {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("got event %q, want %q...", got[i], want[i])
		}
	}
}

// foreign writes the file of a publisher that may or may not live: no process here can see it.
func foreign(t *testing.T, folder, instance string, beat time.Duration, count uint64) {
	t.Helper()
	data, err := file.Encode(entry(instance, 1), 1, beat, file.Process{}, count)
	if err != nil {
		t.Fatal(err)
	}
	write(t, folder, instance+".jsonl", data)
}

func TestDirectory_announcedEntryNeverExpires(t *testing.T) {
	folder := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		publisher, subscriber := open(t, folder, polled), open(t, folder, polled)
		announce(t, publisher, entry("a", 1))
		log := watchTimes(t, subscriber)
		wantLog(t, log(), "0s appeared a")
		time.Sleep(time.Hour)
		wantLog(t, log())
	})
}

func TestDirectory_silentEntryExpires(t *testing.T) {
	folder := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		foreign(t, folder, "a", time.Second, 1)
		log := watchTimes(t, open(t, folder, polled))
		time.Sleep(2100 * time.Millisecond)
		foreign(t, folder, "a", time.Second, 2) // seen at 2.5s
		time.Sleep(20 * time.Second)
		wantLog(t, log(), "0s appeared a", "8s gone a (felix-07): directory: entry not renewed in time")
		foreign(t, folder, "a", time.Second, 3)
		time.Sleep(time.Second)
		wantLog(t, log(), "22.5s appeared a")
	})
}

func TestDirectory_waitsForSlowBeats(t *testing.T) {
	folder := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		foreign(t, folder, "a", 10*time.Second, 1)
		log := watchTimes(t, open(t, folder, polled))
		time.Sleep(29 * time.Second)
		wantLog(t, log(), "0s appeared a")
		time.Sleep(2 * time.Second)
		wantLog(t, log(), "30.5s gone a (felix-07): directory: entry not renewed in time")
	})
}

func TestDirectory_timeWithoutALookDoesNotCount(t *testing.T) {
	folder := t.TempDir()
	config := polled
	config.Poll = time.Second
	synctest.Test(t, func(t *testing.T) {
		foreign(t, folder, "a", time.Second, 1)
		d := open(t, folder, config)
		for range 2 { // looks an hour apart, as of a reader that was stopped together with the publisher
			if entries, err := d.List(); err != nil || len(entries) != 1 {
				t.Fatalf("got %v, %v, want the entry", entries, err)
			}
			time.Sleep(time.Hour)
		}
	})
}

func TestDirectory_withdrawnEntryIsGoneAtTheNextLook(t *testing.T) {
	folder := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		publisher := open(t, folder, polled)
		a := announce(t, publisher, entry("a", 1))
		log := watchTimes(t, open(t, folder, polled))
		time.Sleep(200 * time.Millisecond)
		if err := a.Withdraw(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		got := log()
		wantLog(t, got, "0s appeared a", "500ms gone a (felix-07)")
		if strings.Contains(got[1], "directory:") {
			t.Errorf("got event %q, want one without an error", got[1])
		}
	})
}

func TestDirectory_crashWithoutWithdraw(t *testing.T) {
	folder := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		publisher := open(t, folder, polled)
		announce(t, publisher, entry("a", 1))
		log := watchTimes(t, open(t, folder, polled))
		time.Sleep(100 * time.Millisecond)
		publisher.Crash() // this process lives on, so only the silence tells
		time.Sleep(10 * time.Second)
		wantLog(t, log(), "0s appeared a", "5.5s gone a (felix-07): directory: entry not renewed in time")
	})
}

func TestDirectory_damagedFileKeepsTheEntryUntilItExpires(t *testing.T) {
	folder := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		foreign(t, folder, "a", time.Second, 1)
		log := watchTimes(t, open(t, folder, polled))
		time.Sleep(900 * time.Millisecond)
		write(t, folder, "a.jsonl", []byte("random"))
		time.Sleep(3 * time.Second)
		got := log()
		wantLog(t, got, "0s appeared a", "1s problem a")
		if !strings.Contains(got[1], file.ErrDamaged.Error()) || !strings.Contains(got[1], "remove the file") {
			t.Errorf("got %q, want what is wrong and what to do", got[1])
		}
		write(t, folder, "a.jsonl", []byte("random bytes of another kind"))
		time.Sleep(time.Hour)
		wantLog(t, log(), "5.5s gone a")
		foreign(t, folder, "a", time.Second, 2)
		time.Sleep(time.Second)
		wantLog(t, log(), "1h0m4s appeared a")
	})
}

func TestDirectory_folderComesBack(t *testing.T) {
	parent := t.TempDir()
	folder := filepath.Join(parent, "bus")
	synctest.Test(t, func(t *testing.T) {
		publisher, subscriber := open(t, folder, polled), open(t, folder, polled)
		announce(t, publisher, entry("a", 1))
		foreign(t, folder, "b", time.Second, 1)
		log := watchTimes(t, subscriber)
		wantLog(t, log(), "0s appeared a", "0s appeared b")
		time.Sleep(100 * time.Millisecond)
		if err := os.RemoveAll(folder); err != nil {
			t.Fatal(err)
		}
		time.Sleep(600 * time.Millisecond)
		got := log()
		wantLog(t, got, "500ms problem")
		if !strings.Contains(got[0], file.ErrVanished.Error()) {
			t.Errorf("got %q, want that the folder is missing", got[0])
		}
		time.Sleep(time.Second) // the publisher's next beat makes the folder again
		wantLog(t, log())       // b may live until it expires
		if entries, err := subscriber.List(); err != nil || len(entries) != 2 {
			t.Errorf("got %v, %v, want both entries and no problem", entries, err)
		}
		time.Sleep(time.Minute)
		wantLog(t, log(), "5.5s gone b (felix-07): directory: entry not renewed in time")
	})
}

func TestDirectory_writeErrorsAreReportedAndRetried(t *testing.T) {
	folder := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		full := errors.New("no space left on device")
		var isFull atomic.Bool
		problems := make(chan error, 100)
		config := polled.WithFaults(func(step string) error {
			if step == "write" && isFull.Load() {
				return full
			}
			return nil
		})
		config.OnProblem = func(err error) { problems <- err }
		publisher := open(t, folder, config)
		a := announce(t, publisher, entry("a", 1))
		log := watchTimes(t, open(t, folder, polled))
		isFull.Store(true)
		if err := a.Update(entry("a", 2)); !errors.Is(err, file.ErrUnwritable) || !errors.Is(err, full) {
			t.Errorf("got %v from Update, want ErrUnwritable and its cause", err)
		}
		time.Sleep(time.Minute) // the old entry lives on a full disk
		wantLog(t, log(), "0s appeared a")
		if len(problems) != 1 || !errors.Is(<-problems, full) {
			t.Errorf("got %d more problems, want the one, once", len(problems))
		}
		time.Sleep(100 * time.Millisecond)
		isFull.Store(false)
		time.Sleep(2 * time.Second)
		wantLog(t, log(), "1m1") // the beat at 1m1s, the look at the same time or the next
		if entries, err := publisher.List(); err != nil || len(entries) != 1 || !entries[0].Equal(entry("a", 2)) {
			t.Errorf("got %v, %v, want the updated entry and no problem", entries, err)
		}
	})
}
