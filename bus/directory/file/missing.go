// SPDX-License-Identifier: Apache-2.0

package file

import (
	"errors"
	"fmt"
	"os"
	"time"

	"tagbus/internal/remind"
)

// missingHint says what to do about a missing folder.
const missingHint = "start a publisher or a receiver with the same folder, or check the path; it is looked for again"

// missing says again and again that the folder is missing.
type missing struct{ remind.Reminder }

// repeat returns what to report of an error of opening the folder: the error, or for one
// that is missing an error whose text changes when it is to be said again.
//
//   - err: nil if the folder is there.
func (m *missing) repeat(now time.Time, err error) error {
	path := (*PathError)(nil)
	if !errors.Is(err, ErrVanished) || !errors.As(err, &path) {
		*m = missing{}
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
// bring back one that an administrator removed.
//
//   - Errors: *PathError, as Open, and ErrUnwritable if it cannot be created.
func (d *Directory) writableFolder() (*folder, error) {
	f, err := openFolder(d.path, d.config.inject)
	if !errors.Is(err, ErrVanished) {
		return f, err
	}
	if err := os.MkdirAll(d.path, dirPerm); err != nil {
		if errors.Is(err, os.ErrExist) {
			err = errors.Join(ErrNotDirectory, err)
		}
		return nil, &PathError{d.path, wrap(ErrUnwritable, err), "create the folder, or choose one that this user can create"}
	}
	return openFolder(d.path, d.config.inject)
}
