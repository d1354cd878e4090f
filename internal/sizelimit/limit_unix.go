// SPDX-License-Identifier: Apache-2.0

//go:build unix

package sizelimit

import "golang.org/x/sys/unix"

// limitOfProcess returns the error with the limit that is set now.
func limitOfProcess() *Error {
	const without = 1 << 62 // or more
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &limit); err != nil || limit.Cur > without {
		return &Error{}
	}
	return &Error{Bytes: limit.Cur, Process: true}
}
