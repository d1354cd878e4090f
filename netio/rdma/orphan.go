// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package rdma

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// watchedBy returns the descriptors that an epoll descriptor watches, as the
// system lists them (proc(5)):
//
//	tfd:       12 events:       19 data: ...
func watchedBy(epfd int) (fds []int) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/self/fdinfo/%d", epfd))
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		var fd int
		if n, _ := fmt.Sscanf(line, "tfd: %d", &fd); n == 1 {
			fds = append(fds, fd)
		}
	}
	return fds
}

// isOrphan reports whether a descriptor is a socket of the internet that does not
// listen.
func isOrphan(fd int) bool {
	internet, listens := isInternet(fd)
	return internet && !listens
}

// isInternet reports whether a descriptor is a socket of the internet, and whether
// that listens.
func isInternet(fd int) (is, listens bool) {
	domain, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
	if err != nil || domain != unix.AF_INET && domain != unix.AF_INET6 {
		return false, false
	}
	accepts, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ACCEPTCONN)
	return err == nil, accepts != 0
}

// endSocket ends both directions of a socket that is not ours, which leaves it
// open for its owner to find that out.
func endSocket(fd int) { _ = unix.Shutdown(fd, unix.SHUT_RDWR) }
