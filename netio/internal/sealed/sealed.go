// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package sealed makes memory that its owner writes and other processes of the host can be
// given to read: a file without a name, which is mapped and then sealed.
package sealed

import (
	"errors"
	"math"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Seals are those of the files: the size never changes, and only the mapping of the
// owner, which was there before them, can be written.
const Seals = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_FUTURE_WRITE | unix.F_SEAL_SEAL

// Alloc returns n zeroed bytes, at least 1, and their file. All of the memory is there: later
// the system would end the process that finds none.
//
//   - name: for people who look at the mappings of a process.
//   - Errors: the system's; ENOMEM or ENOSPC if there is not so much memory. EINVAL by
//     the seals before Linux 5.1.
func Alloc(name string, n int) (fd int, mem []byte, err error) {
	if n > uncheckedBytes && n > available() {
		return -1, nil, unix.ENOMEM
	}
	fd, err = create(name)
	if err != nil {
		return -1, nil, err
	}
	if mem, err = fill(fd, n); err != nil {
		_ = unix.Close(fd)
		return -1, nil, err
	}
	return fd, mem, nil
}

// uncheckedBytes may be asked for without a look at what there is.
const uncheckedBytes = 16 << 20

// available returns how much memory the system has left, with its swap space. A system that
// is asked for more ends processes, any of them, before it says no. Other programs may
// take it meanwhile.
func available() int {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return math.MaxInt
	}
	return left(string(text))
}

// left returns what a text of /proc/meminfo says is left; math.MaxInt if it does not say.
func left(meminfo string) int {
	total, known := 0, false
	for line := range strings.Lines(meminfo) {
		words := strings.Fields(line) // a name, a number, kB
		if len(words) < 2 || words[0] != "MemAvailable:" && words[0] != "SwapFree:" {
			continue
		}
		if n, err := strconv.Atoi(words[1]); err == nil && n <= math.MaxInt>>11 {
			total += n << 10
			known = known || words[0] == "MemAvailable:"
		}
	}
	if !known {
		return math.MaxInt
	}
	return total
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

// fill gives a file its memory, maps it and seals it.
func fill(fd, n int) ([]byte, error) {
	if err := unix.Ftruncate(fd, int64(n)); err != nil {
		return nil, err
	}
	for {
		err := unix.Fallocate(fd, 0, 0, int64(n))
		if err == nil {
			break
		}
		if !errors.Is(err, unix.EINTR) {
			return nil, err
		}
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
