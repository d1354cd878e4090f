// SPDX-License-Identifier: Apache-2.0

package rec_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"tagbus/cmd/internal/rec/rectest"
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
	if after := b.lines("b.tbr"); !slices.Equal(before, after) || rectest.Verify(b, b.path("b.tbr")).Whole() || !rectest.Verify(b, b.path("b.tbr")).Files[0].Repaired {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(after, "\n"), strings.Join(before, "\n"))
	}
	b.says("index a.tbr --out b.tbr", 2, "--out: b.tbr exists: give another name, or remove it first")
}

// TestADamagedIndexIsReplaced: nothing is missing, and no command says so from then on, unless the
// footer is gone too, which alone has what follows.
func TestADamagedIndexIsReplaced(t *testing.T) {
	b := newBed(t)
	b.record("a.tbr", header(1), simple()...)
	whole, err := os.ReadFile(b.path("a.tbr"))
	must(t, err)
	flip := func(behind int) func([]byte) []byte {
		return func(file []byte) []byte {
			file[len(file)-behind] ^= 1
			return file
		}
	}
	b.change("a.tbr", flip(100))
	b.says("info a.tbr", 1, "was closed, and its index is damaged")
	b.says("index a.tbr --out b.tbr --json", 0, `"lost":""`)
	b.says("index a.tbr", 0, "; the damaged index is replaced, and nothing is missing")
	for _, name := range []string{"a.tbr", "b.tbr"} {
		if now, err := os.ReadFile(b.path(name)); err != nil || string(now) != string(whole) {
			t.Errorf("%s: got %d bytes (%v), want those of the recorder", name, len(now), err)
		}
		b.says("info "+name, 0, "opened by its index; it is the last part")
		b.says("verify "+name, 0, ": whole")
	}
	b.change("a.tbr", flip(1))
	b.says("index a.tbr", 0, "; it had a damaged index, and is repaired: all its blocks are there, and whether another part follows is not known")
	b.says("info a.tbr", 1, "opened by its index: it had a damaged index")
	b.says("verify a.tbr", 1, "not whole", "all its blocks are there")
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
	if !flock.Shared(f, func() {}) {
		t.Fatal("the file cannot be locked")
	}
	b.says("index live.tbr", 2, "is being written now: end its recorder first")
	b.says("index live.tbr --out c.tbr", 0) // which only reads it, as this test does
	if !flock.Exclusive(f, func() {}) {
		t.Fatal("the file cannot be locked")
	}
	b.says("index live.tbr --out d.tbr", 2, "is being written now: end its recorder first")
}
