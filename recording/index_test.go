// SPDX-License-Identifier: Apache-2.0

package recording_test

import (
	"errors"
	"math"
	"testing"

	"tagbus/internal/testkit"
	"tagbus/recording"
)

// sparse is a file of zeros except for its beginning, an index and its end.
type sparse struct {
	size, indexAt     int64
	head, index, foot []byte
	fails             bool // where there is nothing but zeros
}

var errZeros = errors.New("nothing but zeros")

// ReadAt implements io.ReaderAt.
func (s *sparse) ReadAt(b []byte, offset int64) (int, error) {
	clear(b)
	some := false
	for at, part := range map[int64][]byte{0: s.head, s.indexAt: s.index, s.size - int64(len(s.foot)): s.foot} {
		from, to := max(at, offset), min(at+int64(len(part)), offset+int64(len(b)))
		if from < to {
			copy(b[from-offset:to-offset], part[from-at:])
			some = true
		}
	}
	if s.fails && !some {
		return 0, errZeros
	}
	return len(b), nil
}

// withIndex returns a file whose footer names an index of so many blocks, of which there is
// nothing but a header.
func withIndex(blocks uint64, magic string) *sparse {
	s := new(sparse)
	var seed uint32
	s.head, seed = rawHeader(0, recording.ID{1}, 0, nil)
	s.indexAt = int64(len(s.head)) + int64(blocks)*64
	s.index = le.AppendUint64(append([]byte(magic), 0, 0, 0, 0), blocks)
	s.size = s.indexAt + 16 + int64(blocks)*32 + 48
	foot := le.AppendUint64([]byte{0, 0, 0, 0}, uint64(s.indexAt))
	foot = le.AppendUint64(foot, blocks)
	foot = le.AppendUint64(le.AppendUint64(foot, 0), 0)
	foot = append(foot, "TBRend\r\n"...)
	s.foot = append(le.AppendUint32(nil, crc(seed, foot)), foot...)
	return s
}

// TestReader_readsAnIndexWhereThereIsOne: what a footer says takes no memory.
func TestReader_readsAnIndexWhereThereIsOne(t *testing.T) {
	if testkit.Race {
		t.Skip("the race detector takes memory, which is what is tested")
	}
	s := withIndex(1<<19, "none")
	got := allocated(func() {
		r, err := recording.NewReader(s, s.size, recording.ReaderConfig{})
		must(t, err)
		if i := r.Info(); i.Indexed || i.Blocks != 0 {
			t.Errorf("got %+v, want no index", i)
		}
	})
	if got > 4<<20 {
		t.Errorf("got %d bytes allocated for an index of %d that is not there", got, 32<<19)
	}
}

// TestReader_anIndexThatMemoryCannotHave is none: where an int has 32 bits its size would be
// negative, or that of what is made of it.
func TestReader_anIndexThatMemoryCannotHave(t *testing.T) {
	if math.MaxInt > math.MaxInt32 {
		t.Skip("an int holds the size of any index of a file")
	}
	for _, blocks := range []uint64{1<<31/40 + 1, 1 << 26, 1<<26 + 1, 1 << 27} {
		s := withIndex(blocks, "TBRi")
		s.fails = true // a walk would take long
		if _, err := recording.NewReader(s, s.size, recording.ReaderConfig{}); !errors.Is(err, errZeros) {
			t.Errorf("%d blocks: got %v, want a walk", blocks, err)
		}
	}
}
