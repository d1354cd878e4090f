// SPDX-License-Identifier: Apache-2.0

//go:build race || !linux

package netio

import (
	"fmt"
	"syscall"
)

// AllocSharedRegion is AllocRegion; see the build for Linux without the race detector.
func AllocSharedRegion(n int) ([]byte, error) { return AllocRegion(n) }

// RegionFile knows no files; see the build for Linux without the race detector.
func RegionFile([]byte) (fd int, ok bool) { return -1, false }

// CommitRegion knows no shared regions; see the build for Linux without the race detector.
func CommitRegion(region []byte, _ int) (done bool, err error) {
	return false, fmt.Errorf("netio: commit %d bytes that are no shared region: %w", len(region), syscall.EINVAL)
}
