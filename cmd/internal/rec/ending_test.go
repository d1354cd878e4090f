// SPDX-License-Identifier: Apache-2.0

package rec_test

import (
	"bytes"
	"strings"
	"testing"

	"tagbus/cmd/internal/rec/rectest"
	"tagbus/tags"
)

// parts writes the three parts of a recording: from 0 to 50 ms, from 100 to 140, and from 200.
func (b *bed) parts() {
	b.Helper()
	h := header(1)
	b.record("a.tbr", h, join(joined(0, alice, 1), msgs(0, alice, 1, 1, 6))...)
	h.Part = 1
	b.record("b.tbr", h, msgs(100, alice, 1, 7, 11)...)
	h.Part = 2
	b.record("c.tbr", h, join(msgs(200, alice, 1, 12, 15), ended(250, alice), stop(260))...)
}

// killed returns a file of which the recorder was killed before it wrote the index.
func killed(data []byte) []byte { return data[:bytes.LastIndex(data, []byte("TBRi"))] }

// TestWhatIsMissingBetweenParts: a part that was cut off is named, whichever it is, if what it
// lacks is asked for.
func TestWhatIsMissingBetweenParts(t *testing.T) {
	cut := killed
	header := func(data []byte) []byte { data[50] ^= 1; return data }
	within := func(data []byte) []byte { return data[:60] }
	tests := []struct {
		name   string
		file   string
		change func([]byte) []byte
		repair bool
		flags  string
		why    string // "": it is whole
	}{
		{"nothing", "a.tbr", nil, false, "--tags 1", ""},
		{"the first part", "a.tbr", cut, false, "--tags 1", "a.tbr: it was not closed"},
		{"the first part, repaired", "a.tbr", cut, true, "--tags 1", "a.tbr: it was not closed, and is repaired"},
		{"a part in the middle", "b.tbr", cut, false, "--from +20ms --to +210ms", "b.tbr: it was not closed"},
		{"a part in the middle, and what is asked for ends before", "b.tbr", cut, false, "--to +110ms", ""},
		{"a part in the middle, and what is asked for begins behind", "b.tbr", cut, false, "--from +200ms", ""},
		{"a part in the middle, and what is asked for is between", "b.tbr", cut, false, "--from +160ms --to +170ms", "b.tbr: it was not closed"},
		{"a part in the middle, without its last block", "b.tbr", func(data []byte) []byte { return data[:bytes.LastIndex(data, []byte("TBRb"))] }, false, "--from +140ms --to +170ms", "b.tbr: it was not closed"},
		{"a part without blocks", "b.tbr", within, false, "--from +20ms --to +210ms", "b.tbr: it ends within its header"},
		{"the header of a part", "b.tbr", header, false, "--tags 1", "recording: b.tbr: file header at offset 44: checksum is wrong"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := newBed(t)
			b.parts()
			if test.change != nil {
				b.change(test.file, test.change)
			}
			if test.repair {
				b.says("index "+test.file, 0)
			}
			status := 0
			if test.why != "" {
				status = 1
			}
			got := b.says("cut b.tbr c.tbr a.tbr --out d.tbr "+test.flags, status)
			if said := strings.Contains(got.out, "not whole: "+test.why); said != (test.why != "") || test.why == "" && strings.Contains(got.out, "not whole") {
				t.Errorf("cut: got\n%swant %q", got.out, test.why)
			}
			if r := rectest.Verify(b, b.path("d.tbr")); r.Whole() != (test.why == "") {
				t.Errorf("cut: got %v, want it whole: %v", r, test.why == "")
			}
			if test.change == nil {
				return
			}
			b.says("merge a.tbr b.tbr c.tbr --out e.tbr", 1, "not whole: ")
			if r := rectest.Verify(b, b.path("e.tbr")); r.Whole() {
				t.Errorf("merge: got %v, want it not whole", r)
			}
		})
	}
}

// TestAPartThatWasCutOffIsMadeGood by a recording that has its time, unless it is unknown of
// which tags it is.
func TestAPartThatWasCutOffIsMadeGood(t *testing.T) {
	b := newBed(t)
	b.parts()
	b.change("a.tbr", killed)
	h := header(2)
	h.Tags = tags.Of(1, 2, 3)
	b.record("late.tbr", h, join(msgs(10, alice, 1, 2, 15), stop(300))...)
	b.record("all.tbr", h, join(joined(0, alice, 1), msgs(0, alice, 1, 1, 15), ended(260, alice), stop(300))...)
	b.says("merge a.tbr b.tbr c.tbr late.tbr --out d.tbr", 1, "not whole: a.tbr: it was not closed")
	b.says("merge a.tbr b.tbr c.tbr all.tbr --out e.tbr", 0)
	if r := rectest.Verify(b, b.path("e.tbr")); !r.Whole() || r.Total().Messages != 15 {
		t.Errorf("got %v, want it whole", r)
	}
	b.change("a.tbr", func(data []byte) []byte { data[50] ^= 1; return data })
	got := b.says("merge a.tbr b.tbr c.tbr all.tbr --out f.tbr", 1, "not whole: a.tbr: it was not closed", "not whole: recording: a.tbr: file header")
	if n := strings.Count(got.out, "not whole"); n != 2 {
		t.Errorf("got\n%swant two lines", got.out)
	}
}
