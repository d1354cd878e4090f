// SPDX-License-Identifier: Apache-2.0

//go:build linux && !race

package netio

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// AllocRegion returns n zeroed bytes outside the Go heap: memory that the
// garbage collector neither scans nor moves, that cgo may keep, and that one
// registration covers. Free it with FreeRegion. The system commits its memory
// as it is touched.
//
// In a race build it comes from the Go heap, because the race detector does
// not see accesses to mapped memory, and so it does on other systems than Linux.
//
// Errors: ErrNoMemory, and others of the system, wrapped. Threads: any.
func AllocRegion(n int) ([]byte, error) {
	if err := CheckMemory(int64(n)); err != nil {
		return nil, err
	}
	mem, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if errors.Is(err, unix.ENOMEM) {
		err = fmt.Errorf("%w: %w", ErrNoMemory, err)
	}
	if err != nil {
		return nil, fmt.Errorf("netio: map a region of %d bytes: %w", n, err)
	}
	return mem, nil
}

// FreeRegion returns a region of AllocRegion or AllocSharedRegion to the system. It must
// not be touched afterwards.
func FreeRegion(region []byte) error {
	forgetShared(region)
	if err := unix.Munmap(region); err != nil {
		return fmt.Errorf("netio: unmap a region of %d bytes: %w", len(region), err)
	}
	return nil
}
