// SPDX-License-Identifier: Apache-2.0

package netio_test

import (
	"runtime"
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
