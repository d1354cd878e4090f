// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"

	"tagbus/bus/directory/file"
	"tagbus/internal/stuck"
)

const (
	folderPatience = 10 * time.Second      // of a look at the folder
	probeName      = ".tagbus-check-*.tmp" // as a file that is half written, which goes by itself
	nfsMagic       = 0x6969
)

// within calls look and returns what it returns, or errHangs if that takes too long, or errEnded if
// ctx has ended. A call into a file system that hangs does not return; only its result is given up.
func within[T any](ctx context.Context, patience time.Duration, look func() (T, error)) (result T, err error) {
	done := stuck.Go(look)
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case r := <-done:
		return r.Value, r.Err
	case <-timer.C:
		return result, errHangs
	case <-ctx.Done():
		return result, errEnded
	}
}

// lookAtFolder looks at a folder, makes a file in it and removes it.
func lookAtFolder(path string, config file.Config) folderSeen {
	return onceMore(func() folderSeen { return lookAtFolderOnce(path, config) })
}

// onceMore looks, and looks once more if that was slow: the disk may have had to write much of others just then. Both have
// folderPatience together: what takes so long that there may be no time for another look is slow.
func onceMore(look func() folderSeen) folderSeen {
	s := look()
	if s.err != nil || s.write != nil || s.took <= slowFolder || s.took > folderPatience/4 {
		return s
	}
	first := s.took
	s = look()
	s.took = min(s.took, first)
	return s
}

func lookAtFolderOnce(path string, config file.Config) folderSeen {
	var s folderSeen
	s.survey, s.err = file.Look(path, config)
	if errors.Is(s.err, file.ErrHangs) {
		s.err = errHangs
	}
	if s.err != nil {
		return s
	}
	s.took = s.survey.Took
	s.system, s.unknown = systemOf(path)
	before := time.Now()
	stamp, err := probe(path)
	after := time.Now()
	s.took = max(s.took, after.Sub(before))
	if s.write = err; err != nil {
		return s
	}
	s.timed, s.about = true, after.Sub(before)/2
	s.ahead = stamp.Sub(before.Add(s.about))
	return s
}

// probe makes a file that directories pass over, removes it, and returns the time that the
// file system gave it.
func probe(path string) (stamp time.Time, err error) {
	f, err := os.CreateTemp(path, probeName)
	if err != nil {
		return stamp, err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	if _, err := f.Write([]byte("a check of the bus; it may be removed\n")); err != nil {
		return stamp, err
	}
	if err := f.Sync(); err != nil { // a network file system has written nothing before
		return stamp, err
	}
	info, err := f.Stat()
	if err != nil {
		return stamp, err
	}
	return info.ModTime(), nil
}

// systemOf describes the file system of a folder.
func systemOf(path string) (fileSystem, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return fileSystem{}, err
	}
	return fileSystem{
		nfs:        s.Type == nfsMagic,
		free:       s.Bavail * uint64(s.Bsize),
		countFiles: s.Files > 0,
		freeFiles:  s.Ffree,
	}, nil
}
