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
	files map[*byte]sharedRegion
}

type sharedRegion struct {
	fd    int
	bytes int
}

// AllocSharedRegion is AllocRegion for memory that a backend can show to other processes
// of this host, which can read it and not write it: as Params.ZeroCopy.Region it is sent
// without copying by a backend in shared memory, and as any other by the rest. RegionFile
// has its file. The system commits all of it now, and counts it as this process's. Free
// it with FreeRegion.
//
// In a race build, and on other systems than Linux, it is AllocRegion, and there is no file.
//
// Errors: ErrNoMemory, and others of the system, wrapped. Threads: any.
func AllocSharedRegion(n int) ([]byte, error) {
	if err := CheckMemory(int64(n)); err != nil {
		return nil, err
	}
	fd, mem, err := sealed.Alloc("tagbus-region", n)
	if errors.Is(err, unix.ENOMEM) || errors.Is(err, unix.ENOSPC) {
		err = fmt.Errorf("%w: %w", ErrNoMemory, err)
	}
	if err != nil {
		return nil, fmt.Errorf("netio: share a region of %d bytes: %w", n, err)
	}
	s := &sharedRegions
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.files == nil {
		s.files = make(map[*byte]sharedRegion)
	}
	s.files[unsafe.SliceData(mem)] = sharedRegion{fd, n}
	return mem, nil
}

// RegionFile returns the file of a region of AllocSharedRegion, which is sealed: with it
// another process maps the region for reading. ok is false for any other memory. The
// descriptor stays the region's, and is valid until FreeRegion. Threads: any.
func RegionFile(region []byte) (fd int, ok bool) {
	s := &sharedRegions
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.files[unsafe.SliceData(region)]
	if !ok || r.bytes != len(region) {
		return -1, false
	}
	return r.fd, true
}

// forgetShared closes the file of a region that is to be freed, if it has one.
func forgetShared(region []byte) {
	s := &sharedRegions
	s.mu.Lock()
	defer s.mu.Unlock()
	at := unsafe.SliceData(region)
	if r, ok := s.files[at]; ok && r.bytes == len(region) {
		delete(s.files, at)
		_ = unix.Close(r.fd)
	}
}
