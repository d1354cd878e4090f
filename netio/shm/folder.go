// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shm

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"tagbus/netio"
)

const (
	maxPathBytes = 107 // of a socket, without the zero behind it

	// longestName is a name as long as any without a zone.
	longestName = "/[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535"

	// A new listen endpoint looks at so many names of the folder, and asks so many
	// sockets whether a process listens there.
	maxNames  = 1024
	maxProbes = 64

	// lockTries is how often the lock is tried. The process that has it
	// makes a few calls of the system with it, and waits for nothing.
	lockTries = 1000

	// A default folder may be removed by its last user between two calls of the system, so
	// often that it is made.
	folderTries = 1000
)

// pathOf returns the path of the socket of an address. Errors: netio.ErrInvalidAddress.
func (c *Config) pathOf(addr netip.AddrPort) (string, error) {
	path := filepath.Join(c.Folder, addr.String())
	if strings.ContainsAny(addr.Addr().Zone(), "/\x00") || len(path) > maxPathBytes {
		return "", netio.ErrInvalidAddress
	}
	return path, nil
}

// pathsOf returns where the socket of an address may be. Errors: netio.ErrInvalidAddress.
func (c *Config) pathsOf(addr netip.AddrPort) ([]string, error) {
	path, err := c.pathOf(addr)
	if err != nil {
		return nil, err
	}
	paths := []string{path}
	if c.ownFolder {
		paths = paths[:0]
		for _, folder := range defaultFolders() {
			paths = append(paths, filepath.Join(folder, addr.String()))
		}
	}
	return paths, nil
}

// current returns c with the default folder of this time, if it has one: that of the user comes with the
// first session, and goes with the last one.
func (c *Config) current() *Config {
	if !c.ownFolder {
		return c
	}
	now := *c
	now.Folder = defaultFolders()[0]
	return &now
}

// makeFolder makes the folder if it is missing. What a default one is in is the system's: where that has gone
// this is another folder by now. Errors: the system's.
func (c *Config) makeFolder() error {
	if !c.ownFolder {
		return os.MkdirAll(c.Folder, 0o700)
	}
	if err := os.Mkdir(c.Folder, 0o700); !errors.Is(err, unix.EEXIST) {
		return err
	}
	return nil
}

// openFolder makes the folder if it is missing, and checks it. Errors: ErrFolder, wrapped;
// the system's.
func (c *Config) openFolder() error {
	if err := c.makeFolder(); err != nil {
		return err
	}
	var st unix.Stat_t
	if err := retry(func() error { return unix.Lstat(c.Folder, &st) }); err != nil {
		return err
	}
	uid := uint32(os.Geteuid())
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFDIR:
		return fmt.Errorf("%w: %s is no folder", ErrFolder, c.Folder)
	case c.ownFolder && (st.Uid != uid || st.Mode&0o077 != 0):
		return fmt.Errorf("%w: %s belongs to user %d with mode %#o, want %d and 0700", ErrFolder, c.Folder, st.Uid, st.Mode&0o777, uid)
	case st.Uid != uid && st.Uid != 0:
		return fmt.Errorf("%w: %s belongs to user %d, want %d or 0", ErrFolder, c.Folder, st.Uid, uid)
	case st.Mode&0o002 != 0 && st.Mode&unix.S_ISVTX == 0:
		return fmt.Errorf("%w: every user may write in %s", ErrFolder, c.Folder)
	}
	return nil
}

// newListener returns a socket that listens in the folder, under a name of its own that no
// one knows. A socket has the name of its address only when it listens: so one that
// refuses connections is dead.
func (c *Config) newListener() (fd int, path string, err error) {
	path = filepath.Join(c.Folder, fmt.Sprintf(".%016x", rand.Uint64()))
	if fd, err = newSocket(); err != nil {
		return -1, "", err
	}
	if err = unix.Bind(fd, &unix.SockaddrUnix{Name: path}); err == nil {
		if err = unix.Listen(fd, backlog); err != nil {
			_ = unix.Unlink(path)
		}
	}
	if err != nil {
		_ = unix.Close(fd)
		return -1, "", err
	}
	return fd, path, nil
}

// place makes the folder if it is missing, and listens there (listen).
//
//   - sweep: what dead processes have left is removed before. Later this side's own socket would be
//     asked, too.
func (c *Config) place(addr netip.AddrPort, sweep bool) (fd int, path string, actual netip.AddrPort, err error) {
	for range folderTries {
		fd, actual = -1, addr
		at := c.current()
		if err = at.openFolder(); err == nil {
			if sweep {
				at.sweep()
			}
			fd, path, actual, err = at.listenIn(addr)
		}
		if !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.EEXIST) {
			break
		}
	}
	return fd, path, actual, err
}

// listenIn listens in a folder that openFolder has found good. A default one may have gone since
// then, and another user may have taken its name: with a socket of this side in it that
// is over, so it is looked at once more.
func (c *Config) listenIn(addr netip.AddrPort) (fd int, path string, actual netip.AddrPort, err error) {
	fd, path, actual, err = c.listen(addr)
	if err != nil || !c.ownFolder {
		return fd, path, actual, err
	}
	if err = c.openFolder(); err == nil {
		err = retry(func() error { return unix.Lstat(path, new(unix.Stat_t)) })
	}
	if err != nil {
		_ = unix.Unlink(path)
		_ = unix.Close(fd)
		return -1, "", addr, err
	}
	return fd, path, actual, nil
}

// leaveFolder removes a default folder after its last socket, which was at path.
func (c *Config) leaveFolder(path string) {
	if c.ownFolder {
		_ = unix.Rmdir(filepath.Dir(path)) // not empty: others use it
	}
}

func newSocket() (fd int, err error) {
	fd, err = unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("socket: %w", err)
	}
	return fd, nil
}

// listen returns a socket that listens on an address, and its path. With port 0 it chooses
// one. Errors: unix.EADDRINUSE, and others of the system.
func (c *Config) listen(addr netip.AddrPort) (fd int, path string, actual netip.AddrPort, err error) {
	fail := func(err error) (int, string, netip.AddrPort, error) { return -1, "", netip.AddrPort{}, err }
	fd, own, err := c.newListener()
	if err != nil {
		return fail(err)
	}
	for range 3 { // the name of its own may be taken for dead before it listens
		path, actual, err = c.name(own, addr)
		if !errors.Is(err, unix.ENOENT) {
			break
		}
		_ = unix.Close(fd)
		if fd, own, err = c.newListener(); err != nil {
			return fail(err)
		}
	}
	_ = unix.Unlink(own)
	if err != nil {
		_ = unix.Close(fd)
		return fail(err)
	}
	return fd, path, actual, nil
}

// Ports that are chosen.
const (
	firstPort = 32768
	ports     = 61000 - firstPort
	portTries = 1000
)

// name gives the socket at own the name of an address.
func (c *Config) name(own string, addr netip.AddrPort) (path string, actual netip.AddrPort, err error) {
	if addr.Port() != 0 {
		if path, err = c.pathOf(addr); err != nil {
			return "", addr, err
		}
		return path, addr, c.link(own, path)
	}
	for range portTries {
		actual = netip.AddrPortFrom(addr.Addr(), uint16(firstPort+randomPort()))
		if path, err = c.pathOf(actual); err != nil {
			return "", actual, err
		}
		if err = unix.Link(own, path); !errors.Is(err, unix.EEXIST) {
			return path, actual, err
		}
	}
	return "", actual, unix.EADDRINUSE
}

// link gives a socket another name, in the place of one that is dead.
func (c *Config) link(own, path string) error {
	err := unix.Link(own, path)
	if !errors.Is(err, unix.EEXIST) {
		return err
	}
	unlock, err := c.lock()
	if err != nil {
		return err
	}
	removed := c.removeDead(path)
	unlock()
	if !removed {
		return unix.EADDRINUSE
	}
	if err = unix.Link(own, path); errors.Is(err, unix.EEXIST) {
		return unix.EADDRINUSE
	}
	return err
}

// connect connects a socket. It does not wait.
func connect(fd int, path string) error {
	return retry(func() error { return unix.Connect(fd, &unix.SockaddrUnix{Name: path}) })
}
