// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shm

import (
	"errors"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Whatever may write to a socket can pass files along, and the last one to close a file may wait
// for as long as its maker likes: for a TCP connection that lingers, or for the daemon of a file
// system. The system itself closes files for which the reader has no room, and those in a socket
// that is closed unread, in that very call. So each message is read with room for all files that it
// can have, a socket is read empty before it is closed, and no goroutine of this package closes
// what it does not know.

// maxRights is how many files can come with a message (SCM_MAX_FD).
const maxRights = 253

// rightsBuffer has room for that many, on processors of 32 bits too.
type rightsBuffer [16 + maxRights*4 + 4]byte

// receive reads bytes of a stream, and the control messages with them. It does not wait.
//
//   - m: bytes of control; 0: no file has come.
func receive(fd int, p []byte, control *rightsBuffer) (n, m, flags int, errno unix.Errno) {
	iov := unix.Iovec{Base: unsafe.SliceData(p)}
	iov.SetLen(len(p))
	message := unix.Msghdr{Iov: &iov, Control: &control[0]}
	message.SetIovlen(1)
	message.SetControllen(len(control))
	for {
		got, _, errno := unix.RawSyscall(unix.SYS_RECVMSG, uintptr(fd), uintptr(unsafe.Pointer(&message)), unix.MSG_DONTWAIT|unix.MSG_CMSG_CLOEXEC)
		switch errno {
		case 0:
			return int(got), int(message.Controllen), int(message.Flags), 0
		case unix.EINTR:
		default:
			return 0, 0, 0, errno
		}
	}
}

// rights returns the files that have come with a message.
func rights(control []byte) (files []int) {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return nil // the system has written it
	}
	for _, m := range messages {
		if got, err := unix.ParseUnixRights(&m); err == nil {
			files = append(files, got...)
		}
	}
	return files
}

// discard closes files that another process has passed. It does not wait.
func discard(files []int) {
	for _, fd := range files {
		if isForeign(fd) {
			foreign.close(fd)
			continue
		}
		_ = unix.Close(fd)
	}
}

// isForeign reports whether a file may be more than memory, which can be sealed. The system asks no
// file system for that.
func isForeign(fd int) bool {
	_, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
	return err != nil
}

// maxCloseReads is how many messages closeSocket reads.
const maxCloseReads = 16

// closeSocket closes a socket to which a peer may have written. It does not wait. What lies in it when many files wait to be
// closed takes no descriptors: it is closed as a whole, behind these.
func closeSocket(fd int) {
	_ = unix.Shutdown(fd, unix.SHUT_RD) // from here on nothing comes
	var junk [256]byte
	var control rightsBuffer
	for range maxCloseReads {
		if foreign.full() {
			break
		}
		n, m, _, errno := receive(fd, junk[:], &control)
		if m > 0 {
			discard(rights(control[:m]))
		}
		if n == 0 || errno != 0 { // EAGAIN, mostly
			_ = unix.Close(fd)
			return
		}
	}
	_ = unix.Shutdown(fd, unix.SHUT_RDWR) // which the peer sees
	foreign.close(fd)
}

const (
	// maxClosers is how many files are being closed at once.
	maxClosers = 4

	// maxForeign is how many files may wait for that before no connection is accepted, and none that was is let in, that
	// could bring more.
	maxForeign = 64
)

// errForeign is why nothing is accepted then.
var errForeign = errors.New("files that other processes have passed cannot be closed, as these hold them up: look which programs use the folder of the sockets")

// foreign closes the files of all backends of the process.
var foreign closers

// closers close files on goroutines of their own.
//
// Threads: any.
type closers struct {
	mu      sync.Mutex
	waiting []int
	running int
}

// close closes a file later.
func (c *closers) close(fd int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = append(c.waiting, fd)
	if c.running < maxClosers {
		c.running++
		go c.run()
	}
}

// full reports whether too many files wait.
func (c *closers) full() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.waiting) >= maxForeign
}

// run closes until none waits.
func (c *closers) run() {
	for {
		c.mu.Lock()
		if len(c.waiting) == 0 {
			c.waiting = nil
			c.running--
			c.mu.Unlock()
			return
		}
		fd := c.waiting[0]
		c.waiting = c.waiting[1:]
		c.mu.Unlock()
		_ = unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1}) // if it is a socket
		_ = unix.Close(fd)
	}
}
