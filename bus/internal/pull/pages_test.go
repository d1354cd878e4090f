// SPDX-License-Identifier: Apache-2.0

package pull

import (
	"testing"

	"tagbus/netio"
)

// memory is memory of a transport, which can be kept.
type memory struct {
	bytes    int
	kept     int
	released int
	err      error
}

func (m *memory) Retain() (netio.Retained, error) {
	if m.err != nil {
		return nil, m.err
	}
	m.kept++
	return m, nil
}
func (m *memory) Bytes() int { return m.bytes }
func (m *memory) Release()   { m.released++ }

// TestPages_share_pagesOf64KiB: in the blocks of package tcp a page with one message of 64 KiB was a little
// less than a quarter, and each was copied.
func TestPages_share_pagesOf64KiB(t *testing.T) {
	const block = (256 + 4) << 10
	for _, test := range []struct {
		size   int
		shared bool
	}{{leastShared - 1, false}, {leastShared, false}, {block / 6, false}, {64 << 10, true}, {block, true}} {
		m := &memory{bytes: block}
		pages := Pages{Retain: m.Retain}
		got := pages.share(test.size)
		if (got != nil) != test.shared {
			t.Errorf("a page of %d bytes: shared is %v, want %v", test.size, got != nil, test.shared)
		}
		if got != nil {
			got.Release()
		}
		if m.released != m.kept {
			t.Errorf("a page of %d bytes: memory was kept %d times and given back %d times", test.size, m.kept, m.released)
		}
	}
}

// TestPages_share_oneMemory: what has been kept for a large page is kept for small ones, too, and is
// given back after the last.
func TestPages_share_oneMemory(t *testing.T) {
	m := &memory{bytes: 100 << 10}
	pages := Pages{Retain: m.Retain}
	large := pages.share(50 << 10)
	small := pages.share(leastShared)
	if large == nil || small != large {
		t.Fatalf("got %p and %p, want the same memory", large, small)
	}
	large.Release()
	if m.kept-m.released != 1 {
		t.Errorf("kept %d times while a page is used, want once", m.kept-m.released)
	}
	small.Release()
	if m.kept != m.released {
		t.Errorf("kept %d times after the last page, want never", m.kept-m.released)
	}
	if again := pages.share(leastShared); again != nil {
		t.Error("a small page keeps memory that was given back")
	}
}
