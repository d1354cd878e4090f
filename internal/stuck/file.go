// SPDX-License-Identifier: Apache-2.0

package stuck

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"

	"tagbus/internal/sizelimit"
)

// File is an os.File whose calls are waited for by On, or by Aside. A FIFO or a device is not
// waited for where it is a stream, or is written: to wait for its other end is no fault of a file
// system. Where a whole file is to be read, what it is is said.
type File struct {
	*os.File
	kind kind
	pipe bool                 // or a device
	as   string               // the name under which it is waited for; "": its own
	idle atomic.Pointer[wait] // that an earlier call has left: most files have one call at a time
}

// kind is how the calls of a file are waited for.
type kind int

const (
	on kind = iota
	aside
	never
)

// Open is os.Open with On, of a file that is read in whole.
func Open(path string) (*File, error) { return OpenFile(path, os.O_RDONLY, 0) }

// OpenStream is Open of what may be a stream: a FIFO, or a device, is not waited for.
func OpenStream(path string) (*File, error) { return open(path, os.O_RDONLY, 0, on, true) }

// OpenStreamAside is OpenStream with Aside.
func OpenStreamAside(path string) (*File, error) { return open(path, os.O_RDONLY, 0, aside, true) }

// OpenFile is os.OpenFile with On. What is opened to be read, and not to be written, is read in
// whole, as with Open.
func OpenFile(path string, flag int, perm fs.FileMode) (*File, error) {
	return open(path, flag, perm, on, writes(flag))
}

// OpenToLock is Open of a file that is to be locked for this process alone, which NFS does only for what is open
// to be written. One that cannot be opened so, as a key that its user may only read, is opened to be read: there
// is no such lock of it on NFS.
func OpenToLock(path string) (*File, error) {
	f, err := open(path, os.O_RDWR, 0, on, false)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	return Open(path)
}

// OpenFileAside is OpenFile with Aside.
func OpenFileAside(path string, flag int, perm fs.FileMode) (*File, error) {
	return open(path, flag, perm, aside, writes(flag))
}

func writes(flag int) bool { return flag&(os.O_WRONLY|os.O_RDWR) != 0 }

// CreateTemp is os.CreateTemp, in the folder of a file that the new one is to become, with On for that.
func CreateTemp(path, pattern string) (*File, error) {
	defer On(path)()
	f, err := os.CreateTemp(filepath.Dir(path), pattern)
	if err != nil {
		return nil, err
	}
	return &File{File: f, as: path}, nil
}

// open opens a file.
//
//   - stream: a FIFO or a device is not waited for.
func open(path string, flag int, perm fs.FileMode, kind kind, stream bool) (*File, error) {
	pipe := false
	waiting := func() (over func()) {
		if kind == never {
			return func() {}
		}
		return process.begin(wait{path: path, aside: kind == aside, pipe: pipe})
	}
	see := func(info fs.FileInfo, err error) {
		if pipe = err == nil && info.Mode()&special != 0; pipe && stream {
			kind = never
		}
	}
	over := waiting()
	info, err := os.Stat(path)
	over()
	see(info, err)
	defer waiting()()
	f, err := os.OpenFile(path, flag, perm)
	if err != nil {
		return nil, err
	}
	see(f.Stat()) // it may be another one by now, or the path may name a descriptor of this process
	return &File{File: f, kind: kind, pipe: pipe}, nil
}

// special is what is no file of a file system.
const special = fs.ModeNamedPipe | fs.ModeDevice | fs.ModeSocket

// begin notes a call; nil: none that is waited for. It allocates nothing when the call before
// has ended.
func (f *File) begin() *wait {
	if f.kind == never {
		return nil
	}
	w := f.idle.Swap(nil)
	if w == nil {
		w = &wait{path: cmp.Or(f.as, f.Name())}
	}
	w.aside, w.pipe = f.kind == aside, f.pipe
	process.enter(w)
	return w
}

// end notes that a call has returned.
func (f *File) end(w *wait) {
	if w != nil && process.over(w) {
		f.idle.Store(w)
	}
}

// Aside makes the calls from now on those that the program can go on, and end, without.
func (f *File) Aside() {
	if f.waits() {
		f.kind = aside
	}
}

// waits reports whether the file is on a file system, and no FIFO or device.
func (f *File) waits() bool {
	info, err := f.Stat()
	return err != nil || info.Mode()&special == 0
}

// Read is that of os.File; so are the other methods.
func (f *File) Read(p []byte) (int, error) {
	defer f.end(f.begin())
	return f.File.Read(p)
}

// ReadAt is that of os.File.
func (f *File) ReadAt(p []byte, offset int64) (int, error) {
	defer f.end(f.begin())
	return f.File.ReadAt(p, offset)
}

// ReadWhole reads a file that is read in whole, as settings are.
//
//   - Errors: ErrTooLarge, wrapped; those of Read.
func (f *File) ReadWhole() ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(f, MostBytes+1))
	if len(data) > MostBytes {
		return nil, &fs.PathError{Op: "read", Path: f.Name(), Err: ErrTooLarge}
	}
	return data, err
}

// WriteTo is io.Copy, by Read: each call is waited for on its own.
func (f *File) WriteTo(to io.Writer) (int64, error) {
	return io.Copy(to, struct{ io.Reader }{f})
}

// Write is that of os.File.
func (f *File) Write(p []byte) (int, error) {
	defer f.end(f.begin())
	n, err := f.File.Write(p)
	return n, limited(err)
}

// WriteAt is that of os.File.
func (f *File) WriteAt(p []byte, offset int64) (int, error) {
	defer f.end(f.begin())
	n, err := f.File.WriteAt(p, offset)
	return n, limited(err)
}

// WriteString is that of os.File.
func (f *File) WriteString(s string) (int, error) { return f.Write([]byte(s)) }

// ReadFrom is io.Copy, by Write: where the bytes come from is not waited for.
func (f *File) ReadFrom(from io.Reader) (int64, error) {
	return io.Copy(struct{ io.Writer }{f}, from)
}

// Sync is that of os.File.
func (f *File) Sync() error {
	defer f.end(f.begin())
	return limited(f.File.Sync())
}

// Truncate is that of os.File.
func (f *File) Truncate(size int64) error {
	defer f.end(f.begin())
	return limited(f.File.Truncate(size))
}

// Chmod is that of os.File.
func (f *File) Chmod(mode fs.FileMode) error {
	defer f.end(f.begin())
	return f.File.Chmod(mode)
}

// Stat is that of os.File.
func (f *File) Stat() (fs.FileInfo, error) {
	defer f.end(f.begin())
	return f.File.Stat()
}

// Close is that of os.File. On NFS it writes what is not written yet.
func (f *File) Close() error {
	defer f.end(f.begin())
	return limited(f.File.Close())
}

// limited says of an error which limit of a file's size it is about.
func limited(err error) error {
	if err == nil { // nothing is to be allocated
		return nil
	}
	return sizelimit.Explain(err)
}
