// SPDX-License-Identifier: Apache-2.0

//go:build linux && !race

package netio

import (
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"tagbus/netio/internal/sealed"
)

// sharedRegions are the files of shared regions, by the address of their memory.
var sharedRegions struct {
	mu    sync.Mutex
	files map[*byte]*sharedRegion
}

type sharedRegion struct {
	bytes int

	mu        sync.Mutex
	fd        int // -1: the region was freed
	committed int // bytes from the beginning that are; the owner may have touched others
}

// AllocSharedRegion is AllocRegion for memory that a backend can show to other processes
// of this host, which can read it and not write it: as Params.ZeroCopy.Region it is sent
// without copying by a backend in shared memory, and as any other by the rest. RegionFile
// has its file. The system commits its memory as it is touched, and all of it by
// CommitRegion, or now if it promises no more than it has (vm.overcommit_memory=2). Free
// it with FreeRegion.
//
// In a race build, and on other systems than Linux, it is AllocRegion, and there is no file.
//
// Errors: ErrNoMemory, and others of the system, wrapped. Threads: any.
func AllocSharedRegion(n int) ([]byte, error) {
	if err := CheckMemory(int64(n)); err != nil {
		return nil, err
	}
	alloc, committed := sealed.Reserve, 0
	if sealed.Strict() {
		alloc, committed = sealed.Alloc, n
	}
	fd, mem, err := alloc("tagbus-region", n)
	if err != nil {
		return nil, fmt.Errorf("netio: share a region of %d bytes: %w", n, noMemory(err))
	}
	s := &sharedRegions
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.files == nil {
		s.files = make(map[*byte]*sharedRegion)
	}
	s.files[unsafe.SliceData(mem)] = &sharedRegion{bytes: n, fd: fd, committed: committed}
	return mem, nil
}

// noMemory adds ErrNoMemory to an error of the system that means it.
func noMemory(err error) error {
	if errors.Is(err, unix.ENOMEM) || errors.Is(err, unix.ENOSPC) {
		return fmt.Errorf("%w: %w", ErrNoMemory, err)
	}
	return err
}

// CommitRegion makes the system commit more of a region of AllocSharedRegion, and count it
// as this process's. It reports whether all of it is committed now, as it must be before
// another process gets the file. A region that is committed stays so.
//
//   - budget: how many bytes to commit in this call, of which each MiB takes about half a
//     millisecond; 0: only look.
//   - Errors: ErrNoMemory, and others of the system, wrapped; EINVAL for any other memory. A
//     later call goes on where this one has failed.
//   - Threads: any. Blocks: for the system, and for other calls with this region.
func CommitRegion(region []byte, budget int) (done bool, err error) {
	r := sharedRegionOf(region)
	if r == nil {
		return false, errNotShared(region)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fd < 0 {
		return false, errNotShared(region)
	}
	to := r.committed + min(r.bytes-r.committed, max(budget, 0))
	if to > r.committed {
		if err := sealed.Commit(r.fd, r.committed, to); err != nil {
			return false, fmt.Errorf("netio: commit a region of %d bytes: %w", r.bytes, noMemory(err))
		}
	}
	r.committed = to
	return to == r.bytes, nil
}

func errNotShared(region []byte) error {
	return fmt.Errorf("netio: commit %d bytes that are no shared region: %w", len(region), unix.EINVAL)
}

// sharedRegionOf returns what is known of a region of AllocSharedRegion, nil for any other
// memory.
func sharedRegionOf(region []byte) *sharedRegion {
	s := &sharedRegions
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.files[unsafe.SliceData(region)]; r != nil && r.bytes == len(region) {
		return r
	}
	return nil
}

// RegionFile returns the file of a region of AllocSharedRegion, which is sealed: with it
// another process maps the region for reading, when CommitRegion has committed all of it. ok
// is false for any other memory. The descriptor stays the region's, and is valid until
// FreeRegion. Threads: any.
func RegionFile(region []byte) (fd int, ok bool) {
	r := sharedRegionOf(region)
	if r == nil {
		return -1, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.fd, r.fd >= 0
}

// forgetShared closes the file of a region that is to be freed, if it has one.
func forgetShared(region []byte) {
	r := sharedRegionOf(region)
	if r == nil {
		return
	}
	s := &sharedRegions
	s.mu.Lock()
	delete(s.files, unsafe.SliceData(region))
	s.mu.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fd >= 0 {
		_ = unix.Close(r.fd)
		r.fd = -1
	}
}
