// SPDX-License-Identifier: Apache-2.0

//go:build race || !linux

package netio

// AllocSharedRegion is AllocRegion; see the build for Linux without the race detector.
func AllocSharedRegion(n int) ([]byte, error) { return AllocRegion(n) }

// RegionFile knows no files; see the build for Linux without the race detector.
func RegionFile([]byte) (fd int, ok bool) { return -1, false }
