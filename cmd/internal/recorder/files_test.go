// SPDX-License-Identifier: Apache-2.0

package recorder

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// names returns what is in a folder.
func names(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

// write makes a part with a text.
func writePart(t *testing.T, f *folder, part int, text string) {
	t.Helper()
	to, err := f.create(part)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := to.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := f.finish(part); err != nil {
		t.Fatal(err)
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestPartsReplaceThoseOfAnEarlierRecording: only with force, and no other file.
func TestPartsReplaceThoseOfAnEarlierRecording(t *testing.T) {
	for _, name := range []string{"run.tbr", "run", ".tbr", "a.b.tbr"} {
		dir := t.TempDir()
		path := filepath.Join(dir, name)
		f, err := newFolder(path, false)
		if err != nil {
			t.Fatal(err)
		}
		f.sync = true
		for part := range 3 {
			writePart(t, f, part, "old")
		}
		others := []string{partName(name, 12) + ".bak", "run.x001.tbr", "run.001.tbr", "other.0001.tbr"}
		for _, other := range others {
			if err := os.WriteFile(filepath.Join(dir, other), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := newFolder(path, false); err == nil || !strings.Contains(err.Error(), "is there already") {
			t.Errorf("%s: got %v, want a refusal", name, err)
		}
		if f, err = newFolder(path, true); err != nil {
			t.Fatal(err)
		}
		to, err := f.create(0)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(path); err != nil || string(text) != "old" {
			t.Errorf("%s: got %q, %v want the old part until the new one has its name", name, text, err)
		}
		if err := to.Close(); err != nil {
			t.Fatal(err)
		}
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

// TestAPartThatAnotherProgramMakes is not replaced.
func TestAPartThatAnotherProgramMakes(t *testing.T) {
	dir := t.TempDir()
	f, err := newFolder(filepath.Join(dir, "run.tbr"), false)
	if err != nil {
		t.Fatal(err)
	}
	writePart(t, f, 0, "mine")
	if err := os.WriteFile(filepath.Join(dir, "run.0001.tbr"), []byte("other"), 0o600); err != nil {
		t.Fatal(err)
	}
	to, err := f.create(1)
	if err != nil {
		t.Fatal(err)
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.finish(1); err == nil || !strings.Contains(err.Error(), "run.0001.tbr is there already: another program has made it") {
		t.Errorf("got %v, want a refusal", err)
	}
}

func TestTheFreeSpaceOfADiskIsKnown(t *testing.T) {
	f, err := newFolder(filepath.Join(t.TempDir(), "run.tbr"), false)
	if err != nil {
		t.Fatal(err)
	}
	if n, ok, err := f.free(); n == 0 || !ok || err != nil {
		t.Errorf("got %d bytes, %v, %v want some", n, ok, err)
	}
	f.path = filepath.Join(f.path, "nowhere", "run.tbr")
	if _, _, err := f.free(); err == nil {
		t.Error("got no error for a folder that is not there")
	}
	device, err := newFolder(os.DevNull, false)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok, err := device.free(); ok || err != nil {
		t.Errorf("got a limit: %v, %v of a device, want none", ok, err)
	}
}
