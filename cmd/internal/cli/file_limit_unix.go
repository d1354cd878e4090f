// SPDX-License-Identifier: Apache-2.0

//go:build unix

package cli

import (
	"fmt"

	"golang.org/x/sys/unix"

	"tagbus/cmd/internal/units"
)

// sizeLimit says how large a file may be.
func sizeLimit() string {
	const without = 1 << 62
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &limit); err != nil || limit.Cur > without {
		return "its file system takes no larger file"
	}
	return fmt.Sprintf("a file of this process may have %s (ulimit -f)", units.FormatBytes(float64(limit.Cur)))
}
