// SPDX-License-Identifier: Apache-2.0

//go:build race || !linux

package netio

import "fmt"

// AllocRegion returns n zeroed bytes of the Go heap; see the build for Linux
// without the race detector.
func AllocRegion(n int) ([]byte, error) {
	if n <= 0 {
		return nil, fmt.Errorf("netio: map a region of %d bytes: invalid argument", n)
	}
	if err := CheckMemory(int64(n)); err != nil {
		return nil, err
	}
	return make([]byte, n), nil
}

// FreeRegion leaves region to the garbage collector.
func FreeRegion([]byte) error { return nil }
