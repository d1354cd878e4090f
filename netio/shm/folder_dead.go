// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shm

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// lock locks the folder against others that remove sockets. A file for the lock would be left
// behind. Errors: unix.EADDRINUSE if another one has it; the system's.
func (c *Config) lock() (unlock func(), err error) {
	fd, err := unix.Open(c.Folder, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	for range lockTries {
		if err = unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB); err == nil {
			return func() { _ = unix.Close(fd) }, nil
		}
		yield()
	}
	_ = unix.Close(fd)
	return nil, fmt.Errorf("%w: another process has locked %s", unix.EADDRINUSE, c.Folder)
}

// removeDead removes a socket on which no process listens. The folder is locked.
func (c *Config) removeDead(path string) (removed bool) {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return errors.Is(err, unix.ENOENT)
	}
	fd, err := newSocket()
	if err != nil {
		return false
	}
	defer closeSocket(fd) // of which what listens may be hostile
	if err := connect(fd, path); !errors.Is(err, unix.ECONNREFUSED) {
		return false
	}
	return unix.Unlink(path) == nil
}

// sweep removes some of the sockets that dead processes have left.
func (c *Config) sweep() {
	folder, err := os.Open(c.Folder)
	if err != nil {
		return
	}
	defer func() { _ = folder.Close() }()
	entries, err := folder.ReadDir(maxNames)
	if err != nil && len(entries) == 0 {
		return
	}
	var unlock func()
	probes := 0
	for _, e := range entries {
		if e.Type() != fs.ModeSocket || probes == maxProbes {
			continue
		}
		if unlock == nil {
			if unlock, err = c.lock(); err != nil {
				return
			}
			defer unlock()
		}
		probes++
		c.removeDead(filepath.Join(c.Folder, e.Name()))
	}
}
