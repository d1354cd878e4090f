// SPDX-License-Identifier: Apache-2.0

package netiotest

import "testing"

// Few returns how much of something a test takes: all, or less with -short (see
// package tests).
func Few[T any](all, short T) T {
	if testing.Short() {
		return short
	}
	return all
}
