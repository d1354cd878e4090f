// SPDX-License-Identifier: Apache-2.0

// Package syserror knows what errors of the system mean to programs: Windows has numbers of its own for some, which are
// none of those that package syscall gives it.
package syserror

import (
	"errors"
	"slices"
	"syscall"
)

// numbers are those that a system has beside the common ones.
type numbers struct{ gone, full []syscall.Errno }

var windows = numbers{
	gone: []syscall.Errno{
		109, // ERROR_BROKEN_PIPE: the other end of a pipe was closed
		232, // ERROR_NO_DATA: it is being closed
	},
	full: []syscall.Errno{
		39,   // ERROR_HANDLE_DISK_FULL
		112,  // ERROR_DISK_FULL
		1295, // ERROR_DISK_QUOTA_EXCEEDED
	},
}

// ReaderGone reports whether err, of a write, is that its reader has gone.
func ReaderGone(err error) bool { return errors.Is(err, syscall.EPIPE) || has(own.gone, err) }

// DiskFull reports whether err is that a disk has no more room, or none for this user.
func DiskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || has(own.full, err)
}

// has reports whether err is one of some numbers.
func has(some []syscall.Errno, err error) bool {
	var number syscall.Errno
	return errors.As(err, &number) && slices.Contains(some, number)
}
