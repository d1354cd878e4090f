// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package headroom keeps the last descriptors of a process from connections, for its files.
// Connections come as long as there are descriptors, and a program without one renews no entry in
// the directory, reads no policy again and begins no next file of a recording.
//
// The system gives out the lowest descriptor that is free, so that a high one tells that few are left.
package headroom

import "golang.org/x/sys/unix"

// most is how many descriptors are kept where the limit has room for it. An entry takes 2 for a moment,
// and a publisher has few of them.
const most = 16

// share is the part of a limit that is kept where that is less.
const share = 16

// Taken reports whether a descriptor that is new is one of those that are kept: its connection has to give it back.
// Threads: any. Blocks: never.
func Taken(fd int) bool {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return false
	}
	return uint64(fd)+Of(limit.Cur) >= limit.Cur
}

// Of returns how many descriptors are kept of a limit.
func Of(limit uint64) uint64 { return min(limit/share, most) }

// Keeps reports whether the next connection at a listening socket would take a descriptor that is kept, and whether one
// waits there: such a one is to be refused. Threads: any. Blocks: never.
func Keeps(listener int) (full, waits bool) {
	if !reached(listener) {
		return false, false
	}
	fds := []unix.PollFd{{Fd: int32(listener), Events: unix.POLLIN}}
	n, err := unix.Poll(fds, 0)
	return true, n > 0 || err != nil
}

// reached reports whether the next descriptor would be one of those that are kept, or there is none.
//
//   - fd: a descriptor that is open.
//   - Threads: any. Blocks: never.
func reached(fd int) bool {
	next, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return true
	}
	defer func() { _ = unix.Close(next) }()
	return Taken(next)
}
