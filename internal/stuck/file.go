// SPDX-License-Identifier: Apache-2.0

package stuck

import (
	"io"
	"io/fs"
	"os"
	"sync/atomic"
)

// File is an os.File whose calls are waited for by On, or by Aside, unless it is a FIFO or a
// device: to wait for their other end is no fault of a file system.
type File struct {
	*os.File
	kind kind
	idle atomic.Pointer[wait] // that an earlier call has left: most files have one call at a time
}

// kind is how the calls of a file are waited for.
type kind int

const (
	on kind = iota
	aside
	never
)

// Open is os.Open with On, except for a FIFO.
func Open(path string) (*File, error) { return OpenFile(path, os.O_RDONLY, 0) }

// OpenFile is os.OpenFile with On, as Open.
func OpenFile(path string, flag int, perm fs.FileMode) (*File, error) {
	return open(path, flag, perm, on)
}

// OpenFileAside is OpenFile with Aside.
func OpenFileAside(path string, flag int, perm fs.FileMode) (*File, error) {
	return open(path, flag, perm, aside)
}

// CreateTemp is os.CreateTemp with On.
func CreateTemp(dir, pattern string) (*File, error) {
	defer On(dir)()
	f, err := os.CreateTemp(dir, pattern)
	if err != nil {
		return nil, err
	}
	return &File{File: f}, nil
}

func open(path string, flag int, perm fs.FileMode, kind kind) (*File, error) {
	waiting := func() (over func()) {
		if kind == never {
			return func() {}
		}
		return process.begin(path, kind == aside)
	}
	over := waiting()
	info, err := os.Stat(path)
	over()
	const special = fs.ModeNamedPipe | fs.ModeDevice | fs.ModeSocket
	if err == nil && info.Mode()&special != 0 {
		kind = never
	}
	defer waiting()()
	f, err := os.OpenFile(path, flag, perm)
	if err != nil {
		return nil, err
	}
	// It may be another one by now, or the path may name a descriptor of this process.
	if info, err := f.Stat(); err == nil && info.Mode()&special != 0 {
		kind = never
	}
	return &File{File: f, kind: kind}, nil
}

// begin notes a call; nil: none that is waited for. It allocates nothing when the call before
// has ended.
func (f *File) begin() *wait {
	if f.kind == never {
		return nil
	}
	w := f.idle.Swap(nil)
	if w == nil {
		w = &wait{path: f.Name()}
	}
	w.aside = f.kind == aside
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
	return err != nil || info.Mode()&(fs.ModeNamedPipe|fs.ModeDevice|fs.ModeSocket) == 0
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

// WriteTo is io.Copy, by Read: each call is waited for on its own.
func (f *File) WriteTo(to io.Writer) (int64, error) {
	return io.Copy(to, struct{ io.Reader }{f})
}

// Write is that of os.File.
func (f *File) Write(p []byte) (int, error) {
	defer f.end(f.begin())
	return f.File.Write(p)
}

// WriteAt is that of os.File.
func (f *File) WriteAt(p []byte, offset int64) (int, error) {
	defer f.end(f.begin())
	return f.File.WriteAt(p, offset)
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
	return f.File.Sync()
}

// Truncate is that of os.File.
func (f *File) Truncate(size int64) error {
	defer f.end(f.begin())
	return f.File.Truncate(size)
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
	return f.File.Close()
}
