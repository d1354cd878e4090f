// SPDX-License-Identifier: Apache-2.0

package in

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"

	"tagbus/internal/flock"
	"tagbus/internal/stuck"
)

// placeFile is a file that keeps a place. It is locked for this run alone, as the one that replaces it is.
//
// Threads: one at a time.
type placeFile struct {
	path string
	held *os.File // what path names, locked; nil: this run has not stored anything, and found nothing
}

// load reads the place of a log, and locks the file; nil: there is none.
//
// Errors: *PositionError.
func (f *placeFile) load(log string) (*place, error) {
	data, err := f.lock()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var p place
	if err == nil {
		p, err = parsePlace(data)
	}
	switch {
	case err != nil:
		err = &PositionError{File: f.path, Want: log, Err: err}
	case p.Log != log:
		err = &PositionError{File: f.path, Log: p.Log, Want: log}
	default:
		return &p, nil
	}
	f.close()
	return nil, err
}

// lock locks the file and returns what is in it.
//
// Errors: ErrPositionTaken; the system's.
func (f *placeFile) lock() ([]byte, error) {
	file, err := stuck.OpenToLock(f.path)
	if err != nil {
		return nil, err
	}
	f.held = file.File
	if !f.isMine() {
		return nil, ErrPositionTaken
	}
	return file.ReadWhole()
}

// isMine locks the file, and reports whether it is the one of this run: no other run has locked it, or replaced it meanwhile.
func (f *placeFile) isMine() bool {
	defer stuck.On(f.path)()
	return flock.Exclusive(f.held, stuck.On(f.path)) && f.isHeld()
}

// isHeld reports whether the path names the file that this run has locked.
func (f *placeFile) isHeld() bool {
	return f.held != nil && names(f.path, f.held)
}

// names reports whether a path leads to a file.
func names(path string, file *os.File) bool {
	named, err := os.Stat(path)
	if err != nil {
		return false
	}
	own, err := file.Stat()
	return err == nil && os.SameFile(named, own)
}

// isTaken reports whether the path names a file that another run has locked.
func (f *placeFile) isTaken() bool {
	if f.isHeld() {
		return false
	}
	other, err := os.Open(f.path)
	if err != nil {
		return false
	}
	defer func() { _ = other.Close() }()
	return flock.IsExclusive(other, stuck.Aside(f.path))
}

// store replaces the file. A crash of the process, or of its machine, leaves the old one or the new one.
//
// Errors: ErrPositionTaken; the system's.
func (f *placeFile) store(p place) error {
	defer stuck.Aside(f.path)() // the program ends without it
	data, err := json.Marshal(p)
	if err != nil {
		return err
	}
	if f.isTaken() { // by one that began when the file was not there: it is not to find the next file taken
		return ErrPositionTaken
	}
	next, err := os.OpenFile(f.path+".new", os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if !flock.Exclusive(next, stuck.Aside(f.path)) || !names(next.Name(), next) { // another run is writing it, or has written it
		return errors.Join(ErrPositionTaken, next.Close())
	}
	if f.isTaken() { // since, and from here on no other run replaces it
		err = ErrPositionTaken
	} else {
		err = f.replace(next, append(data, '\n'))
	}
	if err != nil {
		return errors.Join(err, os.Remove(next.Name()), next.Close())
	}
	f.close()
	f.held = next
	return nil
}

// replace writes a new file, and has it take the place of the old one.
func (f *placeFile) replace(next *os.File, data []byte) error {
	err := next.Truncate(0)
	if err == nil {
		_, err = next.Write(data)
	}
	// Without the Sync a power cut may leave the new name with nothing in it. That of the folder is left out: an older position repeats some.
	if err = errors.Join(err, next.Sync()); err != nil {
		return err
	}
	return os.Rename(next.Name(), f.path)
}

// close gives the lock back.
func (f *placeFile) close() {
	if f.held != nil {
		_ = f.held.Close() // nothing was written since Sync
		f.held = nil
	}
}
