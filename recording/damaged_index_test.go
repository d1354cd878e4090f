// SPDX-License-Identifier: Apache-2.0

package recording_test

import (
	"bytes"
	"strings"
	"testing"

	"tagbus/recording"
)

// TestReader_aDamagedIndexIsNoFileThatWasNotClosed: whatever bit of the index is wrong, and however much
// of its end is missing, all blocks are there. The file is not whole all the same.
func TestReader_aDamagedIndexIsNoFileThatWasNotClosed(t *testing.T) {
	s := smallFile(t, recording.None)
	whole, blocks := len(s.bytes), s.ends[len(s.ends)-1]
	check := func(what string, at int, file []byte) {
		t.Helper()
		r := open(t, file)
		info := r.Info()
		if info.Indexed || !info.IndexDamaged || info.Messages == 0 || !strings.HasPrefix(info.Unfinished(), "was closed, and its index is damaged: ") {
			t.Errorf("%s %d: got %+v, %s", what, at, info, info.Unfinished())
		}
		report, err := recording.Verify(r)
		must(t, err)
		if report.Whole() {
			t.Errorf("%s %d: got a whole recording", what, at)
		}
		size, tail := r.Repair()
		repaired := open(t, append(bytes.Clone(file[:size]), tail...))
		footer := at < whole-48 && what == "bit of byte" // it says that nothing is missing
		if got := repaired.Info(); !got.Indexed || got.Messages != info.Messages || got.Repaired == footer || got.IndexLost == footer {
			t.Errorf("%s %d, repaired: got %+v", what, at, got)
		}
		report, err = recording.Verify(repaired)
		must(t, err)
		if report.Whole() != footer || !footer && !strings.Contains(report.String(), "had a damaged index, and is repaired: all its blocks are there") {
			t.Errorf("%s %d, repaired: got %v", what, at, report)
		}
	}
	for at := blocks; at < whole; at++ {
		for bit := range 8 {
			file := bytes.Clone(s.bytes)
			file[at] ^= 1 << bit
			check("bit of byte", at, file)
		}
	}
	for n := 1; n < whole-blocks-3; n++ {
		check("bytes that are cut off:", n, s.bytes[:whole-n])
	}
	if info := open(t, s.bytes[:blocks]).Info(); info.IndexDamaged || !strings.HasPrefix(info.Unfinished(), "was not closed") {
		t.Errorf("without index: got %+v, want a file that was not closed", info)
	}
}
