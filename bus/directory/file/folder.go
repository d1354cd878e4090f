// SPDX-License-Identifier: Apache-2.0

//go:build linux

package file

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"tagbus/bus/directory"
)

// The names in a folder.
const (
	suffix    = ".jsonl"
	tmpPrefix = "."
	tmpSuffix = ".tmp"
	filePerm  = 0o644 // before umask
	dirPerm   = 0o755 // before umask
)

// folder is the open folder. All names in it are opened relative to it and
// without following links, so nothing that is planted leads outside.
type folder struct {
	path  string
	dir   *os.File
	gate  *gate // that the user is inside of
	quick bool  // what is written need not outlive a crash of the system
}

// openFolder opens the folder at path.
//
//   - g: what the caller is inside of.
//   - flags: more of them for open(2).
//   - Errors: *PathError with ErrVanished, ErrNotDirectory or ErrUnreadable.
//   - Blocks: for the file system.
func openFolder(path string, g *gate, flags int) (*folder, error) {
	g.pass("opendir")
	dir, err := os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK|flags, 0)
	if err != nil {
		return nil, folderError(path, err)
	}
	return &folder{path: path, dir: dir, gate: g}, nil
}

// folderError explains an error of opening or listing the folder.
func folderError(path string, err error) error {
	switch {
	case errors.Is(err, os.ErrNotExist):
		return &PathError{path, ErrVanished, missingHint}
	case errors.Is(err, syscall.ENOTDIR):
		return &PathError{path, ErrNotDirectory, "give the path of a folder that publishers and subscribers share"}
	default:
		return &PathError{path, wrap(ErrUnreadable, err), hintFor(err)}
	}
}

// stamp returns the stamp of the folder itself.
func (f *folder) stamp() (stamp, error) {
	f.gate.pass("statdir")
	info, err := f.dir.Stat()
	if err != nil {
		f.close()
		return stamp{}, folderError(f.path, err)
	}
	return newStamp(info), nil
}

func (f *folder) close() { _ = f.dir.Close() } // opened for reading: nothing can be lost

// names returns up to limit names of the folder that are for readers or are
// temporary, with their types.
//
//   - all: false if there are more than limit names of any kind.
//   - Errors: as openFolder; the folder may be removed while it is open.
func (f *folder) names(limit int) (entries []os.DirEntry, all bool, err error) {
	all, err = f.each(limit, func(entry os.DirEntry) {
		if isPublic(entry.Name()) || isTemporary(entry.Name()) {
			entries = append(entries, entry)
		}
	})
	if err != nil {
		return nil, false, err
	}
	return entries, all, nil
}

// each calls use with up to limit names of the folder, of any kind. all is false if there
// are more.
//
// Errors: as names.
func (f *folder) each(limit int, use func(os.DirEntry)) (all bool, err error) {
	const batch = 16 // a step: some file systems are asked about each name
	for seen := 0; ; {
		f.gate.pass("list")
		some, err := f.dir.ReadDir(batch)
		for _, entry := range some {
			if seen++; seen > limit {
				return false, nil
			}
			use(entry)
		}
		if err == io.EOF {
			return true, nil
		}
		if err != nil {
			return false, folderError(f.path, err)
		}
	}
}

// isPublic reports whether name is one that readers look at.
func isPublic(name string) bool {
	return strings.HasSuffix(name, suffix) && !strings.HasPrefix(name, ".")
}

// isTemporary reports whether name is one that a publisher writes before it renames.
func isTemporary(name string) bool {
	instance, ok := strings.CutSuffix(name, tmpSuffix)
	instance, dot := strings.CutPrefix(instance, tmpPrefix)
	return ok && dot && directory.ValidInstance(instance)
}

// open opens name in the folder without following links and without blocking, and
// returns it if it is a regular file.
//
//   - step: name of this call for fault injection.
//   - Errors: the system's, or ErrNotRegular.
func (f *folder) open(step, name string, flags int) (*os.File, stamp, error) {
	if err := f.gate.step(step); err != nil {
		return nil, stamp{}, err
	}
	fd, err := retry(func() (int, error) {
		return syscall.Openat(int(f.dir.Fd()), name, flags|syscall.O_NOFOLLOW|syscall.O_NONBLOCK|syscall.O_CLOEXEC, filePerm)
	})
	switch {
	case errors.Is(err, syscall.ELOOP), errors.Is(err, syscall.ENXIO), errors.Is(err, syscall.EISDIR):
		return nil, stamp{}, ErrNotRegular // a link, a socket or a FIFO, a folder
	case err != nil:
		return nil, stamp{}, err
	}
	file := os.NewFile(uintptr(fd), f.path+"/"+name)
	f.gate.pass("stat")
	s, err := stampOf(file)
	if err != nil {
		_ = file.Close()
		return nil, stamp{}, err
	}
	return file, s, nil
}

// replace makes content what name holds: all of it or, after an error, what was
// there before.
//
//   - Result: the stamp of the new file.
//   - Errors: the system's.
func (f *folder) replace(instance string, content []byte) (s stamp, err error) {
	tmp := tmpPrefix + instance + tmpSuffix
	if err := f.remove(tmp); err != nil { // left by this instance: a folder has one writer of a name
		return s, err
	}
	file, _, err := f.open("create", tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return s, err
	}
	defer func() {
		if err != nil {
			_ = f.remove(tmp) // the first error is the one to report
		}
	}()
	err = f.gate.step("write")
	if err == nil {
		_, err = file.Write(content)
	}
	if err == nil && !f.quick {
		err = errors.Join(f.gate.step("sync"), file.Sync())
	}
	if err == nil {
		s, err = stampOf(file)
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return s, err
	}
	if err = f.rename(tmp, instance+suffix); err != nil {
		return s, err
	}
	return s, nil
}

// rename renames within the folder.
func (f *folder) rename(from, to string) error {
	if err := f.gate.step("rename"); err != nil {
		return err
	}
	fd := int(f.dir.Fd())
	_, err := retry(func() (int, error) { return 0, syscall.Renameat(fd, from, fd, to) })
	return err
}

// sync makes the names of the folder durable. Some file systems cannot; there
// is nothing to do about it.
func (f *folder) sync() error {
	if f.quick {
		return nil
	}
	if err := f.gate.step("syncdir"); err != nil {
		return err
	}
	if err := f.dir.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) {
		return err
	}
	return nil
}

// remove removes name; that it is not there is no error.
func (f *folder) remove(name string) error {
	if err := f.gate.step("remove"); err != nil {
		return err
	}
	_, err := retry(func() (int, error) { return 0, syscall.Unlinkat(int(f.dir.Fd()), name) })
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// retry repeats a system call that a signal interrupted; network file systems
// let that happen.
func retry(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if !errors.Is(err, syscall.EINTR) {
			return n, err
		}
	}
}

// wrap joins a sentinel and the error of the system in one line.
func wrap(sentinel, err error) error { return fmt.Errorf("%w: %w", sentinel, err) }
