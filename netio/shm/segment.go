// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shm

import (
	"errors"
	"fmt"
	"math"

	"golang.org/x/sys/unix"

	"tagbus/netio"
	"tagbus/netio/internal/sealed"
)

// needSeals are those without which memory of the other side is not mapped. The reader
// looks at them and at the size before that, so no access of either side ever faults.
const needSeals = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW

// newSegment makes a segment. The file is the caller's, to be given away and closed.
// Errors: netio.ErrNoMemory, and the system's.
func newSegment(s shape) (fd int, mem []byte, err error) {
	fd, mem, err = sealed.Alloc("tagbus-segment", s.bytes())
	if errors.Is(err, unix.ENOMEM) || errors.Is(err, unix.ENOSPC) {
		err = fmt.Errorf("%w: %w", netio.ErrNoMemory, err)
	}
	if err != nil {
		return -1, nil, fmt.Errorf("shm: make %d bytes to share: %w", s.bytes(), err)
	}
	return fd, mem, nil
}

// mapPeer maps memory of the other side for reading. Errors: ErrHandshake, wrapped, if
// the other side could change its size, or not all of it is there; the system's.
func mapPeer(fd int, n int64) ([]byte, error) {
	seals, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: a file without seals: %w", ErrHandshake, err)
	case seals&needSeals != needSeals || seals&(unix.F_SEAL_FUTURE_WRITE|unix.F_SEAL_WRITE) == 0:
		return nil, fmt.Errorf("%w: memory with seals %#x", ErrHandshake, seals)
	}
	if n > math.MaxInt {
		return nil, fmt.Errorf("shm: map %d bytes of the peer: %w: a program for this processor cannot address so much", n, netio.ErrNoMemory)
	}
	if err := isThere(fd, n); err != nil {
		return nil, err
	}
	mem, err := unix.Mmap(fd, 0, int(n), unix.PROT_READ, unix.MAP_SHARED)
	if errors.Is(err, unix.ENOMEM) {
		err = fmt.Errorf("%w: %w", netio.ErrNoMemory, err)
	}
	if err != nil {
		return nil, fmt.Errorf("shm: map %d bytes of the peer: %w", n, err)
	}
	return mem, nil
}

// isThere looks whether a sealed file of the other side has n bytes, and all of them are there: a read of
// what is not would take memory of this process, or end it where there is none. Errors: as of mapPeer.
func isThere(fd int, n int64) error {
	var fs unix.Statfs_t
	if err := retry(func() error { return unix.Fstatfs(fd, &fs) }); err != nil {
		return err
	}
	if fs.Type != unix.TMPFS_MAGIC {
		return fmt.Errorf("%w: memory of a file system of type %#x", ErrHandshake, fs.Type)
	}
	var st unix.Stat_t
	if err := retry(func() error { return unix.Fstat(fd, &st) }); err != nil {
		return err
	}
	if st.Size != n {
		return fmt.Errorf("%w: %d bytes of memory, want %d", ErrHandshake, st.Size, n)
	}
	// What lies behind the end (FALLOC_FL_KEEP_SIZE) is counted, too. This frees it, and with
	// F_SEAL_GROW none can be put there again.
	if err := retry(func() error { return unix.Ftruncate(fd, n) }); err != nil {
		return fmt.Errorf("%w: memory that cannot be cut off at its end: %w", ErrHandshake, err)
	}
	if err := retry(func() error { return unix.Fstat(fd, &st) }); err != nil {
		return err
	}
	if st.Blocks*512 < n {
		return fmt.Errorf("%w: memory of which only %d of %d bytes are there", ErrHandshake, st.Blocks*512, n)
	}
	return nil
}

// unmap undoes newSegment and mapPeer.
func unmap(mem *[]byte) {
	if *mem != nil {
		_ = unix.Munmap(*mem) // fails only for memory that is not mapped
		*mem = nil
	}
}

// retry calls f until no signal interrupts it.
func retry(f func() error) error {
	for {
		if err := f(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
