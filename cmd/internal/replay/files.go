// SPDX-License-Identifier: Apache-2.0

//go:build linux

package replay

import (
	"errors"
	"fmt"

	"tagbus/internal/flock"
	"tagbus/internal/sanitize"
	"tagbus/internal/stuck"
	"tagbus/recording"
)

// files are those of the recording. Their file system may stop to answer: then what was published is
// still to reach its subscribers.
type files struct {
	recording.Readers
	open []*stuck.File
}

// openFiles opens files, as recording.OpenAll. After an error none is open.
func openFiles(paths []string) (*files, error) {
	all := new(files)
	for _, path := range paths {
		if err := all.add(path); err != nil {
			return nil, errors.Join(err, all.Close())
		}
	}
	return all, nil
}

func (all *files) add(path string) error {
	f, err := stuck.Open(path)
	if err != nil {
		return fmt.Errorf("recording: %w", err)
	}
	all.open = append(all.open, f)
	beingWritten := flock.IsExclusive(f.File, stuck.On(path)) // before its size: an end that comes meanwhile is seen
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("recording: %w", err)
	}
	r, err := recording.NewReader(f, info.Size(), recording.ReaderConfig{Name: path, BeingWritten: beingWritten})
	if err != nil {
		return err
	}
	all.Readers = append(all.Readers, r)
	return nil
}

// aside makes the end of the run wait for no read from now on.
func (all *files) aside() {
	for _, f := range all.open {
		f.Aside()
	}
}

// away returns an error if a file is waited for because its file system does not answer.
func (all *files) away() error {
	for _, f := range all.open {
		if stuck.IsLate(f.Name()) {
			return fmt.Errorf("%s: its file system does not answer: what is left in it is not published", sanitize.Text(f.Name()))
		}
	}
	return nil
}

// Close closes the files.
func (all *files) Close() error {
	var errs []error
	for _, f := range all.open {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}
