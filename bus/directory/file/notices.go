// SPDX-License-Identifier: Apache-2.0

//go:build linux

package file

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// notices are the system's notifications about one folder (inotify). They only make
// polling faster, so all that goes wrong with them is that it stays as slow as it is.
//
// Beats are writes, of which there is one each second for each publisher: they are not
// asked for. Entries change by rename.
type notices struct {
	path   string
	gate   *gate         // what the caller is inside of
	file   *os.File      // of the kernel's queue; nil: none
	events chan notice   // from the goroutine that reads it
	quit   chan struct{} // closed to end it
	reader sync.WaitGroup
	closed bool

	mu    sync.Mutex
	watch int  // of the folder; noWatch: none
	local bool // only this kernel writes the folder, so that it notices all that happens there
}

// notice is what the goroutine has read at once.
type notice struct {
	names []string // of files that have come, changed or gone
	all   bool     // the folder has changed or gone, or notifications were lost: look at all files
}

const (
	noWatch   = -1
	noticed   = unix.IN_CREATE | unix.IN_MOVED_TO | unix.IN_MOVED_FROM | unix.IN_DELETE | unix.IN_DELETE_SELF | unix.IN_MOVE_SELF | unix.IN_ONLYDIR
	noticeLen = 64 << 10 // bytes that are read at once
)

// channel returns what to receive from; nil if there is nothing.
func (n *notices) channel() <-chan notice { return n.events }

// working reports whether notifications come.
func (n *notices) working() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.file != nil && n.watch != noWatch
}

// ensure makes notifications come, unless they do already.
//
//   - Errors: *PathError with ErrNoNotifications.
func (n *notices) ensure() error {
	if n.closed {
		return nil
	}
	if err := n.gate.step("notify"); err != nil {
		return n.failed(err)
	}
	if n.file == nil {
		fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
		if err != nil {
			return n.failed(err)
		}
		n.file, n.watch = os.NewFile(uintptr(fd), "inotify"), noWatch
		n.events, n.quit = make(chan notice), make(chan struct{})
		n.reader.Go(n.read)
	}
	if n.working() { // the system ends a watch when the folder is removed
		return nil
	}
	watch := noWatch
	err := n.control(func(fd int) (err error) {
		watch, err = unix.InotifyAddWatch(fd, n.path, noticed)
		return err
	})
	if err != nil {
		return n.failed(err)
	}
	n.mu.Lock()
	n.watch, n.local = watch, isLocal(n.path)
	n.mu.Unlock()
	return nil
}

// complete reports whether all that happens in the folder is noticed.
func (n *notices) complete() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.file != nil && n.watch != noWatch && n.local
}

// isLocal reports whether a folder is on a file system that no other kernel writes, as far
// as is known.
func isLocal(path string) bool {
	var fs unix.Statfs_t
	if unix.Statfs(path, &fs) != nil {
		return false
	}
	switch int64(fs.Type) { //nolint:unconvert // it has 32 bits on some processors
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.TMPFS_MAGIC, unix.RAMFS_MAGIC, unix.F2FS_SUPER_MAGIC:
		return true
	}
	return false
}

// control calls f with the descriptor of the kernel's queue.
func (n *notices) control(f func(fd int) error) error {
	raw, err := n.file.SyscallConn()
	if err != nil {
		return err
	}
	return errors.Join(raw.Control(func(fd uintptr) { err = f(int(fd)) }), err)
}

// lost makes ensure begin again: the folder is not there now, or is another one.
func (n *notices) lost() {
	n.mu.Lock()
	watch := n.watch
	n.watch = noWatch
	n.mu.Unlock()
	if n.file != nil && watch != noWatch {
		_ = n.control(func(fd int) error { // it may have gone by itself
			_, err := unix.InotifyRmWatch(fd, uint32(watch))
			return err
		})
	}
}

// read passes on what the kernel says until the queue is closed.
func (n *notices) read() {
	buffer := make([]byte, noticeLen)
	for {
		got, err := n.file.Read(buffer)
		if err != nil {
			return
		}
		news := n.parse(buffer[:got])
		if !news.all && len(news.names) == 0 {
			continue
		}
		select {
		case n.events <- news:
		case <-n.quit:
			return
		}
	}
}

// parse reads the events of the kernel.
func (n *notices) parse(b []byte) (news notice) {
	for len(b) >= unix.SizeofInotifyEvent {
		watch, mask := int(int32(binary.NativeEndian.Uint32(b))), binary.NativeEndian.Uint32(b[4:])
		end := min(unix.SizeofInotifyEvent+int(binary.NativeEndian.Uint32(b[12:])), len(b))
		name := unix.ByteSliceToString(b[unix.SizeofInotifyEvent:end])
		b = b[end:]
		n.mu.Lock()
		ours := watch == n.watch
		if ours && mask&unix.IN_IGNORED != 0 {
			n.watch = noWatch
		}
		n.mu.Unlock()
		switch {
		case mask&unix.IN_Q_OVERFLOW != 0:
			news.all = true
		case !ours: // of a folder that was here before
		case mask&(unix.IN_DELETE_SELF|unix.IN_MOVE_SELF|unix.IN_UNMOUNT|unix.IN_IGNORED) != 0:
			news.all = true
		case isPublic(name):
			news.names = append(news.names, name)
		}
	}
	return news
}

func (n *notices) failed(err error) error {
	hint := "nothing; changes are found by polling"
	switch {
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		hint = "raise fs.inotify.max_user_instances or the limit of open files; until then changes are found by polling"
	case errors.Is(err, syscall.ENOSPC):
		hint = "raise fs.inotify.max_user_watches; until then changes are found by polling"
	}
	return &PathError{n.path, fmt.Errorf("%w: %w", ErrNoNotifications, err), hint}
}

// close ends the notifications and waits for the goroutine.
func (n *notices) close() {
	n.closed = true
	if n.file == nil {
		return
	}
	close(n.quit)
	_ = n.file.Close() // nothing can be lost
	n.reader.Wait()
	n.file, n.events = nil, nil
}
