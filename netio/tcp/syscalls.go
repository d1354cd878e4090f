// SPDX-License-Identifier: Apache-2.0

package tcp

import (
	"encoding/binary"
	"net/netip"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The calls in this file never block: the sockets are non-blocking. So they go
// past the scheduler, which would otherwise be called twice per call, and might
// give the processor to another goroutine meanwhile.

// read reads up to len(p) bytes. It returns 0 and no error at the end of the
// stream.
func read(fd int, p []byte) (int, unix.Errno) {
	for {
		n, _, errno := unix.RawSyscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
		if errno != unix.EINTR {
			return int(n), errno
		}
	}
}

// peek returns what read would, without taking it: 1 if there are bytes, EAGAIN if there
// are none, 0 at the end of the stream, or an error.
func peek(fd int) (int, unix.Errno) {
	for {
		var one byte
		n, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(&one)), 1, unix.MSG_PEEK|unix.MSG_DONTWAIT, 0, 0)
		if errno != unix.EINTR {
			return int(n), errno
		}
	}
}

// peekAt is peek for up to len(p) bytes, which it copies to p.
func peekAt(fd int, p []byte) (int, unix.Errno) {
	for {
		n, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)),
			unix.MSG_PEEK|unix.MSG_DONTWAIT, 0, 0)
		switch errno {
		case 0:
			return int(n), 0
		case unix.EINTR:
		default:
			return 0, errno
		}
	}
}

// accept takes the next connection off a listening socket.
func accept(listener int) (fd int, remote netip.AddrPort, errno unix.Errno) {
	for {
		var raw unix.RawSockaddrAny
		size := uint32(unix.SizeofSockaddrAny)
		r, _, errno := unix.RawSyscall6(unix.SYS_ACCEPT4, uintptr(listener), uintptr(unsafe.Pointer(&raw)),
			uintptr(unsafe.Pointer(&size)), unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0, 0)
		switch errno {
		case 0:
			return int(r), addrOfRaw(&raw), 0
		case unix.EINTR:
		default:
			return -1, netip.AddrPort{}, errno
		}
	}
}

// discard throws away what has been received and not read. A socket that is
// closed with unread bytes resets the connection, and the peer may lose what
// was sent to it before.
func discard(fd int) {
	for did := 0; did < maxDiscardBytes; {
		n, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(&discarded)), unsafe.Sizeof(discarded),
			unix.MSG_TRUNC|unix.MSG_DONTWAIT, 0, 0)
		switch {
		case errno == unix.EINTR:
		case errno != 0 || n < unsafe.Sizeof(discarded): // nothing is left, or only what comes now
			return
		default:
			did += int(n)
		}
	}
}

// maxDiscardBytes is more than a socket holds, and takes the loop some milliseconds where a peer goes on sending.
const maxDiscardBytes = 64 << 20

// discarded is where a discard would write, if it did. Linux takes any address; valgrind, which watches a program
// in C, holds what is there for written: at address 0 that was all that the program has.
var discarded [1 << 20]byte

func addrOfRaw(raw *unix.RawSockaddrAny) netip.AddrPort {
	switch raw.Addr.Family {
	case unix.AF_INET:
		in := (*unix.RawSockaddrInet4)(unsafe.Pointer(raw))
		return netip.AddrPortFrom(netip.AddrFrom4(in.Addr), portOf(&in.Port))
	case unix.AF_INET6:
		in := (*unix.RawSockaddrInet6)(unsafe.Pointer(raw))
		return addrOf6(in.Addr, in.Scope_id, portOf(&in.Port))
	}
	return netip.AddrPort{}
}

// portOf reads a port that lies in memory in network byte order.
func portOf(p *uint16) uint16 {
	return binary.BigEndian.Uint16((*[2]byte)(unsafe.Pointer(p))[:])
}
