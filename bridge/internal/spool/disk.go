// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tagbus/internal/flock"
	"tagbus/internal/sanitize"
	"tagbus/internal/stuck"
)

// Disk is where the segments are. Another one stands in for a folder in tests.
//
// Threads: any. Blocks: for the file system.
type Disk interface {
	// Name returns what people call it.
	Name() string

	// List returns the numbers of the segments, in their order.
	List() ([]uint64, error)

	// Create makes a segment, which does not exist.
	Create(number uint64) (io.WriteCloser, error)

	// Open opens a segment to be read.
	Open(number uint64) (File, error)

	// Remove removes a segment.
	Remove(number uint64) error

	// SetAside keeps a segment under another name, under which List does not find it.
	SetAside(number uint64) error

	// Close lets another bridge use the spool.
	Close() error
}

// File is a segment that is read.
type File interface {
	io.ReaderAt
	io.Closer
	Size() (int64, error)
}

// ErrInUse is wrapped in the error of OpenFolder for a folder that another bridge uses.
var ErrInUse = errors.New("it is the spool of another bridge that runs: give each bridge a folder of its own")

const (
	lockName = "lock"
	prefix   = "spool-"
	suffix   = ".tbr"
	digits   = 16
)

// Folder is a Disk.
type Folder struct {
	path string
	lock *stuck.File
}

var _ Disk = (*Folder)(nil)

// OpenFolder opens a folder, which it makes if it is not there, for this process alone.
//
// Errors: ErrInUse, wrapped; those of the system.
func OpenFolder(path string) (*Folder, error) {
	if err := stuck.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("bridge: spool: %w", err)
	}
	name := filepath.Join(path, lockName)
	lock, err := stuck.OpenFileAside(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("bridge: spool: %w", err)
	}
	if !flock.Exclusive(lock.File, stuck.Aside(name)) {
		_ = lock.Close()
		return nil, fmt.Errorf("bridge: spool %s: %w", sanitize.Text(path), ErrInUse)
	}
	return &Folder{path, lock}, nil
}

// Name implements Disk.
func (f *Folder) Name() string { return f.path }

// List implements Disk.
func (f *Folder) List() (numbers []uint64, err error) {
	entries, err := stuck.ReadDir(f.path)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		text, isSegment := strings.CutPrefix(strings.TrimSuffix(e.Name(), suffix), prefix)
		n, err := strconv.ParseUint(text, 10, 64)
		if isSegment && err == nil && filepath.Base(f.file(n)) == e.Name() {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers, nil
}

func (f *Folder) file(number uint64) string {
	return filepath.Join(f.path, fmt.Sprintf("%s%0*d%s", prefix, digits, number, suffix))
}

// Create implements Disk.
func (f *Folder) Create(number uint64) (io.WriteCloser, error) {
	return stuck.OpenFileAside(f.file(number), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}

// Open implements Disk.
func (f *Folder) Open(number uint64) (File, error) {
	file, err := stuck.OpenFileAside(f.file(number), os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	return opened{file}, nil
}

// opened is a file of a folder.
type opened struct{ *stuck.File }

// Size implements File.
func (o opened) Size() (int64, error) {
	info, err := o.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// Remove implements Disk.
func (f *Folder) Remove(number uint64) error { return stuck.Remove(f.file(number)) }

// SetAside implements Disk.
func (f *Folder) SetAside(number uint64) error {
	return stuck.Rename(f.file(number), f.file(number)+".unreadable")
}

// Close implements Disk.
func (f *Folder) Close() error { return f.lock.Close() }
