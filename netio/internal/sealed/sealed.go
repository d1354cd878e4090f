// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package sealed makes memory that its owner writes and other processes of the host can be
// given to read: a file without a name, which is mapped and then sealed.
package sealed

import (
	"errors"

	"golang.org/x/sys/unix"
)

// Seals are those of the files: the size never changes, and only the mapping of the
// owner, which was there before them, can be written.
const Seals = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_FUTURE_WRITE | unix.F_SEAL_SEAL

// Alloc is Reserve and Commit of all of it.
func Alloc(name string, n int) (fd int, mem []byte, err error) {
	fd, mem, err = Reserve(name, n)
	if err != nil {
		return -1, nil, err
	}
	if err = Commit(fd, 0, n); err != nil {
		return -1, nil, errors.Join(err, unix.Munmap(mem), unix.Close(fd))
	}
	return fd, mem, nil
}

// Reserve returns n zeroed bytes, at least 1, and their file. The memory comes as the owner
// touches it, and with Commit, before which no other process is given the file: in place
// of what is not there, a reader would take memory of its own.
//
//   - name: for people who look at the mappings of a process.
//   - Errors: the system's. EINVAL by the seals before Linux 5.1.
func Reserve(name string, n int) (fd int, mem []byte, err error) {
	fd, err = create(name)
	if err != nil {
		return -1, nil, err
	}
	if mem, err = shape(fd, n); err != nil {
		_ = unix.Close(fd)
		return -1, nil, err
	}
	return fd, mem, nil
}

// create makes a file that cannot be executed, where the system knows of that: some
// refuse others.
func create(name string) (fd int, err error) {
	const flags = unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	if fd, err = unix.MemfdCreate(name, flags|unix.MFD_NOEXEC_SEAL); errors.Is(err, unix.EINVAL) {
		return unix.MemfdCreate(name, flags)
	}
	return fd, err
}

// shape gives a file its size, maps it and seals it.
func shape(fd, n int) ([]byte, error) {
	if err := unix.Ftruncate(fd, int64(n)); err != nil {
		return nil, err
	}
	mem, err := unix.Mmap(fd, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, Seals); err != nil {
		return nil, errors.Join(err, unix.Munmap(mem))
	}
	return mem, nil
}

// Commit makes the system commit some bytes of a file of Reserve, which stay as they are. It
// takes none if there are not enough for the whole file, with some to spare: later the system
// would end a process that finds none.
//
// Errors: the system's; ENOMEM or ENOSPC if there is not so much memory.
func Commit(fd, from, to int) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if missing := st.Size - st.Blocks*512; missing > 0 && !hasRoom(missing) {
		return unix.ENOMEM
	}
	for {
		err := unix.Fallocate(fd, 0, int64(from), int64(to-from))
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
