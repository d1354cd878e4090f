// SPDX-License-Identifier: Apache-2.0

//go:build linux

package reactor

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

var one uint64 = 1 // what is added to an eventfd; only read

// newEventfd returns an eventfd of value 0.
func newEventfd() (int, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return -1, &OpError{"create eventfd", -1, err}
	}
	return fd, nil
}

// notify adds 1 to an eventfd. Every eventfd here is registered edge-triggered,
// for which each write is an event; so it is never read, and one system call
// per wake-up is saved. It overflows after 2^64 writes.
func notify(fd int) {
	for {
		_, _, errno := unix.RawSyscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(&one)), 8)
		if errno != unix.EINTR {
			return
		}
	}
}

// readCounter reads the number of expirations of a timerfd into n; it returns
// false if there is none.
func readCounter(fd int, n *uint64) bool {
	for {
		_, _, errno := unix.RawSyscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(n)), 8)
		if errno != unix.EINTR {
			return errno == 0
		}
	}
}
