// SPDX-License-Identifier: Apache-2.0

//go:build linux

package tool

import (
	"errors"
	"fmt"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/directory/file"
	"tagbus/internal/sanitize"
	"tagbus/internal/stuck"
)

// ErrSilent is wrapped in what Env.Directory and the List of its directory return if that does
// not answer in the time of --timeout.
var ErrSilent = errors.New("does not answer")

// Directory returns the directory of the bus. It, and the List of the directory, take no
// longer than --timeout.
//
// Errors: those of Node; ErrSilent, wrapped.
func (e *Env) Directory() (directory.Directory, error) {
	if _, err := e.Guard(); err != nil {
		return nil, err
	}
	n, err := within(e.Timeout, e.open)
	if err == errLate { //nolint:errorlint // within returns it bare
		return nil, silent(e.Bus, e.Timeout)
	}
	if err != nil {
		return nil, err
	}
	e.node = n
	return &bounded{Directory: n.Directory(), bus: e.Bus, patience: e.Timeout}, nil
}

// errLate is returned by within.
var errLate = errors.New("late")

// within returns what f does, or errLate if that takes too long: f goes on then.
func within[T any](patience time.Duration, f func() (T, error)) (T, error) {
	done := stuck.Go(f)
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case r := <-done:
		return r.Value, r.Err
	case <-timer.C:
		var none T
		return none, errLate
	}
}

// hangs is an ErrSilent of a folder.
type hangs struct{}

func (hangs) Error() string        { return file.ErrHangs.Error() }
func (hangs) Is(target error) bool { return target == ErrSilent || target == file.ErrHangs }

// FileSilentError is an ErrSilent where it is no server that does not answer, but a file that is needed to ask
// one, such as that of a certificate.
type FileSilentError struct {
	Bus      string
	Patience time.Duration // --timeout
	Note     stuck.Note    // the file
}

// Error names the file.
func (e *FileSilentError) Error() string {
	return fmt.Sprintf("%s was not asked in %v (--timeout): %s", sanitize.Text(e.Bus), e.Patience, e.Note.Text())
}

// Is reports whether target is ErrSilent.
func (*FileSilentError) Is(target error) bool { return target == ErrSilent }

// silent says that a directory does not answer.
func silent(bus string, patience time.Duration) error {
	if _, isFolder, _ := directory.Folder(bus); isFolder {
		return fmt.Errorf("%s: %w in %v (--timeout): look after its server, or its mount", sanitize.Text(bus), hangs{}, patience)
	}
	if n, waits := stuck.Waiting(); waits && time.Since(n.Since) >= patience/2 { // else it has other reasons
		return &FileSilentError{bus, patience, n}
	}
	return fmt.Errorf("%s %w in %v (--timeout): check --bus, and whether its servers run and can be reached from here", sanitize.Text(bus), ErrSilent, patience)
}

// MissingError is returned by commands for a bus whose folder is not there.
type MissingError struct{ Bus string }

// Error says what to do.
func (e *MissingError) Error() string {
	return fmt.Sprintf("--bus: there is no folder %s: check the path, or start a publisher with it, which makes it", sanitize.Text(e.Bus))
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
	open     <-chan stuck.Result[[]directory.Entry] // of the look that was given up; nil: none
}

// Clients implements directory.WithClients.
func (b *bounded) Clients() directory.Directory {
	clients := directory.ClientsOf(b.Directory)
	if clients == nil {
		return nil
	}
	return &bounded{Directory: clients, bus: b.bus, patience: b.patience}
}

// List implements directory.Directory. Threads: one.
func (b *bounded) List() ([]directory.Entry, error) {
	done := b.open
	if done == nil {
		done = stuck.Go(b.Directory.List)
	}
	timer := time.NewTimer(b.patience)
	defer timer.Stop()
	select {
	case l := <-done:
		b.open = nil
		return l.Value, l.Err
	case <-timer.C:
		b.open = done
		return nil, silent(b.bus, b.patience)
	}
}
