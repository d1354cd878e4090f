// SPDX-License-Identifier: Apache-2.0

//go:build linux

package recorder

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"tagbus/cmd/internal/cli"
	"tagbus/internal/flock"
	"tagbus/internal/stuck"
)

// file is what a part is written to, as *os.File.
type file interface {
	io.WriteCloser
	Sync() error
}

// disk is where the parts are. Another one stands in for it in tests.
//
// Threads: one at a time.
type disk interface {
	// create makes a part, under a name that is not yet its own. Blocks: a FIFO, until it
	// has a reader.
	create(part int) (file, error)

	// name returns what a part is called; "": it is a FIFO or a device, which waits for
	// its other end.
	name(part int) string

	// finish gives the part that was created last its name, once it has a header.
	finish(part int) error

	// free returns how many bytes may still be written; ok: there is a limit. It fails if the part
	// that is written has been removed.
	free() (n uint64, ok bool, err error)
}

// folder is a disk: files of a folder, or a FIFO.
type folder struct {
	path  string
	force bool
	fifo  bool   // or a device: what is no file and no folder
	sync  bool   // the folder, after a file in it got its name
	begun bool   // the recorder ends without the folder from now on
	made  bool   // there is a part that has not got its name
	last  *named // the part that is written
}

// newFolder looks at where a recording is to be.
//
// Errors: there is one, and force is false or another recorder is writing it; those of the
// system.
func newFolder(path string, force bool) (*folder, error) {
	f := &folder{path: path, force: force}
	defer f.waits(path)()
	switch info, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, fmt.Errorf("%s is a folder: give the name of a file in it", path)
	case !info.Mode().IsRegular():
		f.fifo = true
		return f, nil
	}
	there, err := f.parts()
	if err != nil {
		return nil, err
	}
	if len(there) > 0 && !force {
		return nil, fmt.Errorf("%s is there already: choose another name, or --force to replace it", there[0])
	}
	for _, name := range there {
		if info, err := os.Lstat(name); err == nil && name != path && !info.Mode().IsRegular() {
			return nil, fmt.Errorf("%s is there, has the name of a part and is no file, which --force does not replace: remove it, or choose another name", name)
		}
		if err := unclaimed(name); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// mostParts is for how many parts there is to be a name.
const mostParts = 99_999

// partsFit returns an error if the name of a later part is too long, with which the run would end there.
func (f *folder) partsFit() error {
	defer f.waits(f.path)()
	var st syscall.Statfs_t
	n := len(filepath.Base(partName(f.path, mostParts)))
	if err := syscall.Statfs(filepath.Dir(f.path), &st); err != nil || st.Namelen <= 0 || uint64(n) <= uint64(st.Namelen) {
		return nil // what else is wrong shows when it is created
	}
	return fmt.Errorf("%s: parts of a recording have their number in the name, %d bytes then, and here a name has %d at most: choose a shorter one", f.path, n, st.Namelen)
}

// unclaimed returns an error if another recorder is writing a file: --force does not replace
// what is not complete yet.
func unclaimed(name string) error {
	file, err := stuck.Open(name)
	if err != nil {
		return err
	}
	if flock.IsExclusive(file.File, stuck.On(name)) {
		err = errClaimed(name)
	}
	return errors.Join(err, file.Close())
}

func errClaimed(name string) error {
	return fmt.Errorf("%s is being written by another program: end it, or choose another name", name)
}

// waits notes that a call for a part, or its folder, is waited for.
//
//   - name: of the part, as people know it.
func (f *folder) waits(name string) (over func()) {
	if f.begun {
		return stuck.Aside(name)
	}
	return stuck.On(name)
}

// name implements disk.
func (f *folder) name(part int) string {
	if f.fifo {
		return ""
	}
	return partName(f.path, part)
}

// partName returns the name of a part.
func partName(path string, part int) string {
	if part == 0 {
		return path
	}
	ext := filepath.Ext(path)
	return fmt.Sprintf("%s.%04d%s", strings.TrimSuffix(path, ext), part, ext)
}

// parts returns what is there with the name of a part: another part cannot be made there, whatever it is.
func (f *folder) parts() (names []string, err error) {
	if _, err := os.Lstat(f.path); err == nil {
		names = append(names, f.path)
	}
	entries, err := os.ReadDir(filepath.Dir(f.path))
	if err != nil {
		return nil, err
	}
	ext := filepath.Ext(f.path)
	stem := strings.TrimSuffix(filepath.Base(f.path), ext) + "."
	for _, e := range entries {
		number, isPart := strings.CutPrefix(strings.TrimSuffix(e.Name(), ext), stem)
		if isPart && strings.HasSuffix(e.Name(), ext) && isNumber(number) {
			names = append(names, filepath.Join(filepath.Dir(f.path), e.Name()))
		}
	}
	return names, nil
}

// isNumber reports whether a text is the number of a part.
func isNumber(text string) bool {
	return len(text) >= 4 && strings.Trim(text, "0123456789") == ""
}

// temporary is the name of a part that has no header yet.
func (f *folder) temporary() string { return f.path + ".new" }

// create implements disk.
func (f *folder) create(part int) (file, error) {
	if f.fifo {
		// Not for reading too: then a FIFO would have this process as its reader, and
		// would never be seen to close.
		opened, err := os.OpenFile(f.path, os.O_WRONLY, 0)
		if err != nil {
			return nil, err
		}
		return pipe{&named{File: opened, name: f.path}}, nil
	}
	name := partName(f.path, part)
	defer stuck.Aside(name)() // the recorder ends without it
	opened, err := os.OpenFile(f.temporary(), os.O_WRONLY|os.O_CREATE, 0o666)
	if err != nil {
		if _, there := os.Lstat(f.temporary()); there == nil { // else nothing is left of it
			name = f.temporary()
		}
		return nil, cli.FileError(name, err)
	}
	if err := claim(opened, stuck.Aside(name)); err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	f.made = true
	f.last = &named{File: opened, name: name}
	return f.last, nil
}

// claim locks a file against another recorder and against tagbus rec index, and empties it.
//
//   - over: ends the wait for the lock.
func claim(f *os.File, over func()) error {
	if !flock.Exclusive(f, over) {
		return errClaimed(f.Name())
	}
	return f.Truncate(0)
}

// finish implements disk.
func (f *folder) finish(part int) error {
	if f.fifo {
		return nil
	}
	name := partName(f.path, part)
	defer f.waits(name)()
	if part == 0 && f.force {
		if err := f.removeAll(); err != nil {
			return err
		}
	}
	if _, err := os.Lstat(name); err == nil && !f.force {
		return fmt.Errorf("%s is there already: another program has made it", name)
	}
	if err := os.Rename(f.temporary(), name); err != nil {
		return err
	}
	f.made, f.begun = false, true
	if !f.sync {
		return nil
	}
	dir, err := os.Open(filepath.Dir(f.path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// removeAll removes the parts of an earlier recording, except the first, which is replaced.
func (f *folder) removeAll() error {
	there, err := f.parts()
	for _, name := range there {
		if name != f.path {
			err = errors.Join(err, os.Remove(name))
		}
	}
	return err
}

// abandon removes what create has made, if it has not got its name.
func (f *folder) abandon() {
	if f.made {
		defer stuck.On(f.temporary())() // the last that is done
		_ = os.Remove(f.temporary())
	}
}

// free implements disk.
func (f *folder) free() (n uint64, ok bool, err error) {
	if f.fifo {
		return 0, false, nil
	}
	name := f.path
	if f.last != nil {
		name = f.last.name
	}
	defer f.waits(name)()
	if err := f.last.unlinked(); err != nil {
		return 0, false, err
	}
	var st syscall.Statfs_t
	if err := syscall.Statfs(filepath.Dir(f.path), &st); err != nil {
		return 0, false, fmt.Errorf("free space of %s: %w", filepath.Dir(f.path), err)
	}
	return st.Bavail * uint64(st.Bsize), true, nil
}
