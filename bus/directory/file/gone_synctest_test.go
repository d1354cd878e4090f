// SPDX-License-Identifier: Apache-2.0

//go:build linux

package file_test

import (
	"errors"
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

	"tagbus/bus/directory"
	"tagbus/bus/directory/file"
)

// brisk removes what is left behind after a minute.
var brisk = file.Config{PollOnly: true, CollectAfter: time.Minute}

// names returns those of the files in a folder.
func names(t *testing.T, folder string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

// written sets when a file was written, by the clock of the file system.
func written(t *testing.T, folder, name string, at time.Time) {
	t.Helper()
	if err := os.Chtimes(filepath.Join(folder, name), at, at); err != nil {
		t.Fatal(err)
	}
}

// What a program of another container left behind goes when it has been silent for long,
// removed by a directory that is watched, and by one that only announces something.
func TestDirectory_removesASilentFile(t *testing.T) {
	for name, watches := range map[string]bool{"by a watcher": true, "by a publisher": false} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				foreign(t, folder, "a", time.Second, 1)
				foreign(t, folder, "slow", time.Hour, 1) // has three hours
				d := open(t, folder, brisk)
				log := func() []string { return nil }
				if watches {
					log = watchTimes(t, d)
				}
				announce(t, d, entry("own", 2))
				time.Sleep(time.Minute)
				if got := names(t, folder); !slices.Contains(got, "a.jsonl") {
					t.Errorf("after 1m: got %q", got)
				}
				time.Sleep(2 * time.Minute)
				if got := names(t, folder); !slices.Equal(got, []string{"own.jsonl", "slow.jsonl"}) {
					t.Errorf("after 3m: got %q, want a to be removed", got)
				}
				if watches {
					others := slices.DeleteFunc(log(), func(line string) bool { return strings.Contains(line, " appeared own ") }) // at once, or at the next look
					wantLog(t, others, "0s appeared a", "0s appeared slow", "5.5s gone a")
				}
			})
		})
	}
}

// A program that lives and was silent for long writes its file again. From then on this
// reader, which may be the one that saw its beats too late, does not remove it.
func TestDirectory_leavesAFileThatComesBackAlone(t *testing.T) {
	folder := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		publisher := open(t, folder, file.Config{PollOnly: true, Beat: time.Hour})
		a := announce(t, publisher, entry("a", 1))
		foreign(t, folder, "a", time.Second, 1) // it says so, and beats once an hour
		log := watchTimes(t, open(t, folder, brisk))
		time.Sleep(2*time.Minute + 100*time.Millisecond) // between two looks
		if got := names(t, folder); len(got) > 0 {
			t.Errorf("got %q, want none", got)
		}
		publisher.Beat()
		foreign(t, folder, "a", time.Second, 2) // as before
		time.Sleep(3 * time.Minute)
		if got := names(t, folder); !slices.Equal(got, []string{"a.jsonl"}) {
			t.Errorf("got %q, want the file that came back", got)
		}
		wantLog(t, log(), "0s appeared a", "5.5s gone a", "2m0.5s appeared a", "2m6s gone a")
		if err := a.Withdraw(); err != nil {
			t.Fatal(err)
		}
	})
}

// A reader that was stopped, perhaps together with the publishers, removes nothing for it.
func TestDirectory_aReaderThatWasStoppedRemovesNothing(t *testing.T) {
	folder := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		foreign(t, folder, "a", time.Second, 1)
		d := open(t, folder, polled)
		for range 2 {
			if _, err := d.List(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(24 * time.Hour)
		}
		if got := names(t, folder); len(got) != 1 {
			t.Errorf("got %q, want the file", got)
		}
	})
}

// Files that this user may not remove are told together, and count for no limit.
func TestDirectory_filesThatCannotBeRemoved(t *testing.T) {
	folder := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		for i := range 12 {
			foreign(t, folder, fmt.Sprintf("left%02d", i), time.Second, 1)
		}
		config := brisk.WithFaults(func(step string) error {
			if step == "remove" {
				return syscall.EPERM // a sticky folder
			}
			return nil
		})
		config.MaxFiles = 12
		d := open(t, folder, config)
		log := watchTimes(t, d)
		time.Sleep(5 * time.Minute)
		if _, err := d.List(); !errors.Is(err, file.ErrLeftBehind) || !errors.Is(err, syscall.EPERM) {
			t.Errorf("got %v, want ErrLeftBehind and EPERM", err)
		}
		foreign(t, folder, "new", time.Second, 1)
		time.Sleep(time.Second)
		got := log()
		problems := slices.DeleteFunc(slices.Clone(got), func(s string) bool { return !strings.Contains(s, "problem") })
		want := "directory/file: " + folder + ": left behind by a publisher that is gone: 8 or more files *.jsonl, which this user cannot remove: operation not permitted: remove those"
		if len(problems) != 1 || !strings.Contains(problems[0], want) {
			t.Errorf("got %q, want one problem with %q", problems, want)
		}
		if last := got[len(got)-1]; !strings.Contains(last, "appeared new") {
			t.Errorf("got %q at last, want that new appears", last)
		}
	})
}

// Thousands of files of killed containers do not hide a new publisher, and one behind the
// limit is found when they have expired. That there are too many is told, to publishers too,
// and is over then.
func TestDirectory_theGoneDoNotCount(t *testing.T) {
	folder := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		for i := range 30 {
			name := fmt.Sprintf("left%02d", i)
			foreign(t, folder, name, time.Second, 1)
			written(t, folder, name+".jsonl", time.Now().Add(-time.Minute))
		}
		foreign(t, folder, "new", time.Second, 1)
		written(t, folder, "new.jsonl", time.Now())
		config := polled
		config.MaxFiles = 10
		d := open(t, folder, config)
		log := watchTimes(t, d)
		got := log()
		problem := fmt.Sprint("0s problem: directory/file: ", folder, ": too many files: more than 10 entries of programs that may live: some are not found: remove what is not the bus's, use a folder for each part of the bus, or raise --max-entries of all programs (MaxFiles in file.Config)")
		if len(got) != 11 || !strings.HasPrefix(got[9], "0s appeared new") || got[10] != problem {
			t.Fatalf("got %q, want 10 entries with new, and %q", got, problem)
		}
		reg := announce(t, d, entry("own", 2))
		var told []string
		reg.(directory.Reporter).OnProblem(func(err error) {
			told = append(told, fmt.Sprint(errors.Is(err, file.ErrTooManyFiles), errors.Is(err, directory.ErrCrowded)))
		})
		time.Sleep(30 * time.Second)
		if got := strings.Join(log(), "\n"); !strings.Contains(got, "appeared own") || strings.Count(got, "appeared left") != 21 {
			t.Errorf("got %s, want that own and the others appear", got)
		}
		if _, err := d.List(); err != nil {
			t.Errorf("got %v, want that it is over", err)
		}
		synctest.Wait()
		if want := []string{"true true", "false false"}; !slices.Equal(told, want) {
			t.Errorf("the publisher was told %q, want %q", told, want)
		}
	})
}

// A file that was written long before the last one of the folder is of the dead at first
// sight. It appears when it beats. Times in the future do not count.
func TestDirectory_doesNotSeeAFileThatWasLeftAsAlive(t *testing.T) {
	for name, test := range map[string]struct {
		newest time.Duration // after now
		want   []string
	}{
		"by the last one":               {0, []string{"new", "slow"}},
		"but not by one of the future":  {time.Hour, []string{"left", "new", "slow"}},
		"nor by one from the same time": {-time.Hour, []string{"left", "new", "slow"}},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				foreign(t, folder, "left", time.Second, 1)
				foreign(t, folder, "slow", time.Hour, 1)
				foreign(t, folder, "new", time.Second, 1)
				for _, name := range []string{"left", "slow"} {
					written(t, folder, name+".jsonl", time.Now().Add(-time.Hour))
				}
				written(t, folder, "new.jsonl", time.Now().Add(test.newest))
				d := open(t, folder, polled)
				entries, err := d.List()
				var got []string
				for _, e := range entries {
					got = append(got, e.Instance)
				}
				if err != nil || !slices.Equal(got, test.want) {
					t.Errorf("got %q, %v, want %q", got, err, test.want)
				}
				foreign(t, folder, "left", time.Second, 2)
				if entries, err := d.List(); err != nil || len(entries) != 3 {
					t.Errorf("got %d entries, %v, want all three", len(entries), err)
				}
			})
		})
	}
}

// What is half written goes after a while, whatever its time says.
func TestDirectory_halfWrittenFilesGo(t *testing.T) {
	folder := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		for _, name := range []string{".a.tmp", ".tagbus-check-1234.tmp"} {
			write(t, folder, name, []byte("{"))
			written(t, folder, name, time.Now().Add(1000*time.Hour))
		}
		watchTimes(t, open(t, folder, brisk))
		time.Sleep(50 * time.Second)
		if got := names(t, folder); len(got) != 2 {
			t.Errorf("got %q, want both", got)
		}
		time.Sleep(20 * time.Second)
		if got := names(t, folder); len(got) > 0 {
			t.Errorf("got %q, want none", got)
		}
	})
}

// Many files of the gone cost little: they are not opened in each look.
func TestDirectory_doesNotReadFilesOfTheGoneAllTheTime(t *testing.T) {
	folder := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		const n = 20
		for i := range n {
			foreign(t, folder, fmt.Sprintf("left%02d", i), time.Second, 1)
		}
		var reads atomic.Int64
		config := file.Config{CollectAfter: 24 * time.Hour, PollOnly: true}.WithFaults(func(step string) error {
			if step == "read" {
				reads.Add(1)
			}
			return nil
		})
		watchTimes(t, open(t, folder, config))
		time.Sleep(time.Minute)
		reads.Store(0)
		time.Sleep(time.Minute)
		if got := reads.Load(); got > 7*n {
			t.Errorf("got %d reads of %d files in a minute of 120 looks, want one in 10 s", got, n)
		}
	})
}
