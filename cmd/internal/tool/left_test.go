// SPDX-License-Identifier: Apache-2.0

//go:build linux

package tool

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestLeftoversAreLookedForAsFarAsProgramsLook: with --max-entries 1 a folder is full that has
// room for many others by default.
func TestLeftoversAreLookedForAsFarAsProgramsLook(t *testing.T) {
	path := t.TempDir()
	for i := range 100 {
		if err := os.WriteFile(filepath.Join(path, fmt.Sprintf("x%d.jsonl", i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for most, want := range map[int]bool{0: false, 1: true, 1000: false} {
		e := &Env{Flags: &Flags{MaxEntries: most}}
		if got := leftIn(path, e.folder(), time.Now()).Full; got != want {
			t.Errorf("--max-entries %d: got a full folder %v, want %v", most, got, want)
		}
	}
}
