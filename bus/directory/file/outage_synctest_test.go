// SPDX-License-Identifier: Apache-2.0

//go:build linux

package file_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// A folder that cannot be read for long says nothing about those whose files are in it: they
// may have been silent for the same reason. Their files stay when it can be read again.
func TestDirectory_anOutageIsNoSilence(t *testing.T) {
	around := t.TempDir()
	folder, away := filepath.Join(around, "bus"), filepath.Join(around, "away")
	mkdir(t, folder)
	rename := func(from, to string) {
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		foreign(t, folder, "a", time.Second, 1)
		log := watchTimes(t, open(t, folder, brisk))
		time.Sleep(time.Second)
		rename(folder, away)
		write(t, around, "bus", nil) // no folder: an error of each look
		time.Sleep(10 * time.Minute)
		if err := os.Remove(folder); err != nil {
			t.Fatal(err)
		}
		rename(away, folder)
		time.Sleep(30 * time.Second)
		if got := names(t, folder); !slices.Equal(got, []string{"a.jsonl"}) {
			t.Errorf("got %q, want the file", got)
		}
		foreign(t, folder, "a", time.Second, 2)
		time.Sleep(time.Second)
		got := log()
		// A look may be at the instant of the beat, and before or behind it.
		if last := got[len(got)-1]; !strings.HasPrefix(last, "10m3") || !strings.HasSuffix(last, "s appeared a (felix-07)") {
			t.Errorf("got %q, want that it appears with its next beat", got)
		}
		time.Sleep(2 * time.Minute)
		if got := names(t, folder); len(got) != 0 {
			t.Errorf("got %q, want that silence while the folder can be read counts", got)
		}
	})
}

// Nor does a file that cannot be read.
func TestDirectory_aFileThatCannotBeReadIsNotSilent(t *testing.T) {
	folder := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		foreign(t, folder, "a", time.Second, 1)
		var fails atomic.Bool
		watchTimes(t, open(t, folder, brisk.WithFaults(func(step string) error {
			if step == "read" && fails.Load() {
				return syscall.ESTALE
			}
			return nil
		})))
		fails.Store(true)
		time.Sleep(10 * time.Minute)
		fails.Store(false)
		time.Sleep(30 * time.Second)
		if got := names(t, folder); !slices.Equal(got, []string{"a.jsonl"}) {
			t.Errorf("got %q, want the file", got)
		}
	})
}

// Where a file system does not say with its names what is a file, each name costs a call: a
// few names make a step, so that a slow folder is not taken for one that hangs.
func TestDirectory_List_aStepListsFewNames(t *testing.T) {
	folder := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		for i := range 300 {
			write(t, folder, fmt.Sprint("other", i), nil)
		}
		var steps atomic.Int64
		d := open(t, folder, polled.WithPauses(func(step string) {
			if step == "list" {
				steps.Add(1)
			}
		}))
		if _, err := d.List(); err != nil {
			t.Fatal(err)
		}
		if got := steps.Load(); got < 300/16 {
			t.Errorf("got %d steps for 300 names, want one for 16 of them", got)
		}
	})
}

// Two that close the directory have the same answer.
func TestDirectory_Close_twoWhileTheFileSystemIsAway(t *testing.T) {
	folder := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		var s server
		d := open(t, folder, polled.WithPauses(s.pause))
		r := announce(t, d, entry("a", 1))
		s.goes("")
		defer s.comes()
		_ = r.Withdraw() // hangs: Close has nothing to add
		errs := make(chan error)
		for range 2 {
			go func() { errs <- d.Close() }()
		}
		for range 2 {
			if err := <-errs; err != nil {
				t.Errorf("got %v, want nil", err)
			}
		}
	})
}
