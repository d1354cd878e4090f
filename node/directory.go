// SPDX-License-Identifier: Apache-2.0

package node

import (
	"cmp"
	"errors"
	"fmt"

	"tagbus/bus"
	"tagbus/bus/directory"
	"tagbus/bus/directory/file"
	"tagbus/bus/directory/signed"
)

// directory returns the directory of the configuration, and what closes it.
//
// Errors: those of directory.Open, with bus.ErrInvalidConfig, and of file.Open, with it if it is file.ErrConfig.
func (c Config) directory() (dir directory.Directory, closes func() error, err error) {
	dir, closes, err = c.storage()
	if err != nil || c.Access == nil || c.Access.Identity() == nil {
		return dir, closes, err
	}
	d := signed.Wrap(dir, signed.Config{Identity: c.Access.Identity(), Access: c.Access, KeepOpen: c.Directory != nil})
	return d, d.Close, nil
}

// storage returns the directory of the configuration as it is, and what closes it.
//
// Errors: those of directory.
func (c Config) storage() (dir directory.Directory, closes func() error, err error) {
	if c.Directory != nil {
		return c.Directory, func() error { return nil }, nil
	}
	path, isFolder, err := directory.Folder(c.Bus)
	if err != nil {
		return nil, nil, err
	}
	if isFolder {
		c.Folder.Expiry = cmp.Or(c.Folder.Expiry, c.Expiry)
		d, err := file.Open(path, c.Folder)
		if errors.Is(err, file.ErrConfig) {
			err = fmt.Errorf("%w: %w", bus.ErrInvalidConfig, err)
		}
		if err != nil {
			return nil, nil, err
		}
		return d, d.Close, nil
	}
	d, err := directory.Open(c.Bus, directory.Settings{Expiry: c.Expiry, Logger: c.Logger})
	if err != nil { // servers that are away are no error
		return nil, nil, fmt.Errorf("%w: %w", bus.ErrInvalidConfig, err)
	}
	return d, d.Close, nil
}
