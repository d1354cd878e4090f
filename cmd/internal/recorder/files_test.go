// SPDX-License-Identifier: Apache-2.0

//go:build linux

package recorder

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"tagbus/cmd/internal/cli"
	"tagbus/internal/stuck"
	"tagbus/internal/testkit"
)

// names returns what is in a folder.
func names(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	testkit.Must(t, err)
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

// write makes a part with a text.
func writePart(t *testing.T, f *folder, part int, text string) {
	t.Helper()
	to, err := f.create(part)
	testkit.Must(t, err)
	if _, err := to.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	testkit.Must(t, f.finish(part))
	testkit.Must(t, to.Close())
}

// TestPartsReplaceThoseOfAnEarlierRecording: only with force, and no other file.
func TestPartsReplaceThoseOfAnEarlierRecording(t *testing.T) {
	for _, name := range []string{"run.tbr", "run", ".tbr", "a.b.tbr"} {
		dir := t.TempDir()
		path := filepath.Join(dir, name)
		f, err := newFolder(path, false)
		testkit.Must(t, err)
		f.sync = true
		for part := range 3 {
			writePart(t, f, part, "old")
		}
		others := []string{partName(name, 12) + ".bak", "run.x001.tbr", "run.001.tbr", "other.0001.tbr"}
		for _, other := range others {
			testkit.Must(t, os.WriteFile(filepath.Join(dir, other), nil, 0o600))
		}
		if _, err := newFolder(path, false); err == nil || !strings.Contains(err.Error(), "is there already") {
			t.Errorf("%s: got %v, want a refusal", name, err)
		}
		if f, err = newFolder(path, true); err != nil {
			t.Fatal(err)
		}
		to, err := f.create(0)
		testkit.Must(t, err)
		if text, err := os.ReadFile(path); err != nil || string(text) != "old" {
			t.Errorf("%s: got %q, %v want the old part until the new one has its name", name, text, err)
		}
		testkit.Must(t, to.Close())
		writePart(t, f, 0, "new")
		f.abandon()
		got, want := names(t, dir), append(others, name)
		slices.Sort(want)
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s: got files %q, want %q", name, got, want)
		}
		if text, err := os.ReadFile(path); err != nil || string(text) != "new" {
			t.Errorf("%s: got %q, %v want the new part", name, text, err)
		}
	}
}

// TestWhatALaterPartMeetsIsSeenAtTheStart: a run of a night ended at its first part.
func TestWhatALaterPartMeetsIsSeenAtTheStart(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "run.tbr")
	for name, make := range map[string]func(string) error{
		"a folder": func(at string) error { return os.Mkdir(at, 0o700) },
		"a link":   func(at string) error { return os.Symlink("elsewhere", at) },
		"a pipe":   func(at string) error { return syscall.Mkfifo(at, 0o600) },
	} {
		at := filepath.Join(dir, "run.0001.tbr")
		testkit.Must(t, make(at))
		if _, err := newFolder(path, false); err == nil || !strings.Contains(err.Error(), "run.0001.tbr is there already") {
			t.Errorf("%s: got %v, want a refusal", name, err)
		}
		if _, err := newFolder(path, true); err == nil || !strings.Contains(err.Error(), "is no file, which --force does not replace") {
			t.Errorf("%s, with force: got %v, want a refusal", name, err)
		}
		testkit.Must(t, os.Remove(at))
	}
	for n, fits := range map[int]bool{245: true, 246: false} { // 255 without .tbr and .99999
		f, err := newFolder(filepath.Join(dir, strings.Repeat("n", n)+".tbr"), false)
		testkit.Must(t, err)
		if err := f.partsFit(); (err == nil) != fits {
			t.Errorf("a name of %d bytes: got %v, want none: %v", n+4, err, fits)
		}
	}
}

// TestAPartThatAnotherProgramMakes is not replaced.
func TestAPartThatAnotherProgramMakes(t *testing.T) {
	dir := t.TempDir()
	f, err := newFolder(filepath.Join(dir, "run.tbr"), false)
	testkit.Must(t, err)
	writePart(t, f, 0, "mine")
	testkit.Must(t, os.WriteFile(filepath.Join(dir, "run.0001.tbr"), []byte("other"), 0o600))
	to, err := f.create(1)
	testkit.Must(t, err)
	testkit.Must(t, to.Close())
	if err := f.finish(1); err == nil || !strings.Contains(err.Error(), "run.0001.tbr is there already: another program has made it") {
		t.Errorf("got %v, want a refusal", err)
	}
}

// TestARecordingThatIsRemoved while it is written was called whole, in 1 file.
func TestARecordingThatIsRemoved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.tbr")
	f, err := newFolder(path, false)
	testkit.Must(t, err)
	to, err := f.create(0)
	testkit.Must(t, err)
	testkit.Must(t, f.finish(0))
	if _, _, err := f.free(); err != nil {
		t.Errorf("got %v, want none before", err)
	}
	testkit.Must(t, os.Remove(path))
	if _, _, err := f.free(); !errors.Is(err, cli.ErrUnlinked) || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v at the next block, want that %s was removed", err, path)
	}
	if err := to.Close(); !errors.Is(err, cli.ErrUnlinked) {
		t.Errorf("got %v at the end, want that it was removed", err)
	}
	if _, _, err := f.free(); err != nil {
		t.Errorf("got %v after it was closed, want none", err)
	}
}

// TestAPartThatCannotBeMadeNowIsNamed as it will be called, and not as the part before it, which is complete.
func TestAPartThatCannotBeMadeNowIsNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.tbr")
	f, err := newFolder(path, false)
	testkit.Must(t, err)
	writePart(t, f, 0, "first")
	testkit.Must(t, syscall.Mkfifo(f.temporary(), 0o600)) // which hangs as a file system that does not answer
	said := make(chan stuck.Note, 2)
	stuck.Say(func(n stuck.Note) { said <- n })
	defer stuck.Say(nil)
	made := make(chan error, 1)
	go func() {
		_, err := f.create(1)
		made <- err
	}()
	if n, want := <-said, filepath.Join(filepath.Dir(path), "run.0001.tbr"); n.Path != want {
		t.Errorf("got that %s is waited for, want %s", n.Path, want)
	}
	reader, err := os.OpenFile(f.temporary(), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	testkit.Must(t, err)
	defer func() { testkit.Must(t, reader.Close()) }()
	if err := <-made; err == nil {
		t.Error("got a part in a pipe")
	}
}

func TestTheFreeSpaceOfADiskIsKnown(t *testing.T) {
	f, err := newFolder(filepath.Join(t.TempDir(), "run.tbr"), false)
	testkit.Must(t, err)
	if n, ok, err := f.free(); n == 0 || !ok || err != nil {
		t.Errorf("got %d bytes, %v, %v want some", n, ok, err)
	}
	f.path = filepath.Join(f.path, "nowhere", "run.tbr")
	if _, _, err := f.free(); err == nil {
		t.Error("got no error for a folder that is not there")
	}
	device, err := newFolder(os.DevNull, false)
	testkit.Must(t, err)
	if _, ok, err := device.free(); ok || err != nil {
		t.Errorf("got a limit: %v, %v of a device, want none", ok, err)
	}
}

// Two recorders with the same name do not write over each other, and what one of them
// writes is not repaired meanwhile.
func TestAFileIsWrittenByOneRecorder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.tbr")
	one, err := newFolder(path, false)
	testkit.Must(t, err)
	other := *one
	first, err := one.create(0)
	testkit.Must(t, err)
	if _, err := first.Write([]byte("some")); err != nil {
		t.Fatal(err)
	}
	const want = "run.tbr.new is being written by another program: end it, or choose another name"
	if second, err := other.create(0); err == nil {
		second.Close()
		t.Errorf("a second recorder has the file, want %s", want)
	} else if !strings.HasSuffix(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	other.abandon() // has nothing of its own
	testkit.Must(t, one.finish(0))
	named, err := os.Open(path)
	testkit.Must(t, err)
	defer named.Close()
	if err := syscall.Flock(int(named.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
		t.Error("the part that is written is not locked under its name")
	}
	if _, err := newFolder(path, true); err == nil || !strings.HasSuffix(err.Error(), "run.tbr is being written by another program: end it, or choose another name") {
		t.Errorf("got %v, want a refusal to replace what is being written", err)
	}
	testkit.Must(t, first.Close())
	if _, err := newFolder(path, true); err != nil {
		t.Errorf("got %v, want a recording that has ended to be replaced", err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "some" {
		t.Errorf("got %q, %v, want what the first recorder wrote", text, err)
	}
}

// TestAFileIsNamedAsPeopleKnowIt: what fails under its first name leaves nothing of that name.
func TestAFileIsNamedAsPeopleKnowIt(t *testing.T) {
	dir := t.TempDir()
	f, err := newFolder(filepath.Join(dir, "run.tbr"), false)
	testkit.Must(t, err)
	for part, name := range []string{"run.tbr", "run.0001.tbr"} {
		made, err := f.create(part)
		testkit.Must(t, err)
		testkit.Must(t, made.Close())
		_, err = made.Write([]byte("x"))
		if want := "write " + filepath.Join(dir, name) + ": file already closed"; err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	f.abandon()
	f.path = filepath.Join(dir, "nowhere", "run.tbr")
	if _, err := f.create(0); err == nil || !strings.Contains(err.Error(), f.path+": ") {
		t.Errorf("got %v, want one of %s", err, f.path)
	}
	f.path = filepath.Join(dir, "folder")
	testkit.Must(t, os.Mkdir(f.temporary(), 0o700))
	if _, err := f.create(0); err == nil || !strings.Contains(err.Error(), f.temporary()+": ") {
		t.Errorf("got %v, want one of %s, which is there", err, f.temporary())
	}
}
