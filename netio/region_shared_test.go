// SPDX-License-Identifier: Apache-2.0

package netio_test

import (
	"errors"
	"runtime"
	"sync"
	"syscall"
	"testing"

	"tagbus/internal/testkit"
	"tagbus/netio"
)

func TestSharedRegionHasAFile(t *testing.T) {
	for _, n := range []int{1, 4096, 1 << 20} {
		region, err := netio.AllocSharedRegion(n)
		if err != nil {
			t.Fatalf("AllocSharedRegion(%d): got error %v, want none", n, err)
		}
		if len(region) != n {
			t.Errorf("AllocSharedRegion(%d): got %d bytes, want %d", n, len(region), n)
		}
		for i := range region {
			region[i]++
		}
		_, ok := netio.RegionFile(region)
		if want := !testkit.Race && runtime.GOOS == "linux"; ok != want {
			t.Errorf("RegionFile: got %t, want %t", ok, want)
		}
		if _, ok := netio.RegionFile(region[:n-1]); ok {
			t.Errorf("RegionFile of a part: got a file, want none")
		}
		if err := netio.FreeRegion(region); err != nil {
			t.Errorf("FreeRegion: got error %v, want none", err)
		}
		if _, ok := netio.RegionFile(region); ok {
			t.Errorf("RegionFile of a region that was freed: got a file, want none")
		}
	}
}

func TestOtherMemoryHasNoFile(t *testing.T) {
	region, err := netio.AllocRegion(4096)
	if err != nil {
		t.Fatalf("AllocRegion: got error %v, want none", err)
	}
	defer func() { _ = netio.FreeRegion(region) }()
	for _, mem := range [][]byte{nil, {}, make([]byte, 10), region} {
		if _, ok := netio.RegionFile(mem); ok {
			t.Errorf("RegionFile of %d bytes of other memory: got a file, want none", len(mem))
		}
	}
}

func TestAllocSharedRegionRefusesWhatIsNoSize(t *testing.T) {
	for _, n := range []int{0, -1} {
		if _, err := netio.AllocSharedRegion(n); err == nil {
			t.Errorf("AllocSharedRegion(%d): got no error, want one", n)
		}
	}
}

// TestCommitRegion: in steps, of all that ask for it together, and the bytes stay.
func TestCommitRegion(t *testing.T) {
	if testkit.Race || runtime.GOOS != "linux" {
		t.Skip("shared regions need Linux, and a build without the race detector")
	}
	const n = 3<<20 + 1
	region, err := netio.AllocSharedRegion(n)
	if err != nil {
		t.Fatalf("AllocSharedRegion: got error %v, want none", err)
	}
	region[0], region[n-1] = 1, 2
	for i, budget := range []int{0, 1 << 20, 0, -1, 2 << 20} {
		if done, err := netio.CommitRegion(region, budget); done || err != nil {
			t.Errorf("CommitRegion, call %d: got %t, error %v, want false: 1 byte is missing", i, done, err)
		}
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if done, err := netio.CommitRegion(region, 1); !done || err != nil {
				t.Errorf("CommitRegion of the last byte: got %t, error %v, want all of it", done, err)
			}
		})
	}
	wg.Wait()
	if done, err := netio.CommitRegion(region, 0); !done || err != nil {
		t.Errorf("CommitRegion of one that is: got %t, error %v, want all of it", done, err)
	}
	if region[0] != 1 || region[n-1] != 2 {
		t.Errorf("first and last byte: got %d and %d, want 1 and 2", region[0], region[n-1])
	}
	_ = netio.FreeRegion(region)
}

func TestCommitRegionRefusesOtherMemory(t *testing.T) {
	shared, err := netio.AllocSharedRegion(8192)
	if err != nil {
		t.Fatalf("AllocSharedRegion: got error %v, want none", err)
	}
	for _, mem := range [][]byte{nil, make([]byte, 10), shared[:4096], shared[4096:]} {
		if done, err := netio.CommitRegion(mem, 4096); done || !errors.Is(err, syscall.EINVAL) {
			t.Errorf("CommitRegion of %d bytes of other memory: got %t, error %v, want %v", len(mem), done, err, syscall.EINVAL)
		}
	}
	_ = netio.FreeRegion(shared)
	if done, err := netio.CommitRegion(shared, 4096); done || !errors.Is(err, syscall.EINVAL) {
		t.Errorf("CommitRegion of a region that was freed: got %t, error %v, want %v", done, err, syscall.EINVAL)
	}
}
