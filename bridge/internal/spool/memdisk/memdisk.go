// SPDX-License-Identifier: Apache-2.0

// Package memdisk is a folder of segments in memory, for tests. It fails on demand in the ways in which a file system does.
package memdisk

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"slices"
	"sync"

	"tagbus/bridge/internal/spool"
)

// errKilled is what a disk says of which the process was killed.
var errKilled = errors.New("memdisk: the process was killed")

// Disk is a spool.Disk in memory.
//
// Threads: any.
type Disk struct {
	mu    sync.Mutex
	files map[uint64]*bytes.Buffer
	open  uint64 // the segment that is written
	aside map[uint64][]byte

	full    error         // of writes; nil: none
	unread  error         // of reads; nil: none
	room    int           // bytes until writes fail with full
	stuck   chan struct{} // nil: none; calls wait until it is closed
	killed  bool
	written int // bytes, by all calls
}

var _ spool.Disk = (*Disk)(nil)

// New returns an empty disk.
func New() *Disk {
	return &Disk{files: make(map[uint64]*bytes.Buffer), aside: make(map[uint64][]byte)}
}

// Kill ends what uses the disk, and returns a disk with what it has. Of the segment that was written the last bytes are missing.
func (d *Disk) Kill(missing int) *Disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.killed = true
	next := New()
	for n, f := range d.files {
		next.files[n] = bytes.NewBuffer(bytes.Clone(f.Bytes()))
	}
	if last := next.files[d.open]; last != nil {
		last.Truncate(max(0, last.Len()-missing))
	}
	next.aside = d.aside
	return next
}

// FailWrites makes writes fail after so many bytes; nil: no more.
func (d *Disk) FailWrites(err error, after int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.full, d.room = err, after
}

// FailReads makes reads fail; nil: no more.
func (d *Disk) FailReads(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.unread = err
}

// Hang makes all calls wait until what it returns is called.
func (d *Disk) Hang() (release func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := make(chan struct{})
	d.stuck = c
	return sync.OnceFunc(func() {
		d.mu.Lock()
		d.stuck = nil
		d.mu.Unlock()
		close(c)
	})
}

// Damage changes a byte of each segment, at a part of its size.
func (d *Disk) Damage(part float64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, f := range d.files {
		f.Bytes()[int(part*float64(f.Len()))] ^= 0xff
	}
}

// Written returns how many bytes were written.
func (d *Disk) Written() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.written
}

// Files returns how many segments there are, and how many were set aside.
func (d *Disk) Files() (segments, aside int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.files), len(d.aside)
}

// Bytes returns a segment, by its place.
func (d *Disk) Bytes(i int) []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.files[slices.Sorted(maps.Keys(d.files))[i]].Bytes()
}

// enter waits while the disk hangs, and returns with it locked.
func (d *Disk) enter() error {
	d.mu.Lock()
	if c := d.stuck; c != nil {
		d.mu.Unlock()
		<-c
		d.mu.Lock()
	}
	if d.killed {
		d.mu.Unlock()
		return errKilled
	}
	return nil
}

// Name implements spool.Disk.
func (*Disk) Name() string { return "memdisk" }

// List implements spool.Disk.
func (d *Disk) List() ([]uint64, error) {
	if err := d.enter(); err != nil {
		return nil, err
	}
	defer d.mu.Unlock()
	return slices.Sorted(maps.Keys(d.files)), d.unread
}

// Create implements spool.Disk.
func (d *Disk) Create(n uint64) (io.WriteCloser, error) {
	if err := d.enter(); err != nil {
		return nil, err
	}
	defer d.mu.Unlock()
	if d.files[n] != nil {
		return nil, fs.ErrExist
	}
	if d.full != nil && d.room <= 0 {
		return nil, d.full
	}
	d.files[n], d.open = new(bytes.Buffer), n
	return &file{d, n, true}, nil
}

// Open implements spool.Disk.
func (d *Disk) Open(n uint64) (spool.File, error) {
	if err := d.enter(); err != nil {
		return nil, err
	}
	defer d.mu.Unlock()
	if d.unread != nil {
		return nil, d.unread
	}
	return &file{d, n, false}, nil
}

// Remove implements spool.Disk.
func (d *Disk) Remove(n uint64) error {
	if err := d.enter(); err != nil {
		return err
	}
	defer d.mu.Unlock()
	delete(d.files, n)
	return nil
}

// SetAside implements spool.Disk.
func (d *Disk) SetAside(n uint64) error {
	if err := d.enter(); err != nil {
		return err
	}
	defer d.mu.Unlock()
	d.aside[n] = d.files[n].Bytes()
	delete(d.files, n)
	return nil
}

// Close implements spool.Disk.
func (*Disk) Close() error { return nil }

// file is an open segment.
type file struct {
	d      *Disk
	n      uint64
	writes bool
}

// Write implements io.Writer.
func (f *file) Write(p []byte) (int, error) {
	if err := f.d.enter(); err != nil {
		return 0, err
	}
	defer f.d.mu.Unlock()
	n, err := len(p), error(nil)
	if f.d.full != nil && n > f.d.room {
		n, err = max(0, f.d.room), f.d.full
	}
	f.d.room -= n
	f.d.written += n
	f.d.files[f.n].Write(p[:n])
	return n, err
}

// ReadAt implements io.ReaderAt.
func (f *file) ReadAt(p []byte, at int64) (int, error) {
	if err := f.d.enter(); err != nil {
		return 0, err
	}
	defer f.d.mu.Unlock()
	if f.d.unread != nil {
		return 0, f.d.unread
	}
	return bytes.NewReader(f.d.files[f.n].Bytes()).ReadAt(p, at)
}

// Size implements spool.File.
func (f *file) Size() (int64, error) {
	if err := f.d.enter(); err != nil {
		return 0, err
	}
	defer f.d.mu.Unlock()
	return int64(f.d.files[f.n].Len()), f.d.unread
}

// Close implements io.Closer.
func (f *file) Close() error {
	if err := f.d.enter(); err != nil {
		return err
	}
	if f.writes {
		f.d.open = 0
	}
	f.d.mu.Unlock()
	return nil
}
