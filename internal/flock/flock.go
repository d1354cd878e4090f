// SPDX-License-Identifier: Apache-2.0

// Package flock reports whether another process has a file open to write, by a lock that lasts
// until the file is closed.
//
// A file system without locks, and a system that has none such, are used without: no file
// counts as locked there.
//
// A call waits for no other process, and on NFS for a server, which may not answer. So each one is
// given the end of a wait that package stuck knows of: flock.Shared(f, stuck.On(path)).
package flock

import "os"

// Exclusive locks a file for this process alone until it is closed, and reports whether no
// other one has it locked. NFS locks only what is open to be written: see stuck.OpenToLock.
//
//   - over: is called when the system has answered.
func Exclusive(f *os.File, over func()) bool {
	defer over()
	return lock(f, exclusive)
}

// Shared locks a file until it is closed, beside others that do, and reports whether no other
// process has it for itself. The file is open to be read.
//
//   - over: is called when the system has answered.
func Shared(f *os.File, over func()) bool {
	defer over()
	return lock(f, shared)
}

// IsExclusive reports whether another process has a file for itself. It leaves the file
// unlocked. The file is open to be read.
//
//   - over: is called when the system has answered.
func IsExclusive(f *os.File, over func()) bool {
	defer over()
	if !lock(f, shared) {
		return true
	}
	lock(f, unlocked)
	return false
}

// how is what is asked for.
type how int

const (
	unlocked how = iota
	shared
	exclusive
)
