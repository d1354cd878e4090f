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

// TestReader_aDamagedIndexOfAFileThatWasNotClosed: an index that was repaired is not the writer's, also if
// it is damaged, or was cut short. It was taken for that, and a file without its last block for complete.
func TestReader_aDamagedIndexOfAFileThatWasNotClosed(t *testing.T) {
	s := smallFile(t, recording.None)
	blocks := s.ends[len(s.ends)-2] // the last one is missing
	for name, killed := range map[string][]byte{"between blocks": s.bytes[:blocks], "within a block": s.bytes[:blocks+30]} {
		size, tail := open(t, killed).Repair()
		repaired := append(bytes.Clone(killed[:size]), tail...)
		check := func(what string, at int, file []byte) {
			t.Helper()
			r := open(t, file)
			if info := r.Info(); info.Indexed || info.IndexDamaged || info.Blocks != len(s.ends)-1 || !strings.HasPrefix(info.Unfinished(), "was not closed") {
				t.Errorf("%s, %s %d: got %+v, %s", name, what, at, info, info.Unfinished())
			}
			size, tail := r.Repair()
			again := open(t, append(bytes.Clone(file[:size]), tail...))
			if got := again.Info(); !got.Indexed || !got.Repaired || got.IndexLost || got.Blocks != len(s.ends)-1 {
				t.Errorf("%s, %s %d, repaired: got %+v", name, what, at, got)
			}
		}
		for at := int(size) + 8; at < len(repaired); at++ {
			file := bytes.Clone(repaired)
			file[at] ^= 1
			check("bit of byte", at, file)
		}
		for n := 1; n <= len(repaired)-int(size); n++ {
			check("bytes that are cut off:", n, repaired[:len(repaired)-n])
		}
	}
}

// TestReader_aRepairedIndexOfAnEarlierVersion, which stands where the writer's does: its footer says what
// it is, as long as that can be read.
func TestReader_aRepairedIndexOfAnEarlierVersion(t *testing.T) {
	one := rawBlock{table: rawTable(1, 1), body: rawMessage, messages: 1}
	b, seed := rawHeader(0, recording.ID{1}, 0, nil)
	at := len(b)
	b = one.append(b, seed)
	end := len(b)
	const repaired = 2
	b = rawEnd(b, seed, repaired, []rawBlock{one}, []int{at})
	if info := open(t, b).Info(); !info.Indexed || !info.Repaired {
		t.Errorf("got %+v, want a repaired index", info)
	}
	for i := end; i < len(b)-48; i++ {
		file := bytes.Clone(b)
		file[i] ^= 1
		if info := open(t, file).Info(); info.Indexed || info.IndexDamaged {
			t.Errorf("byte %d: got %+v, want a file that was not closed", i, info)
		}
	}
}
