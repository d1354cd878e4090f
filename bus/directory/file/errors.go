// SPDX-License-Identifier: Apache-2.0

//go:build linux

package file

import (
	"errors"
	"os"
	"slices"
	"strings"
	"syscall"

	"tagbus/bus/directory"
	"tagbus/internal/sanitize"
)

// Sentinels, found with errors.Is inside the *PathError that names the path.
var (
	// ErrNotDirectory is returned by Open if the path is something else than a
	// folder. Give the path of a folder, or a path where nothing is yet.
	ErrNotDirectory = errors.New("not a directory")

	// ErrVanished is reported while the folder is missing: at once, and again with a
	// pause that grows from 10 s to 10 min. List returns it. Everything recovers when the
	// folder is there; a program that announces something creates it.
	ErrVanished = errors.New("directory is missing")

	// ErrUnreadable is returned by Open and reported if the folder or a file in
	// it cannot be read. The system's error is wrapped too.
	ErrUnreadable = errors.New("cannot be read")

	// ErrUnwritable is returned by Announce, Update and Withdraw and reported
	// if the folder or a file in it cannot be written: no permission, full disk,
	// read-only file system. The system's error is wrapped too. Announced entries
	// are tried again with each beat.
	ErrUnwritable = errors.New("cannot be written")

	// ErrHangs is reported while the file system does not answer, as one on a network
	// whose server is gone.
	ErrHangs = errors.New("file system does not answer")

	// ErrName is reported for a file NAME.jsonl whose NAME cannot be an instance,
	// or is not the instance that the file is about.
	ErrName = errors.New("file name is not the publisher's instance")

	// ErrNotRegular is reported for NAME.jsonl that is a link, FIFO, socket,
	// device or folder. It is not opened.
	ErrNotRegular = errors.New("not a regular file")

	// ErrTooLarge is reported for a file of more than Config.MaxFileBytes, and
	// returned by Announce and Update for an entry that needs one.
	ErrTooLarge = errors.New("file too large")

	// ErrTooManyTags is reported for a file with more items in its tag sets than
	// Config.MaxTagParts, and returned by Announce and Update for such an entry.
	ErrTooManyTags = errors.New("too many tags and ranges")

	// ErrTooManyFiles is reported if the folder has more entries of programs that may
	// live than Config.MaxFiles, or 16 times as many names of any kind; some publishers are
	// then not found. It matches directory.ErrCrowded.
	ErrTooManyFiles error = tooManyFiles{}

	// ErrForeignOwner is reported for a file whose owner is not one of
	// Config.TrustedOwners, or that others than its owner may write.
	ErrForeignOwner = errors.New("owner not trusted")

	// ErrVersion is reported for a file of another format than 1.
	ErrVersion = errors.New("unknown format")

	// ErrDamaged is reported for a file that is truncated, altered, or never was a
	// directory file.
	ErrDamaged = errors.New("damaged")

	// ErrLeftBehind is reported for files of programs that have been gone for
	// Config.CollectAfter, and that this user cannot remove.
	ErrLeftBehind = errors.New("left behind by a publisher that is gone")

	// ErrNoNotifications is reported if the system gives no file notifications.
	// Changes are then found by polling, within Config.Poll.
	ErrNoNotifications = errors.New("no file notifications")

	// ErrConfig is returned by Open and Config.Validate, once for each violation.
	ErrConfig = errors.New("directory/file: invalid configuration")
)

// PathError says what is wrong with one path and what to do about it.
type PathError struct {
	Path string // of the folder or the file
	Err  error  // wraps one of the sentinels, and the system's error if there is one
	Hint string // what to do
}

// Error is one line with path, error and hint. The path is quoted if it would do
// harm on a terminal: others chose it.
func (e *PathError) Error() string {
	return sanitize.Linef("directory/file: %s: %v: %s", sanitize.Text(e.Path), e.Err, e.Hint)
}

// Unwrap returns Err.
func (e *PathError) Unwrap() error { return e.Err }

// Is reports whether target is directory.ErrHidden and the error is about entries that are not shown, or
// directory.ErrHarmless and it hides none.
func (e *PathError) Is(target error) bool {
	switch target {
	case directory.ErrHidden:
		return e.matches(ErrTooManyFiles, ErrTooLarge, ErrTooManyTags, ErrForeignOwner, ErrVersion, ErrDamaged) ||
			strings.HasSuffix(e.Path, suffix) && e.matches(ErrUnreadable)
	case directory.ErrHarmless: // programs of tagbus write nothing else
		return e.matches(ErrLeftBehind, ErrNoNotifications, ErrName, ErrNotRegular)
	}
	return false
}

// matches reports whether Err is one of some.
func (e *PathError) matches(some ...error) bool {
	return slices.ContainsFunc(some, func(one error) bool { return errors.Is(e.Err, one) })
}

// hintFor says what to do about an error of the system.
func hintFor(err error) string {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "free space on the disk"
	case errors.Is(err, syscall.EFBIG):
		return "raise the limit of the size of files (ulimit -f, LimitFSIZE= of systemd)"
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return "raise the limit of open files (ulimit -n, LimitNOFILE= of systemd)"
	case errors.Is(err, syscall.EROFS):
		return "mount the file system writable, or choose another folder"
	case errors.Is(err, os.ErrPermission):
		return "give this user permission, or choose another folder"
	default:
		return "check the file system"
	}
}
