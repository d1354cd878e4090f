// SPDX-License-Identifier: Apache-2.0

package cert

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"tagbus/cmd/internal/cli"
	"tagbus/internal/sanitize"
	"tagbus/internal/stuck"
)

// Modes of files: what all may read, and what only the owner may.
const (
	publicMode  = 0o644
	privateMode = 0o600
)

// newFile is a file that is to be written.
type newFile struct {
	path string
	data []byte
	mode os.FileMode
}

// writeFiles writes files, each as a whole, and makes them last.
//
//   - replace: whether a file that exists is replaced.
//   - Errors: a *cli.UsageError if one exists and is not replaced, before any is written.
func writeFiles(replace bool, files ...newFile) error {
	for _, f := range files {
		if _, err := stuck.Lstat(f.path); !replace && err == nil {
			return existsError(f.path)
		}
	}
	for i, f := range files {
		if err := f.write(replace); err != nil {
			if !replace { // none of them was there before
				for _, written := range files[:i] {
					err = errors.Join(err, stuck.Remove(written.path))
				}
			}
			return err
		}
	}
	return nil
}

func existsError(path string) error {
	return &cli.UsageError{Err: fmt.Errorf("%s exists: give another name, or --force to replace it", sanitize.Text(path))}
}

// write writes the file beside its place first.
func (f newFile) write(replace bool) (err error) {
	dir := filepath.Dir(f.path)
	temporary, err := stuck.CreateTemp(f.path, ".tagbus-cert-*") // with mode 600
	if err != nil {
		return cli.FileError(f.path, err)
	}
	defer func() {
		if failed := stuck.Remove(temporary.Name()); !errors.Is(failed, fs.ErrNotExist) {
			err = errors.Join(err, failed)
		}
	}()
	_, err = temporary.Write(f.data)
	err = cli.FileError(f.path, errors.Join(err, temporary.Chmod(f.mode), temporary.Sync(), temporary.Close()))
	switch {
	case err != nil:
	case replace:
		err = stuck.Rename(temporary.Name(), f.path)
	default:
		if err = stuck.Link(temporary.Name(), f.path); errors.Is(err, fs.ErrExist) {
			err = existsError(f.path)
		}
	}
	if err != nil {
		return err
	}
	folder, err := stuck.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
