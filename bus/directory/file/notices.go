// SPDX-License-Identifier: Apache-2.0

package file

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/fsnotify/fsnotify"
)

// notices are the system's notifications about one folder. They only make
// polling faster, so all that goes wrong with them is that it stays as slow as
// it is.
type notices struct {
	path    string
	inject  func(step string) error
	watcher *fsnotify.Watcher
	closed  bool
}

// channels returns what to receive from; nil if there is nothing.
func (n *notices) channels() (<-chan fsnotify.Event, <-chan error) {
	if n.watcher == nil {
		return nil, nil
	}
	return n.watcher.Events, n.watcher.Errors
}

// ensure makes notifications come, unless they do already.
//
//   - Errors: *PathError with ErrNoNotifications.
func (n *notices) ensure() error {
	if n.closed {
		return nil
	}
	if n.inject != nil {
		if err := n.inject("notify"); err != nil {
			return n.failed(err)
		}
	}
	if n.watcher == nil {
		watcher, err := fsnotify.NewWatcher()
		if err != nil {
			return n.failed(err)
		}
		n.watcher = watcher
	}
	if len(n.watcher.WatchList()) > 0 { // the system ends a watch when the folder is removed or moved
		return nil
	}
	if err := n.watcher.Add(n.path); err != nil {
		return n.failed(err)
	}
	return nil
}

// lost makes ensure begin again: the folder is not there now.
func (n *notices) lost() {
	if n.watcher != nil && len(n.watcher.WatchList()) > 0 {
		_ = n.watcher.Remove(n.path) // it may have gone by itself
	}
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

func (n *notices) close() {
	n.closed = true
	if n.watcher != nil {
		_ = n.watcher.Close() // nothing can be lost
		n.watcher = nil
	}
}
