// SPDX-License-Identifier: Apache-2.0

package in

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"tagbus/internal/stuck"
	"tagbus/internal/testkit"
)

// TestAPositionIsASmallFile: of another one, such as a recording, no more is read than a position may have.
func TestAPositionIsASmallFile(t *testing.T) {
	f := &placeFile{path: filepath.Join(t.TempDir(), "position")}
	if err := errors.Join(os.WriteFile(f.path, nil, 0o600), os.Truncate(f.path, stuck.MostBytes+1)); err != nil {
		t.Fatal(err)
	}
	if _, err := f.load("stream TAGBUS"); !errors.Is(err, stuck.ErrTooLarge) || f.held != nil {
		t.Errorf("got %v and the file locked: %t, want ErrTooLarge and not", err, f.held != nil)
	}
}

// TestAPositionIsLockedToBeWritten: NFS locks no other file for one process alone. One that may only be read
// is read all the same.
func TestAPositionIsLockedToBeWritten(t *testing.T) {
	f := &placeFile{path: filepath.Join(t.TempDir(), "position")}
	defer f.close()
	testkit.Must(t, f.store(place{Log: "log"}))
	f.close()
	testkit.Must(t, os.Chmod(f.path, 0o400))
	if p, err := f.load("log"); err != nil || p == nil {
		t.Fatalf("got %v, %v, want the place", p, err)
	}
	f.close()
	testkit.Must(t, os.Chmod(f.path, 0o600))
	if _, err := f.load("log"); err != nil {
		t.Fatal(err)
	}
	info, err := f.held.Stat()
	testkit.Must(t, err)
	if err := f.held.Truncate(info.Size()); err != nil { // which changes nothing
		t.Errorf("got %v, want a file that is open to be written", err)
	}
}

// TestTwoRunsThatBeginWithoutAFile store their positions at the same time: one of them has it, and the other one is told.
func TestTwoRunsThatBeginWithoutAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "position")
	for range 2000 {
		runs := []*placeFile{{path: path}, {path: path}}
		errs := make([]error, len(runs))
		var all sync.WaitGroup
		for i, run := range runs {
			all.Go(func() { errs[i] = run.store(place{Log: "stream TAGBUS"}) })
		}
		all.Wait()
		stored := 0
		for i, run := range runs {
			switch {
			case errs[i] == nil && run.isHeld():
				stored++
			case !errors.Is(errs[i], ErrPositionTaken):
				t.Fatalf("run %d: got %v, and that it holds the file: %t, want the file or ErrPositionTaken", i, errs[i], run.isHeld())
			}
			run.close()
		}
		if stored == 2 {
			t.Fatal("both hold the file")
		}
		if stored == 1 {
			testkit.Must(t, os.Remove(path))
		}
		if _, err := os.Stat(path + ".new"); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("got %v of what was being written, want that nothing is left", err)
		}
	}
}

// FuzzParsePlace: what a file of a position may have is what is stored again, or an error.
func FuzzParsePlace(f *testing.F) {
	f.Add([]byte(`{"log":"stream TAGBUS","time":"2026-11-29T12:00:00Z","behind":{"":12},"within":{"instance":"\"ALICE\"","tag":1,"next":4}}`))
	f.Add([]byte(`{"log":"topic t","after":1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := parsePlace(data)
		if err != nil {
			return
		}
		again, err := json.Marshal(p)
		if err != nil {
			t.Skip() // a time that JSON has no form of
		}
		if q, err := parsePlace(again); err != nil || !p.same(&q) {
			t.Errorf("got %+v, %v, want %+v", q, err, p)
		}
	})
}
