// SPDX-License-Identifier: Apache-2.0

package netio_test

import (
	"fmt"
	"os"
	"testing"

	"tagbus/internal/testkit"
	"tagbus/netio"
)

func TestRegionIsZeroedAndWritable(t *testing.T) {
	for _, n := range []int{1, 4095, 4096, 4097, 1 << 20} {
		region, err := netio.AllocRegion(n)
		if err != nil {
			t.Fatalf("AllocRegion(%d): got error %v, want none", n, err)
		}
		if len(region) != n {
			t.Errorf("AllocRegion(%d): got %d bytes, want %d", n, len(region), n)
		}
		for i, b := range region {
			if b != 0 {
				t.Fatalf("byte %d of a new region: got %#x, want 0", i, b)
			}
			region[i] = 0xFF
		}
		if err := netio.FreeRegion(region); err != nil {
			t.Errorf("FreeRegion: got error %v, want none", err)
		}
	}
}

func TestAllocRegionRefusesWhatIsNoSize(t *testing.T) {
	for _, n := range []int{0, -1} {
		if _, err := netio.AllocRegion(n); err == nil {
			t.Errorf("AllocRegion(%d): got no error, want one", n)
		}
	}
}

// TestRegionIsOutsideTheHeap shows the difference of the two builds: the page
// that the system maps begins on a page, and unmapping takes it away.
func TestRegionIsOutsideTheHeap(t *testing.T) {
	if testkit.Race {
		t.Skip("a race build takes regions from the Go heap")
	}
	const n = 64 << 20
	before := mapped(t)
	region, err := netio.AllocRegion(n)
	if err != nil {
		t.Fatalf("AllocRegion: got error %v, want none", err)
	}
	if got := mapped(t) - before; got < n {
		t.Errorf("address space taken by a region of %d bytes: got %d, want at least as much", n, got)
	}
	if err := netio.FreeRegion(region); err != nil {
		t.Fatalf("FreeRegion: got error %v, want none", err)
	}
	if got := mapped(t) - before; got >= n {
		t.Errorf("address space taken after FreeRegion: got %d, want less than %d", got, n)
	}
	if err := netio.FreeRegion(region); err == nil {
		t.Error("FreeRegion of a region that was freed: got no error, want one")
	}
}

// mapped returns the size of the process's address space in bytes.
func mapped(t *testing.T) int {
	t.Helper()
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatalf("read the size of the process: got error %v, want none", err)
	}
	pages := 0
	if _, err := fmt.Sscan(string(statm), &pages); err != nil {
		t.Fatalf("parse %q: got error %v, want a number first", statm, err)
	}
	return pages * os.Getpagesize()
}
