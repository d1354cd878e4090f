// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/directory/file"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/units"
)

// LeftError reports copies that could not be withdrawn. They expire by themselves.
type LeftError struct {
	Copies int
	Err    error // of one of them
}

// Error says how many there are, and why.
func (e *LeftError) Error() string {
	return fmt.Sprintf("%s could not be withdrawn, and will expire: %v", units.FormatNumber(e.Copies, "entry"), e.Err)
}

// Unwrap returns the cause.
func (e *LeftError) Unwrap() error { return e.Err }

// open opens the directory of a bus.
//
//   - expiry: as directory.Settings has it.
//   - Errors: *cli.UsageError for a URL or an expiry that makes no sense; those of file.Open.
func open(bus string, expiry time.Duration) (directory.Opened, error) {
	path, isFolder, err := directory.Folder(bus)
	if err != nil {
		return nil, err
	}
	if !isFolder {
		d, err := directory.Open(bus, directory.Settings{Expiry: expiry, Logger: slog.New(slog.DiscardHandler)})
		if err != nil { // servers that are away are no error
			return nil, &cli.UsageError{Err: err}
		}
		return d, nil
	}
	d, err := file.Open(path, file.Config{Expiry: expiry})
	if errors.Is(err, file.ErrConfig) {
		err = &cli.UsageError{Err: err}
	}
	return asOpened(d, err)
}

// asOpened keeps a nil pointer from becoming a directory.
func asOpened(d *file.Directory, err error) (directory.Opened, error) {
	if err != nil {
		return nil, err
	}
	return d, nil
}

// same reports whether two buses are the same by their names: other names of one directory
// do no harm, since all its entries are then there already.
func same(a, b string) bool {
	pathA, folderA, errA := directory.Folder(a)
	pathB, folderB, errB := directory.Folder(b)
	if errA != nil || errB != nil || !folderA || !folderB {
		return a == b
	}
	absoluteA, errA := filepath.Abs(pathA)
	absoluteB, errB := filepath.Abs(pathB)
	return errA == nil && errB == nil && absoluteA == absoluteB
}
