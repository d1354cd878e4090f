// SPDX-License-Identifier: Apache-2.0

// Package flock reports whether another process has a file open to write, by a lock that lasts
// until the file is closed.
//
// A file system without locks, and a system that has none such, are used without: no file
// counts as locked there.
package flock

import "os"

// Exclusive locks a file for this process alone until it is closed, and reports whether no
// other one has it locked. Blocks: never.
func Exclusive(f *os.File) bool { return lock(f, exclusive) }

// Shared locks a file until it is closed, beside others that do, and reports whether no other
// process has it for itself. Blocks: never.
func Shared(f *os.File) bool { return lock(f, shared) }

// IsExclusive reports whether another process has a file for itself. It leaves the file
// unlocked.
func IsExclusive(f *os.File) bool {
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
