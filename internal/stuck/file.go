// SPDX-License-Identifier: Apache-2.0

package stuck

import (
	"io"
	"io/fs"
	"os"
)

// File is an os.File whose calls are waited for by On, or by Aside, unless it is a FIFO or a
// device: to wait for their other end is no fault of a file system.
type File struct {
	*os.File
	wait func(path string) (over func())
}

// Open is os.Open with On, except for a FIFO.
func Open(path string) (*File, error) { return OpenFile(path, os.O_RDONLY, 0) }

// OpenFile is os.OpenFile with On, as Open.
func OpenFile(path string, flag int, perm fs.FileMode) (*File, error) {
	return open(path, flag, perm, On)
}

// OpenFileAside is OpenFile with Aside.
func OpenFileAside(path string, flag int, perm fs.FileMode) (*File, error) {
	return open(path, flag, perm, Aside)
}

// CreateTemp is os.CreateTemp with On.
func CreateTemp(dir, pattern string) (*File, error) {
	defer On(dir)()
	f, err := os.CreateTemp(dir, pattern)
	if err != nil {
		return nil, err
	}
	return &File{f, On}, nil
}

func open(path string, flag int, perm fs.FileMode, wait func(string) func()) (*File, error) {
	over := wait(path)
	info, err := os.Stat(path)
	over()
	const special = fs.ModeNamedPipe | fs.ModeDevice | fs.ModeSocket
	if err == nil && info.Mode()&special != 0 {
		wait = never
	}
	over = wait(path)
	defer func() { over() }()
	f, err := os.OpenFile(path, flag, perm)
	if err != nil {
		return nil, err
	}
	// It may be another one by now, or the path may name a descriptor of this process.
	if info, err := f.Stat(); err == nil && info.Mode()&special != 0 {
		wait = never
	}
	return &File{f, wait}, nil
}

// never waits for nothing.
func never(string) func() { return func() {} }

// Aside makes the calls from now on those that the program can go on, and end, without.
func (f *File) Aside() {
	if f.waits() {
		f.wait = Aside
	}
}

// waits reports whether the file is on a file system, and no FIFO or device.
func (f *File) waits() bool {
	info, err := f.Stat()
	return err != nil || info.Mode()&(fs.ModeNamedPipe|fs.ModeDevice|fs.ModeSocket) == 0
}

// Read is that of os.File; so are the other methods.
func (f *File) Read(p []byte) (int, error) {
	defer f.wait(f.Name())()
	return f.File.Read(p)
}

// ReadAt is that of os.File.
func (f *File) ReadAt(p []byte, offset int64) (int, error) {
	defer f.wait(f.Name())()
	return f.File.ReadAt(p, offset)
}

// WriteTo is io.Copy, by Read: each call is waited for on its own.
func (f *File) WriteTo(to io.Writer) (int64, error) {
	return io.Copy(to, struct{ io.Reader }{f})
}

// Write is that of os.File.
func (f *File) Write(p []byte) (int, error) {
	defer f.wait(f.Name())()
	return f.File.Write(p)
}

// WriteAt is that of os.File.
func (f *File) WriteAt(p []byte, offset int64) (int, error) {
	defer f.wait(f.Name())()
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
	defer f.wait(f.Name())()
	return f.File.Sync()
}

// Truncate is that of os.File.
func (f *File) Truncate(size int64) error {
	defer f.wait(f.Name())()
	return f.File.Truncate(size)
}

// Chmod is that of os.File.
func (f *File) Chmod(mode fs.FileMode) error {
	defer f.wait(f.Name())()
	return f.File.Chmod(mode)
}

// Stat is that of os.File.
func (f *File) Stat() (fs.FileInfo, error) {
	defer f.wait(f.Name())()
	return f.File.Stat()
}

// Close is that of os.File. On NFS it writes what is not written yet.
func (f *File) Close() error {
	defer f.wait(f.Name())()
	return f.File.Close()
}
