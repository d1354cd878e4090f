// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shm

import (
	"fmt"

	"golang.org/x/sys/unix"

	"tagbus/netio"
)

// lentFile is the file of a region that peers are to see.
type lentFile struct {
	region    region // nil: it has no file, and is copied
	fd        int
	committed bool // known to be
}

// lend returns a descriptor of its own of the region's file, as the region may be freed
// before peers have got it. Errors: the system's.
func lend(mem []byte) (lentFile, error) {
	fd, ok := netio.RegionFile(mem)
	if !ok {
		return lentFile{fd: -1}, nil
	}
	own, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return lentFile{}, fmt.Errorf("duplicate the descriptor of the region: %w", err)
	}
	return lentFile{region: mem, fd: own}, nil
}

// close closes the descriptor. Peers keep the memory.
func (f *lentFile) close() {
	if f.region != nil {
		_ = unix.Close(f.fd)
		*f = lentFile{fd: -1}
	}
}
