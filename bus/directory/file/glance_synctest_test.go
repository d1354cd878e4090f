// SPDX-License-Identifier: Apache-2.0

//go:build linux

package file_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/tags"
)

// beats writes the file of a foreign publisher each second, with the time of the bubble.
func beats(t *testing.T, folder, instance string, from, to uint64) {
	t.Helper()
	for count := from; count <= to; count++ {
		foreign(t, folder, instance, time.Second, count)
		touch(t, folder, instance)
		time.Sleep(time.Second)
	}
}

// touch sets the times of a file to that of the bubble.
func touch(t *testing.T, folder, instance string) {
	t.Helper()
	if err := os.Chtimes(filepath.Join(folder, instance+".jsonl"), time.Now(), time.Now()); err != nil {
		t.Fatal(err)
	}
}

// While nothing happens except beats, the files are not read each Poll. One that is silent
// is Gone as soon as if they were.
func TestDirectory_readsFilesSeldom(t *testing.T) {
	folder := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		var reads atomic.Int64
		d := open(t, folder, polled.WithFaults(func(step string) error {
			if step == "read" {
				reads.Add(1)
			}
			return nil
		}))
		foreign(t, folder, "a", time.Second, 1)
		touch(t, folder, "a")
		log := watchTimes(t, d)
		time.Sleep(250 * time.Millisecond) // between two looks: a file that is half written is damaged
		beats(t, folder, "a", 2, 121)      // the last one at 119.25s, seen at 119.5s
		wantLog(t, log(), "0s appeared a")
		if n := reads.Load(); n < 5 || n > 40 {
			t.Errorf("got %d reads in two minutes of looks each 500ms, want 5 to 40", n)
		}
		time.Sleep(20 * time.Second)
		wantLog(t, log(), "2m5s gone a (felix-07): directory: entry not renewed in time")
	})
}

// A file that is written, and whose beat stays the same, is of no publisher that lives.
func TestDirectory_timesOfFilesAreNoBeats(t *testing.T) {
	folder := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		foreign(t, folder, "a", time.Second, 1)
		log := watchTimes(t, open(t, folder, polled))
		for range 30 {
			time.Sleep(time.Second)
			touch(t, folder, "a")
		}
		got := log()
		if len(got) != 2 {
			t.Fatalf("got %q, want that a appears and is gone", got)
		}
		text, _, _ := strings.Cut(got[1], " gone a ")
		if at, err := time.ParseDuration(text); err != nil || at < 5*time.Second || at > 15*time.Second {
			t.Errorf("got %q, want that it is gone within three times the expiry", got[1])
		}
	})
}

// An entry that is updated while only its times would show it is seen at the next look.
func TestDirectory_seesAnUpdateBetweenBeats(t *testing.T) {
	folder := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		publisher := open(t, folder, polled)
		a := announce(t, publisher, entry("a", 1))
		log := watchTimes(t, open(t, folder, polled))
		time.Sleep(60 * time.Second)
		wantLog(t, log(), "0s appeared a")
		for i := range 20 {
			if err := a.Update(entry("a", tags.Tag(2+i))); err != nil {
				t.Fatal(err)
			}
			time.Sleep(1100 * time.Millisecond)
			if got := log(); len(got) != 1 {
				t.Fatalf("update %d: got %q, want one change", i, got)
			}
		}
	})
}
