// SPDX-License-Identifier: Apache-2.0

// Package filewatch keeps a value that is made of files, and makes it again when they change.
//
// A Keeper makes a value of the bytes of some files, and makes it again when they change. Files
// of which no value can be made change nothing: the value made last stays.
//
// The bytes are compared, and not the times of the files: a file that was replaced twice within
// a tick of the clock, by a link or on NFS, is seen as what it is. Files that change one after the
// other, as a certificate and its key do, are looked at again at the next look.
package filewatch

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"tagbus/internal/sanitize"
	"tagbus/internal/stuck"
)

// File is a file as it was read.
type File struct {
	Path string
	Data []byte
	Mode os.FileMode
}

// Config says what a Keeper keeps.
type Config[T any] struct {
	// Paths are those of the files, in the order in which Make gets them.
	Paths []string

	// MaxBytes is how large a file may be.
	MaxBytes int64

	// Every is the time between two looks at the files; 0 looks only when Reload is called.
	Every time.Duration

	// Make makes the value. It must not block, and gets each change of the files once, and what
	// it has refused again at each look.
	Make func(files []File) (T, error)

	// Loaded is called with each value that is in use from now on, except the first.
	Loaded func(T)

	// Failed is called when the files cannot be used, once for each text of an error in turn.
	Failed func(error)

	// Looked is called after each look, with the value in use. nil: not.
	Looked func(T)
}

// SizeError reports a file that is larger than it may be.
type SizeError struct {
	Path  string
	Limit int64 // bytes
}

// Error names the file and the limit.
func (e *SizeError) Error() string {
	return fmt.Sprintf("%s: more than %d bytes: this is another file, or it must be cut down", sanitize.Text(e.Path), e.Limit)
}

// SpecialError reports a file that is none with bytes in it: a FIFO, a socket, a device or a
// directory. It cannot be read again and again, and a FIFO may never answer.
type SpecialError struct {
	Path string
	Mode os.FileMode
}

// Error names the file and what it is.
func (e *SpecialError) Error() string {
	return fmt.Sprintf("%s: it is %s, want a file that can be read again and again", sanitize.Text(e.Path), kindOf(e.Mode))
}

func kindOf(mode os.FileMode) string {
	switch {
	case mode.IsDir():
		return "a directory"
	case mode&os.ModeNamedPipe != 0:
		return "a pipe"
	case mode&os.ModeSocket != 0:
		return "a socket"
	default:
		return "a device"
	}
}

// Keeper keeps a value that is made of files.
//
// Threads: all methods may be called by any goroutine. Callbacks run one at a time, on a
// goroutine of the Keeper or on the one that calls Reload; they must not call Reload or Close.
type Keeper[T any] struct {
	config  Config[T]
	current atomic.Pointer[T]
	failing atomic.Bool // the files, at the last look
	stop    chan struct{}
	once    sync.Once
	done    sync.WaitGroup

	mu     sync.Mutex // of what follows
	files  []File     // of which the current value was made
	failed error      // at the look before
}

// Open reads the files and makes the first value.
//
//   - Errors: those of reading and of Make; *SizeError.
func Open[T any](c Config[T]) (*Keeper[T], error) {
	k := &Keeper[T]{config: c, stop: make(chan struct{})}
	files, err := k.read(os.O_RDONLY, stuck.OpenFile)
	if err != nil {
		return nil, err
	}
	v, err := c.Make(files)
	if err != nil {
		return nil, err
	}
	k.files = files
	k.current.Store(&v)
	if c.Every > 0 {
		k.done.Go(k.run)
	}
	return k, nil
}

// Current returns the value in use.
//
//   - Blocks: never. Allocates: no.
func (k *Keeper[T]) Current() T { return *k.current.Load() }

// Failing reports whether no value could be made of the files at the last look, or their file
// system does not answer the one that runs.
//
//   - Blocks: never. Allocates: no.
func (k *Keeper[T]) Failing() bool {
	return k.failing.Load() || slices.ContainsFunc(k.config.Paths, stuck.IsLate)
}

// Paths returns the paths of the files, which must not be changed.
func (k *Keeper[T]) Paths() []string { return k.config.Paths }

// Reload looks at the files now.
//
//   - Errors: those of reading and of Make; *SizeError; *SpecialError. The value in use stays
//     then.
func (k *Keeper[T]) Reload() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	err := k.look()
	if err != nil && (k.failed == nil || k.failed.Error() != err.Error()) && k.config.Failed != nil {
		k.config.Failed(err)
	}
	k.failed = err
	k.failing.Store(err != nil)
	if k.config.Looked != nil {
		k.config.Looked(k.Current())
	}
	return err
}

// look reads the files, and makes a value of them if they changed.
func (k *Keeper[T]) look() error {
	files, err := k.read(again, stuck.OpenFileAside)
	if err != nil || same(files, k.files) {
		return err
	}
	v, err := k.config.Make(files)
	if err != nil {
		return err
	}
	k.files = files
	k.current.Store(&v)
	if k.config.Loaded != nil {
		k.config.Loaded(v)
	}
	return nil
}

// Close ends the looks, and waits for the one that runs, unless the file system does not
// answer it. The value stays.
func (k *Keeper[T]) Close() {
	k.once.Do(func() { close(k.stop) })
	stuck.Await(k.done.Wait, k.config.Paths...)
}

// run looks again and again.
func (k *Keeper[T]) run() {
	tick := time.NewTicker(k.config.Every)
	defer tick.Stop()
	for {
		select {
		case <-k.stop:
			return
		case <-tick.C:
			_ = k.Reload() // Failed was told
		}
	}
}

// again opens a file for another look. It does not wait for the other end of a FIFO, which
// may never come; the first look does, since a shell gives a program some text as one.
const again = os.O_RDONLY | syscall.O_NONBLOCK

// read reads all files.
//
//   - flag: os.O_RDONLY, or again.
//   - open: stuck.OpenFile, or stuck.OpenFileAside.
func (k *Keeper[T]) read(flag int, open opener) (files []File, err error) {
	for _, path := range k.config.Paths {
		f, err := read(path, flag, k.config.MaxBytes, open)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

// Read reads a file of at most so many bytes.
//
//   - Errors: those of opening and reading; *SizeError.
func Read(path string, limit int64) (File, error) {
	return read(path, os.O_RDONLY, limit, stuck.OpenFile)
}

// opener opens a file that is waited for.
type opener func(path string, flag int, perm os.FileMode) (*stuck.File, error)

func read(path string, flag int, limit int64, open opener) (File, error) {
	f, err := open(path, flag, 0)
	if err != nil {
		return File{}, err
	}
	defer func() { _ = f.Close() }() // nothing was written
	stat, err := f.Stat()
	if err != nil {
		return File{}, err
	}
	if flag == again && !stat.Mode().IsRegular() {
		return File{}, &SpecialError{path, stat.Mode()}
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return File{}, err
	}
	if int64(len(data)) > limit {
		return File{}, &SizeError{path, limit}
	}
	return File{path, data, stat.Mode()}, nil
}

// same reports whether nothing changed.
func same(a, b []File) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Mode != b[i].Mode || !bytes.Equal(a[i].Data, b[i].Data) {
			return false
		}
	}
	return true
}
