// SPDX-License-Identifier: Apache-2.0

//go:build !linux || !amd64

package goroutine

// Self returns a number that no other goroutine has while the calling one lives. Here it is
// the ID.
func Self() uint64 { return ID() }
