// SPDX-License-Identifier: Apache-2.0

package tcp

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"tagbus/netio"
)

// BreakConnection resets the connection of an endpoint, as a network does that
// gives it up: both ends hear of it, and lose what is under way. Connecting a
// socket to AF_UNSPEC is how the system offers that (connect(2)). Threads: any.
func BreakConnection(ep netio.Endpoint) {
	e := ep.(*endpoint)
	e.backend.EventLoop.Post(func() {
		if e.fd >= 0 {
			nowhere := unix.RawSockaddr{Family: unix.AF_UNSPEC}
			// It fails only if the connection has ended meanwhile.
			_, _, _ = unix.RawSyscall(unix.SYS_CONNECT, uintptr(e.fd), uintptr(unsafe.Pointer(&nowhere)), unsafe.Sizeof(nowhere))
		}
	})
}
