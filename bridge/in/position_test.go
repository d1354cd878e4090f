// SPDX-License-Identifier: Apache-2.0

package in

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"tagbus/internal/stuck"
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
