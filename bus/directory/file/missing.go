// SPDX-License-Identifier: Apache-2.0

//go:build linux

package file

import (
	"errors"
	"fmt"
	"os"
	"time"

	"tagbus/internal/backoff"
)

// missingHint says what to do about a missing folder.
const missingHint = "start a publisher or a receiver with the same folder, or check the path; it is looked for again"

// missing says again and again that the folder is missing.
type missing struct {
	backoff.Reminder
	quiet bool // it may be missing
}

// repeat returns what to report of an error of opening the folder: the error, or for one
// that is missing an error whose text changes when it is to be said again.
//
//   - err: nil if the folder is there.
func (m *missing) repeat(now time.Time, err error) error {
	path := (*PathError)(nil)
	if errors.Is(err, ErrVanished) && m.quiet {
		return nil
	}
	if !errors.Is(err, ErrVanished) || !errors.As(err, &path) {
		m.Reminder = backoff.Reminder{}
		return err
	}
	m.Due(now)
	if m.Lasted() == 0 {
		return err
	}
	return &PathError{path.Path, fmt.Errorf("%w, for %v", ErrVanished, m.Lasted()), path.Hint}
}

// writableFolder opens the folder and creates it first if it is missing. Only what
// announces calls it: a subscriber must neither make a folder of a mistyped path nor
// bring back one that an administrator removed. The caller is inside of Directory.writing.
//
//   - Errors: *PathError, as Open, and ErrUnwritable if it cannot be created.
func (d *Directory) writableFolder() (*folder, error) {
	f, err := d.openFolder(d.writing)
	if errors.Is(err, ErrVanished) {
		d.writing.pass("mkdir")
		if err := d.makeFolder(); err != nil {
			if errors.Is(err, os.ErrExist) {
				err = errors.Join(ErrNotDirectory, err)
			}
			return nil, &PathError{d.path, wrap(ErrUnwritable, err), "create the folder, or choose one that this user can create"}
		}
		f, err = d.openFolder(d.writing)
	}
	if err == nil {
		f.quick = d.clientsOnly
	}
	return f, err
}

// makeFolder makes the folder, and those above it. That of the clients needs the one around
// it, in which a mistyped path leaves nothing behind.
func (d *Directory) makeFolder() error {
	if d.clientsOnly {
		return d.makeClients()
	}
	return os.MkdirAll(d.path, dirPerm)
}
