// SPDX-License-Identifier: Apache-2.0

//go:build linux

package file_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/directory/file"
	"tagbus/tags"
)

// TestDirectory_everyStepOfWritingMayFail fails the first call into the system, then the
// second and so on, until announcing, updating, beating and withdrawing pass
// unharmed. After each failure the old entry or the new one is there, and the
// next beat repairs what is to be repaired.
func TestDirectory_everyStepOfWritingMayFail(t *testing.T) {
	broken := errors.New("broken")
	for failAt := 1; ; failAt++ {
		if failAt > 100 {
			t.Fatal("got 100 failures, want a run that passes unharmed before")
		}
		calls, failed := 0, ""
		config := manual.WithFaults(func(step string) error {
			if step == "read" { // the other goroutine looks for what dead publishers left
				return nil
			}
			if calls++; calls == failAt {
				failed = step
				return broken
			}
			return nil
		})
		passed := t.Run(fmt.Sprintf("call %d fails", failAt), func(t *testing.T) {
			folder := t.TempDir()
			config.OnProblem = func(error) {}
			d, reader := open(t, folder, config), open(t, folder, manual)
			list := func() []directory.Entry {
				entries, err := reader.List()
				if err != nil {
					t.Errorf("got problem %v after %q failed, want only whole files", err, failed)
				}
				return entries
			}
			check := func(what string, err error) {
				if err != nil && !errors.Is(err, broken) || err == nil && failed == "rename" && calls == failAt {
					t.Errorf("got %v from %s, want nil or what broke", err, what)
				}
			}
			a, err := d.Announce(entry("a", 1))
			check("Announce", err)
			if err != nil {
				if n := len(list()); n != 0 {
					t.Errorf("got %d entries after Announce failed, want none", n)
				}
				if a, err = d.Announce(entry("a", 1)); err != nil {
					t.Fatalf("got %v from the second Announce, want nil", err)
				}
			}
			check("Update", a.Update(entry("a", 2)))
			if got := list(); len(got) != 1 || !got[0].Equal(entry("a", 1)) && !got[0].Equal(entry("a", 2)) {
				t.Errorf("got %v after Update, want the old entry or the new one", got)
			}
			d.Beat()
			d.Beat()
			if got := list(); len(got) != 1 || !got[0].Equal(entry("a", 2)) {
				t.Errorf("got %v after the next beats, want the new entry", got)
			}
			if err := a.Withdraw(); err != nil {
				check("Withdraw", err)
				if err := a.Withdraw(); err != nil {
					t.Errorf("got %v from the second Withdraw, want nil", err)
				}
			}
			if names, err := os.ReadDir(folder); err != nil || len(names) != 0 {
				t.Errorf("got files %v, %v, want none", names, err)
			}
		})
		if !passed || failed == "" {
			return
		}
	}
}

// TestDirectory_publisherRepairsItsFile damages the file of a publisher that lives.
func TestDirectory_publisherRepairsItsFile(t *testing.T) {
	tests := []struct {
		name   string
		damage func(path string) error
		beats  int
	}{
		{"removed", os.Remove, 1},
		{"truncated", func(path string) error { return os.Truncate(path, 10) }, 1},
		{"replaced by text", func(path string) error { return os.WriteFile(path, []byte("x"), 0o644) }, 1},
		{"replaced by a FIFO", func(path string) error { return errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o644)) }, 1},
		{"replaced by a link", func(path string) error { return errors.Join(os.Remove(path), os.Symlink("/dev/null", path)) }, 1},
		{"overwritten by as many bytes", func(path string) error {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			return os.WriteFile(path, bytes.Repeat([]byte("x"), len(data)), 0o644)
		}, 16},
		{"removed with its folder", func(path string) error { return os.RemoveAll(filepath.Dir(path)) }, 1},
	}
	for _, test := range tests {
		t.Run("a file that was "+test.name, func(t *testing.T) {
			folder := filepath.Join(t.TempDir(), "bus")
			d := open(t, folder, manual)
			announce(t, d, entry("a", 1))
			if err := test.damage(filepath.Join(folder, "a.jsonl")); err != nil {
				t.Fatal(err)
			}
			for range test.beats {
				d.Beat()
			}
			entries, err := open(t, folder, manual).List()
			if err != nil || len(entries) != 1 || !entries[0].Equal(entry("a", 1)) {
				t.Errorf("got %v, %v, want the entry", entries, err)
			}
		})
	}
}

func TestDirectory_beatChangesOnlyTheBeatLine(t *testing.T) {
	folder := t.TempDir()
	d := open(t, folder, manual)
	announce(t, d, entry("a", 1))
	before, infoBefore := read(t, folder, "a.jsonl"), stat(t, folder, "a.jsonl")
	d.Beat()
	after, infoAfter := read(t, folder, "a.jsonl"), stat(t, folder, "a.jsonl")
	body := len(before) - file.BeatBytes
	if !os.SameFile(infoBefore, infoAfter) || !bytes.Equal(before[:body], after[:body]) || bytes.Equal(before, after) {
		t.Errorf("got %q after %q, want the same file with another beat line", after, before)
	}
}

func stat(t *testing.T, folder, name string) os.FileInfo {
	t.Helper()
	info, err := os.Stat(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// TestDirectory_readersNeverSeeHalfAFile reads while a publisher updates and beats as fast
// as it can.
func TestDirectory_readersNeverSeeHalfAFile(t *testing.T) {
	const rounds = 1000
	folder := t.TempDir()
	d, reader := open(t, folder, manual), open(t, folder, manual)
	a := announce(t, d, entry("a", 0))
	var writing sync.WaitGroup
	done := make(chan struct{})
	writing.Go(func() {
		defer close(done)
		for i := range tags.Tag(rounds) {
			if i%50 == 0 {
				if err := a.Update(entry("a", i)); err != nil && !errors.Is(err, file.ErrHangs) { // a busy disk has a file as late
					t.Errorf("got %v from Update, want nil", err)
				}
			}
			d.Beat()
		}
	})
	defer writing.Wait()
	for looks := 0; ; looks++ {
		entries, err := reader.List()
		if err != nil || len(entries) != 1 {
			t.Fatalf("got %v, %v, want the entry at each look", entries, err)
		}
		select {
		case <-done:
			t.Logf("%d looks during %d beats", looks, rounds)
			return
		default:
		}
	}
}

// TestDirectory_fullDisk announces on a file system of 64 KiB that is then filled.
func TestDirectory_fullDisk(t *testing.T) {
	folder := t.TempDir()
	if err := syscall.Mount("tmpfs", folder, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("needs the right to mount a tmpfs: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(folder, syscall.MNT_DETACH); err != nil {
			t.Errorf("got %v from unmounting, want nil", err)
		}
	})
	config := manual
	problems := make(chan error, 10)
	config.OnProblem = func(err error) { problems <- err }
	d, reader := open(t, folder, config), open(t, folder, manual)
	a := announce(t, d, entry("a", 1))
	filler := filepath.Join(folder, "filler")
	if err := os.WriteFile(filler, make([]byte, 1<<20), 0o644); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("got %v from filling the disk, want ENOSPC", err)
	}
	if err := a.Update(entry("a", 2)); !errors.Is(err, file.ErrUnwritable) || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("got %v from Update, want ErrUnwritable and ENOSPC", err)
	}
	if err := <-problems; !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("got problem %v, want ENOSPC", err)
	}
	before := read(t, folder, "a.jsonl")
	d.Beat()
	if bytes.Equal(before, read(t, folder, "a.jsonl")) {
		t.Error("got no beat on a full disk, want one")
	}
	if entries, err := reader.List(); err != nil || len(entries) != 1 || !entries[0].Equal(entry("a", 1)) {
		t.Errorf("got %v, %v, want the old entry", entries, err)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	d.Beat()
	if entries, err := reader.List(); err != nil || len(entries) != 1 || !entries[0].Equal(entry("a", 2)) {
		t.Errorf("got %v, %v, want the new entry", entries, err)
	}
}

func BenchmarkBeat(b *testing.B) {
	for _, count := range []int{1, 100_000} {
		b.Run(fmt.Sprintf("tags=%d", count), func(b *testing.B) {
			all := make([]tags.Tag, count)
			for i := range all {
				all[i] = tags.Tag(i) << 20
			}
			d := open(b, b.TempDir(), manual)
			announce(b, d, entry("a", all...))
			b.ReportAllocs()
			for b.Loop() {
				d.Beat()
			}
		})
	}
}

func BenchmarkScan(b *testing.B) {
	for _, publishers := range []int{1, 100, 1000} {
		b.Run(fmt.Sprintf("publishers=%d", publishers), func(b *testing.B) {
			folder := b.TempDir()
			for i := range publishers {
				name := fmt.Sprintf("p%d", i)
				data, err := file.Encode(entry(name, tags.Tag(i)), 1, time.Second, file.ThisProcess(), 1)
				if err != nil {
					b.Fatal(err)
				}
				write(b, folder, name+".jsonl", data)
			}
			d := open(b, folder, manual)
			d.Scan()
			b.ReportAllocs()
			for b.Loop() {
				d.Scan()
			}
		})
	}
}
