// SPDX-License-Identifier: Apache-2.0

// Package sizelimit tells which limit a file exceeds that is too large, and what is to be
// done. The system says no more than that it is too large, for a limit of the process, which is
// set where it is started (ulimit -f, LimitFSIZE= of systemd), and for one of the file system.
package sizelimit

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
)

// Error is that a file may not become larger.
type Error struct {
	// Bytes is how large a file of the process may be; 0 with Process false: its file system
	// takes no larger one.
	Bytes   uint64
	Process bool
}

// Error says which limit it is, and what to do.
func (e *Error) Error() string {
	if !e.Process {
		return fmt.Sprintf("%v: its file system takes no larger one: choose another place", syscall.EFBIG)
	}
	return fmt.Sprintf("%v: files of this process may have %d bytes (ulimit -f, LimitFSIZE= of systemd): raise that limit", syscall.EFBIG, e.Bytes)
}

// Is makes it the error of the system.
func (e *Error) Is(target error) bool { return target == syscall.EFBIG }

// Explain returns an error with the limit in it, if that is what it is about. It returns nil for nil.
func Explain(err error) error {
	if !errors.Is(err, syscall.EFBIG) || errors.As(err, new(*Error)) {
		return err
	}
	limit := limitOfProcess()
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		return &fs.PathError{Op: path.Op, Path: path.Path, Err: limit}
	}
	return limit
}
