// SPDX-License-Identifier: Apache-2.0

//go:build linux

package file

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// stamp identifies a version of a file: it differs once the file has changed.
type stamp struct {
	dev, ino     uint64
	size         int64
	mtime, ctime syscall.Timespec
	owner, mode  uint32
}

// sameFile reports whether both are the same file at the same size; what is in
// it may have been overwritten.
func (s stamp) sameFile(o stamp) bool { return s.dev == o.dev && s.ino == o.ino && s.size == o.size }

// stampOf returns the stamp of an open regular file.
func stampOf(file *os.File) (stamp, error) {
	info, err := file.Stat()
	if err != nil {
		return stamp{}, err
	}
	if !info.Mode().IsRegular() {
		return stamp{}, ErrNotRegular
	}
	return newStamp(info), nil
}

// stamped returns the stamp of name, without opening it or following links.
//
//   - Errors: the system's, or ErrNotRegular.
func (f *folder) stamped(name string) (s stamp, err error) {
	f.gate.pass("glance")
	var st unix.Stat_t
	if _, err = retry(func() (int, error) {
		return 0, unix.Fstatat(int(f.dir.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW)
	}); err != nil {
		return stamp{}, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return stamp{}, ErrNotRegular
	}
	return stamp{
		dev: st.Dev, ino: st.Ino, size: st.Size,
		mtime: syscall.Timespec(st.Mtim), ctime: syscall.Timespec(st.Ctim),
		owner: st.Uid, mode: st.Mode & 0o777,
	}, nil
}

func newStamp(info os.FileInfo) stamp {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok { // cannot be on Linux
		return stamp{}
	}
	return stamp{
		dev: st.Dev, ino: st.Ino, size: st.Size,
		mtime: st.Mtim, ctime: st.Ctim,
		owner: st.Uid, mode: st.Mode & 0o777,
	}
}

// written returns when the file was written, by the clock of the file system.
func (s stamp) written() time.Time { return time.Unix(s.mtime.Unix()) }

// age returns how long ago by the wall clock the file was written. It is no
// measure of liveness.
func (s stamp) age() time.Duration { return time.Since(s.written()) }
