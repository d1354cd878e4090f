// SPDX-License-Identifier: Apache-2.0

//go:build linux

package file_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"tagbus/bus/directory/file"
)

// What List passes over or removes is shown, and stays.
func TestLook_showsEverythingAndChangesNothing(t *testing.T) {
	// No Directory has this folder open: it would scan it, and remove what is dead.
	folder, another := t.TempDir(), t.TempDir()
	announce(t, open(t, another, polled), entry("lives", 1))
	lives, err := os.ReadFile(filepath.Join(another, "lives.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, folder, "lives.jsonl", lives)
	foreign(t, folder, "elsewhere", 3*time.Second, 7)
	dead, err := file.Encode(entry("dead", 1), 1, time.Second, endedProcess(t), 42)
	if err != nil {
		t.Fatal(err)
	}
	write(t, folder, "dead.jsonl", dead)
	write(t, folder, "torn.jsonl", dead[:len(dead)-9])
	write(t, folder, "a b.jsonl", dead)
	write(t, folder, "README", []byte("read me"))
	write(t, folder, ".lives.tmp", nil)
	old := time.Now().Add(-time.Hour).Truncate(time.Second)
	if err := os.Chtimes(filepath.Join(folder, "dead.jsonl"), old, old); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("dead.jsonl", filepath.Join(folder, "link.jsonl")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		s, err := file.Look(folder, file.Config{})
		if err != nil {
			t.Fatal(err)
		}
		if s.Names != 8 || !s.All || s.Passed != 1 || !slices.Equal(s.Others, []string{"README"}) {
			t.Errorf("got %d names, all %v, %d passed over, %q, want 8, all of them, 1, README", s.Names, s.All, s.Passed, s.Others)
		}
		var got []string
		for _, f := range s.Files {
			got = append(got, fmt.Sprintf("%s %q beats %v ended %v damaged %v name %v not regular %v old %v", f.Name, f.Entry.Name, f.Beat, f.Ended,
				errors.Is(f.Err, file.ErrDamaged), errors.Is(f.Err, file.ErrName), errors.Is(f.Err, file.ErrNotRegular), f.Written.Equal(old)))
		}
		slices.Sort(got)
		name := entry("x", 1).Name
		want := []string{
			`a b.jsonl "" beats 0s ended false damaged false name true not regular false old false`,
			fmt.Sprintf(`dead.jsonl %q beats 1s ended true damaged false name false not regular false old true`, name),
			fmt.Sprintf(`elsewhere.jsonl %q beats 3s ended false damaged false name false not regular false old false`, name),
			`link.jsonl "" beats 0s ended false damaged false name false not regular true old false`,
			fmt.Sprintf(`lives.jsonl %q beats 1s ended false damaged false name false not regular false old false`, name),
			`torn.jsonl "" beats 0s ended false damaged true name false not regular false old false`,
		}
		if !slices.Equal(got, want) {
			t.Errorf("got\n%q\nwant\n%q", got, want)
		}
	}
}

func TestLook_saysWhatIsWrongWithTheFolder(t *testing.T) {
	folder := t.TempDir()
	if _, err := file.Look(filepath.Join(folder, "none"), file.Config{}); !errors.Is(err, file.ErrVanished) {
		t.Errorf("got %v, want ErrVanished", err)
	}
	write(t, folder, "file", nil)
	if _, err := file.Look(filepath.Join(folder, "file"), file.Config{}); !errors.Is(err, file.ErrNotDirectory) {
		t.Errorf("got %v, want ErrNotDirectory", err)
	}
	if _, err := file.Look(folder, file.Config{MaxFiles: -1}); !errors.Is(err, file.ErrConfig) {
		t.Errorf("got %v, want ErrConfig", err)
	}
	for i := range 16 {
		write(t, folder, fmt.Sprint("another", i), nil)
	}
	if s, err := file.Look(folder, file.Config{MaxFiles: 1}); err != nil || s.All || s.Names != 16 {
		t.Errorf("got all %v of %d names, %v, want 16 of more", s.All, s.Names, err)
	}
}
