// SPDX-License-Identifier: Apache-2.0

//go:build linux

package file_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestDirectory_reportsAMissingFolderAgainAndAgain(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "bus")
	synctest.Test(t, func(t *testing.T) {
		log := watchTimes(t, open(t, folder, polled))
		time.Sleep(time.Hour)
		got := log()
		wantLog(t, got,
			"0s problem", "10s problem", "30s problem", "1m10s problem", "2m30s problem", "5m10s problem",
			"10m30s problem", "20m30s problem", "30m30s problem", "40m30s problem", "50m30s problem")
		for i, missing := range []string{"is missing", "is missing, for 10s", "is missing, for 30s"} {
			want := fmt.Sprintf("directory/file: %s: directory %s: start a publisher or a receiver with the same folder, or check the path; it is looked for again", folder, missing)
			if !strings.HasSuffix(got[i], want) {
				t.Errorf("got %q, want %q", got[i], want)
			}
		}
		if _, err := os.Stat(folder); !os.IsNotExist(err) {
			t.Errorf("got %v, want that the watcher has not made the folder", err)
		}

		announce(t, open(t, folder, polled), entry("a", 1))
		time.Sleep(time.Second)
		got = log()
		if len(got) != 1 || !strings.Contains(got[0], "appeared a") {
			t.Errorf("got %q, want that a has appeared", got)
		}

		if err := os.RemoveAll(folder); err != nil { // the publisher makes it again with its next beat
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		for _, line := range log() {
			if !strings.Contains(line, "directory is missing: ") {
				t.Errorf("got %q, want that the time begins anew", line)
			}
		}
	})
}

// A program that announces something makes the folder, and its own watchers need not
// wait for the next look.
func TestDirectory_theFolderIsThereAtOnceForWhoMakesIt(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "bus")
	synctest.Test(t, func(t *testing.T) {
		d := open(t, folder, polled)
		log := watchTimes(t, d)
		time.Sleep(100 * time.Millisecond)
		announce(t, d, entry("a", 1))
		synctest.Wait()
		wantLog(t, log(), "0s problem", "100ms appeared a")
	})
}
