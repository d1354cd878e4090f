// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"tagbus/internal/sizelimit"
	"tagbus/internal/stuck"
	"tagbus/internal/syserror"
)

// FileError returns an error of a file in the words of a person: with the name that the file
// has for them, whatever it was opened under, and with what to do about a disk that is full or
// a limit that is reached. It returns nil for nil.
func FileError(name string, err error) error {
	if path := (*fs.PathError)(nil); errors.As(err, &path) && path.Path != name {
		err = &fs.PathError{Op: path.Op, Path: name, Err: path.Err}
	}
	switch {
	case errors.Is(err, syscall.EFBIG):
		return sizelimit.Explain(err)
	case syserror.DiskFull(err):
		return fmt.Errorf("%w: make room, or choose a file elsewhere", err)
	}
	return err
}

// CloseNew closes a file that was made, and removes it after an error, which it returns.
func CloseNew(f *stuck.File, err error) error {
	if err = errors.Join(err, f.Close()); err != nil {
		err = errors.Join(Removed(f.Name(), err), stuck.Remove(f.Name()))
	}
	return err
}

// Removed returns an error of a file that was begun and is removed for it; one that is about
// something else is returned as it is.
func Removed(name string, err error) error {
	path := (*fs.PathError)(nil)
	if !errors.As(err, &path) || path.Path != name {
		return err
	}
	return fmt.Errorf("%w; what was written of it is removed", FileError(name, err))
}
