// SPDX-License-Identifier: Apache-2.0

//go:build race || !linux

package netio

import (
	"fmt"
	"sync"
)

// AllocRegion returns n zeroed bytes of the Go heap; see the build for Linux
// without the race detector.
func AllocRegion(n int) ([]byte, error) {
	if n <= 0 {
		return nil, fmt.Errorf("netio: map a region of %d bytes: invalid argument", n)
	}
	if err := CheckMemory(int64(n)); err != nil {
		return nil, err
	}
	if region := spare.take(n); region != nil {
		return region, nil
	}
	return make([]byte, n), nil
}

// FreeRegion leaves region to the next AllocRegion of its size, or to the garbage collector.
func FreeRegion(region []byte) error {
	spare.keep(region)
	return nil
}

// spare are regions that were freed, for tests that open a publisher after another: the race
// detector notes something for each word of new memory, which takes longer than most tests. It
// finds an access after FreeRegion, as a race with the next user of the memory.
var spare spareRegions

const (
	minSpareBytes = 1 << 20 // smaller ones cost little
	maxSpareBytes = 256 << 20
)

type spareRegions struct {
	mu    sync.Mutex
	sizes map[int][][]byte
	bytes int
}

// take returns a region of n bytes, nil if there is none.
func (s *spareRegions) take(n int) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.sizes[n]
	if len(all) == 0 {
		return nil
	}
	region := all[len(all)-1]
	s.sizes[n], s.bytes = all[:len(all)-1], s.bytes-n
	zero(region)
	return region
}

func (s *spareRegions) keep(region []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(region)
	if n < minSpareBytes || s.bytes+n > maxSpareBytes {
		return
	}
	if s.sizes == nil {
		s.sizes = make(map[int][][]byte)
	}
	s.sizes[n], s.bytes = append(s.sizes[n], region), s.bytes+n
}

// zero is no access to the race detector, for which each word would be one.
//
//go:norace
func zero(region []byte) { clear(region) }
