// SPDX-License-Identifier: Apache-2.0

package member

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"tagbus/internal/stuck"
)

// controlFolder is where a member has its sockets, within its folder of data. What reaches them
// administers the member, so that they are for its user alone.
const controlFolder = "control"

// Names of the sockets. etcd serves its clients at the first one, and nothing at the second one:
// members talk to each other over TCP, and etcd wants a place to listen at.
const (
	clientSocket = "clients.sock"
	peerSocket   = "members.sock"
)

// maxSocketPath is how long the path of a socket may be, in bytes.
const maxSocketPath = 107

// makeControl makes the folder of the sockets, for this user only.
//
//   - Errors: *SettingError.
func makeControl(data string) error {
	path := filepath.Join(data, controlFolder)
	if err := stuck.Mkdir(path, 0o700); err != nil && !os.IsExist(err) {
		return folderError(path, err)
	}
	info, err := stuck.Lstat(path)
	if err != nil {
		return folderError(path, err)
	}
	if !info.IsDir() {
		return folderError(path, syscall.ENOTDIR)
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && int(stat.Uid) != os.Geteuid() {
		return &SettingError{"Data", path, ErrForeign, fmt.Errorf("it belongs to user %d", stat.Uid), "remove it, and start the member as the user that it always has"}
	}
	if err := stuck.Chmod(path, 0o700); err != nil {
		return folderError(path, err)
	}
	return nil
}

// socketPath returns a path of a socket that is short enough, by way of the folder as this
// process has it open if need be.
//
//   - descriptor: of the folder, to be closed after the last use of the path; -1: none.
//   - Errors: *SettingError.
func socketPath(data, name string) (path string, descriptor int, err error) {
	folder := filepath.Join(data, controlFolder)
	if path = filepath.Join(folder, name); len(path) <= maxSocketPath {
		return path, -1, nil
	}
	defer stuck.On(folder)()
	descriptor, err = syscall.Open(folder, syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return "", -1, folderError(folder, err)
	}
	return fmt.Sprintf("/proc/self/fd/%d/%s", descriptor, name), descriptor, nil
}

// openSockets makes the paths of the sockets.
//
//   - Errors: *SettingError.
func (m *Member) openSockets() error {
	if err := makeControl(m.config.Data); err != nil {
		return err
	}
	for i, name := range []string{clientSocket, peerSocket} {
		path, descriptor, err := socketPath(m.config.Data, name)
		if err != nil {
			return err
		}
		if m.sockets[i] = path; descriptor >= 0 {
			m.descriptors = append(m.descriptors, descriptor)
		}
	}
	return nil
}

// closeSockets ends the use of the paths.
func (m *Member) closeSockets() (err error) {
	for _, descriptor := range m.descriptors {
		err = errors.Join(err, syscall.Close(descriptor))
	}
	m.descriptors = nil
	return err
}
