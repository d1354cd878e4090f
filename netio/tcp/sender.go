// SPDX-License-Identifier: Apache-2.0

package tcp

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	maxVectors = 1024 // what the system takes in one call (IOV_MAX)

	// batchBytes is how much is offered to the system in one call, or one
	// message more. It is several pages: a call for each costs a third.
	batchBytes = 512 << 10
)

// sender collects pieces of memory and writes them with one system call. It is
// used like this: skip, add until full, send.
type sender struct {
	most    int          // bytes with which it is full
	bytes   int          // in vectors
	before  int          // bytes to leave out before the first
	vectors []unix.Iovec // up to maxVectors; their memory grows to the most that were needed
	message unix.Msghdr
}

// skip leaves out the first n bytes that are added.
func (s *sender) skip(n int) { s.before = n }

// skipped says that n bytes to be left out are not going to be added.
func (s *sender) skipped(n int) { s.before -= n }

// full reports whether the system call has enough to do.
func (s *sender) full() bool { return s.bytes >= s.most || len(s.vectors) == maxVectors }

// add appends a piece. It returns false if there is no place for it.
func (s *sender) add(v unix.Iovec) bool {
	n := int(v.Len)
	if s.before > 0 {
		if s.before >= n {
			s.before -= n
			return true
		}
		v.Base = (*byte)(unsafe.Add(unsafe.Pointer(v.Base), s.before))
		n -= s.before
		v.SetLen(n)
		s.before = 0
	}
	if len(s.vectors) > 0 {
		// Copied messages lie behind each other.
		last := &s.vectors[len(s.vectors)-1]
		if uintptr(unsafe.Pointer(last.Base))+uintptr(last.Len) == uintptr(unsafe.Pointer(v.Base)) {
			last.SetLen(int(last.Len) + n)
			s.bytes += n
			return true
		}
	}
	if len(s.vectors) == maxVectors {
		return false
	}
	s.vectors = append(s.vectors, v)
	s.bytes += n
	return true
}

// send writes what was added, and forgets it.
func (s *sender) send(fd int) (int, unix.Errno) {
	s.message.Iov = &s.vectors[0]
	s.message.SetIovlen(len(s.vectors))
	n, errno := sendMessage(fd, &s.message)
	s.forget()
	return n, errno
}

// forget forgets what was added, which would keep the users' memory alive.
func (s *sender) forget() {
	clear(s.vectors)
	s.vectors, s.bytes = s.vectors[:0], 0
}
