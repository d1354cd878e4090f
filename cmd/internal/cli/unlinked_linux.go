// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"io/fs"
	"syscall"
)

// ErrUnlinked is wrapped in what Unlinked returns. Leave files alone that are being written.
var ErrUnlinked = errors.New("it was removed while it was written: nothing of it is left")

// Unlinked returns an error if a file that is being written has been removed: writing goes on
// without an error then, and all of it is lost when it is closed. One that was moved is fine: programs
// that collect files do that.
//
//   - name: that the file has for people.
//   - Errors: ErrUnlinked, wrapped.
func Unlinked(name string, f interface{ Stat() (fs.FileInfo, error) }) error {
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil // what is wrong with it writing says
	}
	if s, ok := info.Sys().(*syscall.Stat_t); ok && s.Nlink == 0 {
		return &fs.PathError{Op: "write", Path: name, Err: ErrUnlinked}
	}
	return nil
}
