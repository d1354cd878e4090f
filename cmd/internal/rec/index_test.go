// SPDX-License-Identifier: Apache-2.0

package rec_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"tagbus/internal/flock"
)

func TestIndexInPlace(t *testing.T) {
	b := newBed(t)
	b.record("a.tbr", header(1), simple()...)
	b.cutOff("a.tbr", 600)
	before := b.lines("a.tbr")
	b.says("index a.tbr", 0, "a.tbr: has an index of 4 blocks, with 70 messages and 2 events; it was not closed: the last block of its recorder is missing (322 bytes behind the last complete one)")
	if after := b.lines("a.tbr"); !slices.Equal(before, after) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(after, "\n"), strings.Join(before, "\n"))
	}
	b.says("info a.tbr", 1, "opened by its index: it was not closed, and is repaired")
	b.says("verify a.tbr", 1, "not whole", "was not closed, and is repaired")
	b.says("index a.tbr", 2, "a.tbr has its index: there is nothing to repair")
}

func TestIndexIntoAnotherFile(t *testing.T) {
	b := newBed(t)
	b.record("a.tbr", header(1), simple()...)
	b.cutOff("a.tbr", 300)
	old, err := os.ReadFile(b.path("a.tbr"))
	must(t, err)
	before := b.lines("a.tbr")
	b.says("index a.tbr --out b.tbr --json", 0, `"messages":87`, `"cut_bytes":250`)
	if now, err := os.ReadFile(b.path("a.tbr")); err != nil || string(now) != string(old) {
		t.Errorf("the file has changed (%v)", err)
	}
	if after := b.lines("b.tbr"); !slices.Equal(before, after) || b.report("b.tbr").Whole() || !b.report("b.tbr").Files[0].Repaired {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(after, "\n"), strings.Join(before, "\n"))
	}
	b.says("index a.tbr --out b.tbr", 2, "--out: b.tbr exists: give another name, or remove it first")
}

func TestIndexRefuses(t *testing.T) {
	b := newBed(t)
	b.record("a.tbr", header(1), simple()...)
	b.says("index a.tbr --out b.tbr", 2, "there is nothing to repair")
	b.says("index none.tbr", 2, "no such file")
	must(t, os.WriteFile(b.path("short.tbr"), []byte("\x8aTBR\r\n"), 0o600))
	b.says("index short.tbr", 2, "short.tbr ends within its header")

	b.record("live.tbr", header(2), simple()...)
	b.cutOff("live.tbr", 100)
	f, err := os.Open(b.path("live.tbr"))
	must(t, err)
	defer f.Close()
	if !flock.Shared(f) {
		t.Fatal("the file cannot be locked")
	}
	b.says("index live.tbr", 2, "is being written now: end its recorder first")
}
