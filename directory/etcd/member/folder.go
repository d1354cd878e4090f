// SPDX-License-Identifier: Apache-2.0

package member

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"go.etcd.io/etcd/server/v3/storage/wal"

	"tagbus/internal/stuck"
)

// Names within the folder of a member. etcd keeps its files in "member".
const (
	settingsFile = "tagbus-directory.json"
	lockFile     = "tagbus-directory.lock"
	etcdFolder   = "member"
)

// folder is the data of a member, which this process has to itself.
type folder struct {
	path string
	lock *stuck.File
}

// settings are what a folder keeps of a Config, and what the member has become.
type settings struct {
	Format    int      `json:"format"`
	Name      string   `json:"name"`
	Listen    string   `json:"listen,omitempty"`
	Advertise string   `json:"advertise,omitempty"`
	Join      []string `json:"join,omitempty"`
	Directory string   `json:"directory,omitempty"` // id of the cluster, in hexadecimal
	Member    string   `json:"member,omitempty"`    // id of the member, in hexadecimal
}

// settingsFormat is that of settings which this version writes and reads.
const settingsFormat = 1

// openFolder makes the folder if it does not exist, and locks it.
//
//   - Errors: *SettingError.
func openFolder(path string) (*folder, error) {
	if err := stuck.MkdirAll(path, 0o700); err != nil {
		return nil, folderError(path, err)
	}
	name := filepath.Join(path, lockFile)
	lock, err := stuck.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, folderError(path, err)
	}
	err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		err = &SettingError{"Data", path, ErrInUse, nil, "stop the member that runs there, or give another folder"}
	case err != nil:
		err = folderError(path, fmt.Errorf("lock: %w", err))
	default:
		return &folder{path, lock}, nil
	}
	return nil, errors.Join(err, lock.Close())
}

// close lets go of the folder. Another process may have it then.
func (f *folder) close() error { return f.lock.Close() }

// ran reports whether a member has its logs there.
func (f *folder) ran() bool { return wal.Exist(filepath.Join(f.path, etcdFolder, "wal")) }

// read returns what the folder keeps; the zero value if nothing.
//
//   - adopt: take the folder of an etcd server, as one is that was made of a snapshot.
//   - Errors: *SettingError with ErrForeign for a folder of etcd or of another program,
//     ErrDamaged.
func (f *folder) read(adopt bool) (s settings, err error) {
	text, err := stuck.ReadFile(filepath.Join(f.path, settingsFile))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return settings{}, f.ours(adopt)
	case err != nil:
		return s, folderError(f.path, err)
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return s, &SettingError{"Data", f.path, ErrDamaged, fmt.Errorf("%s: %w", settingsFile, err), "remove the member from the directory, clear the folder, and join again"}
	}
	if s.Format != settingsFormat {
		return s, &SettingError{
			"Data", f.path, ErrForeign,
			fmt.Errorf("%s has format %d, want %d", settingsFile, s.Format, settingsFormat), "use the version of tagbus-directory that wrote it",
		}
	}
	return s, nil
}

// ours returns an error for a folder without settings that has files in it.
func (f *folder) ours(adopt bool) error {
	if f.ran() && !adopt {
		return &SettingError{"Data", f.path, ErrForeign, errors.New("an etcd server ran there"), "give another folder; or the name of that server, too, if it was made of a snapshot for this member"}
	}
	entries, err := stuck.ReadDir(f.path)
	if err != nil {
		return folderError(f.path, err)
	}
	for _, entry := range entries {
		switch entry.Name() {
		case lockFile, etcdFolder, controlFolder, "lost+found": // the last one in a file system of its own
		default:
			return &SettingError{"Data", f.path, ErrForeign, fmt.Errorf("%s is in it", entry.Name()), "give an empty folder, or one that does not exist"}
		}
	}
	return nil
}

// write keeps settings: they are there as they were or as they are now, also after a loss
// of power.
//
//   - Errors: *SettingError.
func (f *folder) write(s settings) error {
	s.Format = settingsFormat
	text, err := json.MarshalIndent(s, "", "\t")
	if err != nil {
		return err
	}
	if err := replace(filepath.Join(f.path, settingsFile), append(text, '\n')); err != nil {
		return folderError(f.path, err)
	}
	return nil
}

// replace writes a file and puts it in the place of an old one.
func replace(path string, text []byte) (err error) {
	file, err := stuck.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return inPlace(path, err)
	}
	_, err = file.Write(text)
	err = errors.Join(err, file.Sync(), file.Close())
	if err != nil {
		return errors.Join(inPlace(path, err), stuck.Remove(file.Name()))
	}
	if err := stuck.Rename(file.Name(), path); err != nil {
		return err
	}
	dir, err := stuck.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// inPlace returns an error of a file with the name that it is to get: the other one is of no
// use.
func inPlace(path string, err error) error {
	if failed := (*os.PathError)(nil); errors.As(err, &failed) {
		return &os.PathError{Op: failed.Op, Path: path, Err: failed.Err}
	}
	return err
}
