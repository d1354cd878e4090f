// SPDX-License-Identifier: Apache-2.0

package recording_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"tagbus/internal/testkit"
	"tagbus/recording"
)

// small is a file of some blocks.
type small struct {
	bytes   []byte
	header  int      // bytes of the file header
	ends    []int    // of the blocks
	records []record // all
	counts  []int    // of records until the end of each block
}

// smallFile returns a closed file of some blocks, with events.
func smallFile(tb testing.TB, codec recording.Codec) (s small) {
	tb.Helper()
	all := numbered(24)
	all = slices.Insert(all, 0, event(0, recording.Event{Kind: recording.Joined, Peer: alice}))
	all = append(all, event(999, recording.Event{Kind: recording.Stopped, Text: "end"}))
	var b bytes.Buffer
	appended := 0
	w, err := recording.NewWriter(&b, recording.Header{Host: "h"}, recording.Config{
		BlockBytes: 256, Codec: codec,
		OnBlock: func(written recording.Written) error {
			s.ends = append(s.ends, int(written.Bytes))
			s.counts = append(s.counts, appended)
			return nil
		},
	})
	must(tb, err)
	s.header = b.Len()
	for _, r := range all {
		appended++
		write(tb, w, r)
	}
	must(tb, w.Close())
	s.bytes, s.records = b.Bytes(), forms(all...)
	if len(s.ends) < 4 {
		tb.Fatalf("got %d blocks, want some", len(s.ends))
	}
	return s
}

// complete returns how many blocks, records and bytes are complete in the first n bytes.
func (s *small) complete(n int) (blocks, records, bytes int) {
	bytes = s.header
	for blocks < len(s.ends) && s.ends[blocks] <= n {
		records, bytes = s.counts[blocks], s.ends[blocks]
		blocks++
	}
	return blocks, records, bytes
}

// TestReader_aFileThatIsCutAnywhereHasItsCompleteBlocks: cut at every byte.
func TestReader_aFileThatIsCutAnywhereHasItsCompleteBlocks(t *testing.T) {
	for _, codec := range codecs {
		t.Run(codec.String(), func(t *testing.T) {
			s := smallFile(t, codec)
			for n := range len(s.bytes) {
				r := open(t, s.bytes[:n])
				blocks, records, bytes := s.complete(n)
				if n < s.header {
					bytes = 0
				}
				info := r.Info()
				if info.Indexed || info.Blocks != blocks || info.Cut != int64(n-bytes) || info.Skipped != 0 {
					t.Errorf("cut at %d: got %d blocks, %d bytes cut, indexed %v; want %d blocks and %d cut", n, info.Blocks, info.Cut, info.Indexed, blocks, n-bytes)
				}
				if got := readAll(t, r); !slices.Equal(got, s.records[:records]) {
					t.Errorf("cut at %d: got %d records, want the first %d", n, len(got), records)
				}
				report, err := recording.Verify(r)
				if must(t, err); report.Whole() {
					t.Errorf("cut at %d: it is called whole", n)
				}
				if n >= s.header {
					s.checkRepaired(t, r, s.bytes[:n], s.records[:records])
				}
			}
			r := open(t, s.bytes)
			if info := r.Info(); !info.Indexed || info.Cut != 0 || !slices.Equal(readAll(t, r), s.records) {
				t.Errorf("not cut: got %+v, want all records by the index", info)
			}
		})
	}
}

// checkRepaired checks that a file opens by its index once it is repaired.
func (s *small) checkRepaired(t *testing.T, r *recording.Reader, file []byte, want []record) {
	t.Helper()
	size, tail := r.Repair()
	r = open(t, append(bytes.Clone(file[:size]), tail...))
	info := r.Info()
	if got := readAll(t, r); !info.Indexed || !info.Repaired || info.Cut != 0 || !slices.Equal(got, want) {
		t.Errorf("%d bytes, repaired: got %d records and %+v, want %d by the index", len(file), len(got), info, len(want))
	}
	report, err := recording.Verify(r)
	if must(t, err); report.Whole() {
		t.Errorf("%d bytes, repaired: it is called whole", len(file))
	}
	if size, tail := r.Repair(); tail != nil || size != info.Bytes {
		t.Errorf("%d bytes, repaired twice: got %d bytes and a tail of %d", len(file), size, len(tail))
	}
}

// TestReader_namesAFlippedBit flips each bit of a file. The blocks that it does not concern are
// read all the same.
func TestReader_namesAFlippedBit(t *testing.T) {
	s := smallFile(t, recording.S2)
	end := s.ends[len(s.ends)-1]
	step := 1
	if testkit.Race {
		step = 9 // one of each byte
	}
	for _, closed := range []bool{true, false} {
		b := bytes.Clone(s.bytes)
		if !closed {
			b = b[:end]
		}
		for bit := 0; bit < 8*len(b); bit += step {
			at := bit / 8
			b[at] ^= 1 << (bit % 8)
			s.checkFlip(t, b, at, closed)
			b[at] ^= 1 << (bit % 8)
		}
	}
}

// checkFlip checks a file in which a bit of the byte at is flipped.
func (s *small) checkFlip(t *testing.T, b []byte, at int, closed bool) {
	t.Helper()
	const fixed = 44
	r, err := recording.NewReader(bytes.NewReader(b), int64(len(b)), recording.ReaderConfig{})
	if at < fixed {
		var damage *recording.DamageError
		if !errors.Is(err, recording.ErrNotRecording) && !errors.Is(err, recording.ErrVersion) &&
			(!errors.As(err, &damage) || damage.Block != -1 || !errors.Is(err, recording.ErrChecksum)) {
			t.Fatalf("byte %d of the header: got error %v", at, err)
		}
		return
	}
	must(t, err)
	info := r.Info()
	got, errs := read(recording.Readers{r}, recording.Query{})
	want := s.records
	blocks, from, begin := s.complete(at)
	switch {
	case at < s.header:
		if !errors.Is(info.HeaderDamage, recording.ErrChecksum) || errs != nil {
			t.Errorf("byte %d of the header: got %v and errors %v", at, info.HeaderDamage, errs)
		}
	case at >= s.ends[len(s.ends)-1]:
		if info.Indexed || errs != nil {
			t.Errorf("byte %d of the index: got indexed %v and errors %v", at, info.Indexed, errs)
		}
	default:
		want = slices.Delete(slices.Clone(want), from, s.counts[blocks])
		var damage *recording.DamageError
		named := len(errs) == 1 && errors.As(errs[0], &damage) && damage.Offset == int64(begin) && damage.Block == blocks &&
			(errors.Is(damage, recording.ErrChecksum) || at < begin+4 && errors.Is(damage, recording.ErrMalformed))
		left := errs == nil && (info.Skipped > 0) != (info.Cut > 0) // found by the walk
		if !named && (closed || !left) {
			t.Errorf("byte %d in block %d at %d: got errors %v, %d skipped, %d cut", at, blocks, begin, errs, info.Skipped, info.Cut)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("byte %d in block %d: got %d records, want %d", at, blocks, len(got), len(want))
	}
	report, err := recording.Verify(r)
	if must(t, err); report.Whole() {
		t.Errorf("byte %d in block %d: it is called whole", at, blocks)
	}
}

func TestReader_doesNotTakeARecordingInAMessageForBlocks(t *testing.T) {
	inner := smallFile(t, recording.None)
	var b bytes.Buffer
	w, err := recording.NewWriter(&b, recording.Header{}, recording.Config{BlockBytes: 256})
	must(t, err)
	write(t, w, message(0, alice, 1, 1, "before"))
	must(t, w.Flush())
	begin := b.Len()
	write(t, w, message(1, alice, 1, 2, string(inner.bytes)))
	write(t, w, message(2, alice, 1, 3, "after"))
	must(t, w.Flush())
	b.Bytes()[begin+20]++ // the header of the block with the inner one
	want := forms(message(0, alice, 1, 1, "before"), message(2, alice, 1, 3, "after"))
	r := open(t, b.Bytes())
	if got := readAll(t, r); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if info := r.Info(); info.Skipped < int64(len(inner.bytes)) || info.Cut != 0 {
		t.Errorf("got %d bytes skipped and %d cut, want those of the damaged block skipped", info.Skipped, info.Cut)
	}
}

// TestReader_doesNotTakeBlocksThatAreThereTwice: those that a disk has kept of the same file.
func TestReader_doesNotTakeBlocksThatAreThereTwice(t *testing.T) {
	s := smallFile(t, recording.None)
	twice := func(between string) []byte {
		b := append(bytes.Clone(s.bytes[:s.ends[2]]), between...)
		return append(b, s.bytes[s.header:s.ends[0]]...)
	}
	for _, between := range []string{"", "junk"} {
		r := open(t, twice(between))
		if got, want := readAll(t, r), s.records[:s.counts[2]]; !slices.Equal(got, want) {
			t.Errorf("with %q between: got %d records, want %d", between, len(got), len(want))
		}
		if info := r.Info(); info.Cut != int64(len(between)+s.ends[0]-s.header) {
			t.Errorf("with %q between: got %d bytes cut", between, info.Cut)
		}
	}
}

// TestReader_leavesOutBlocksWithoutContent: after a power failure a file may have its size and,
// at its end, zeros.
func TestReader_leavesOutBlocksWithoutContent(t *testing.T) {
	s := smallFile(t, recording.None)
	last := len(s.ends) - 1
	b := bytes.Clone(s.bytes[:s.ends[last]])
	for i := last - 1; i <= last; i++ {
		clear(b[s.ends[i]-20 : s.ends[i]])
	}
	r := open(t, b)
	if got, want := readAll(t, r), s.records[:s.counts[last-2]]; !slices.Equal(got, want) {
		t.Errorf("got %d records, want %d", len(got), len(want))
	}
	if info := r.Info(); info.Cut != int64(len(b)-s.ends[last-2]) {
		t.Errorf("got %d bytes cut, want the last two blocks", info.Cut)
	}
	b = append(b[:s.ends[0]], make([]byte, 3<<20)...)
	if got, want := readAll(t, open(t, b)), s.records[:s.counts[0]]; !slices.Equal(got, want) {
		t.Errorf("zeros: got %d records, want %d", len(got), len(want))
	}
}
