// SPDX-License-Identifier: Apache-2.0

package member

import (
	"errors"
	"os"
	"syscall"

	"tagbus/internal/sanitize"
)

// Sentinels, found with errors.Is inside the *SettingError that names the setting.
var (
	// ErrInvalidConfig is returned by Start, once for each setting that makes no sense.
	ErrInvalidConfig = errors.New("invalid configuration")

	// ErrAddress is returned by Start for an address of this host that cannot be
	// listened on: its port is taken, or the host has no such address.
	ErrAddress = errors.New("address cannot be listened on")

	// ErrFolder is returned by Start for a folder of data that cannot be made, read or
	// written. The system's error is wrapped too.
	ErrFolder = errors.New("folder cannot be used")

	// ErrInUse is returned by Start for a folder that another process uses.
	ErrInUse = errors.New("folder is in use by another process")

	// ErrForeign is returned by Start for a folder that belongs to something else than
	// this member: another name, another directory, another program.
	ErrForeign = errors.New("folder belongs to something else")

	// ErrDamaged is returned by Start for a folder of a member whose files do not fit
	// each other.
	ErrDamaged = errors.New("folder is damaged")

	// ErrNoAnswer is returned by Start if no member answers that is to be joined.
	ErrNoAnswer = errors.New("no member answers")

	// ErrNoQuorum is returned by Start if the directory that is to be joined cannot take
	// members: half of its members or more are away. Wait returns it if the directory
	// does not work when its context ends.
	ErrNoQuorum = errors.New("too few members are up")

	// ErrNotAllowed is returned by Start if the directory that is to be joined does not let this
	// member join.
	ErrNotAllowed = errors.New("the directory does not take this member")

	// ErrTaken is returned by Start if the directory that is to be joined has a member
	// with this name or these addresses.
	ErrTaken = errors.New("the directory has such a member")

	// ErrRemoved is returned by Wait, and sent by Failed, once the member was removed
	// from the directory. Its folder is of no use any more.
	ErrRemoved = errors.New("member was removed from the directory")

	// ErrClosed is returned by Wait after Close.
	ErrClosed = errors.New("member is closed")
)

// SettingError says what is wrong with one setting of a Config and what to do about it.
type SettingError struct {
	Setting string // name of the field of Config
	Value   string
	Kind    error  // one of the sentinels
	Err     error  // the cause; may be nil
	Hint    string // what to do
}

// Error is one line with all of it.
func (e *SettingError) Error() string {
	value := ""
	if e.Value != "" {
		value = " " + sanitize.Text(e.Value)
	}
	if e.Err == nil {
		return sanitize.Linef("member: %s%s: %v: %s", e.Setting, value, e.Kind, e.Hint)
	}
	return sanitize.Linef("member: %s%s: %v: %v: %s", e.Setting, value, e.Kind, e.Err, e.Hint)
}

// Unwrap returns Kind and the cause.
func (e *SettingError) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Err}
}

// folderError returns the error for a folder of data that the system refuses.
func folderError(path string, err error) error {
	hint := "check the disk"
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		hint = "free space on the disk: a member needs 200 MB for its logs, and as much for the entries"
	case errors.Is(err, syscall.EROFS):
		hint = "mount the file system writable, or give another folder"
	case errors.Is(err, os.ErrPermission):
		hint = "give this user permission, or give another folder"
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.EEXIST):
		hint = "a file is in its way: give another folder"
	}
	return &SettingError{"Data", path, ErrFolder, err, hint}
}
