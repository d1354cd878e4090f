// SPDX-License-Identifier: Apache-2.0

package netio

import "golang.org/x/sys/unix"

// Resources of a process.
const (
	limitAS   = unix.RLIMIT_AS
	limitData = unix.RLIMIT_DATA
)

// softLimit returns the soft limit of a resource of this process.
func softLimit(resource int) (bytes uint64, ok bool) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(resource, &limit); err != nil || limit.Cur == unix.RLIM_INFINITY {
		return 0, false
	}
	return limit.Cur, true
}
