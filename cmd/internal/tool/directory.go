// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"errors"
	"fmt"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/directory/file"
	"tagbus/internal/plain"
)

// ErrSilent is wrapped in what the List of Env.Directory returns if the directory does not
// answer in the time of --timeout.
var ErrSilent = errors.New("does not answer")

// Directory returns the directory of the bus. The List of one on servers takes no longer
// than --timeout. That of a folder takes as long as the file system does.
//
// Errors: those of Node.
func (e *Env) Directory() (directory.Directory, error) {
	n, err := e.Node()
	if err != nil {
		return nil, err
	}
	if _, isFolder, _ := directory.Folder(e.Bus); isFolder {
		return n.Directory(), nil
	}
	return &bounded{Directory: n.Directory(), bus: e.Bus, patience: e.Timeout}, nil
}

// MissingError is returned by commands for a bus whose folder is not there.
type MissingError struct{ Bus string }

// Error says what to do.
func (e *MissingError) Error() string {
	return fmt.Sprintf("--bus: there is no folder %s: check the path, or start a publisher with it, which makes it", plain.Text(e.Bus))
}

// Problem returns what a command says of a problem of the directory, in the words of the
// command line: a *MissingError for a folder that is not there, and err otherwise.
func (e *Env) Problem(err error) error {
	if errors.Is(err, file.ErrVanished) {
		return &MissingError{e.Bus}
	}
	return err
}

// bounded is a Directory whose List gives up. What is given up goes on, and one look at a
// time does: the next List waits for it.
type bounded struct {
	directory.Directory
	bus      string
	patience time.Duration
	open     chan look // of the look that was given up; nil: none
}

// look is what a List returned.
type look struct {
	entries []directory.Entry
	err     error
}

// List implements directory.Directory. Threads: one.
func (b *bounded) List() ([]directory.Entry, error) {
	done := b.open
	if done == nil {
		done = make(chan look, 1)
		go func() {
			entries, err := b.Directory.List()
			done <- look{entries, err}
		}()
	}
	timer := time.NewTimer(b.patience)
	defer timer.Stop()
	select {
	case l := <-done:
		b.open = nil
		return l.entries, l.err
	case <-timer.C:
		b.open = done
		return nil, fmt.Errorf("%s %w in %v (--timeout): check --bus, and whether its servers run and can be reached from here", plain.Text(b.bus), ErrSilent, b.patience)
	}
}
