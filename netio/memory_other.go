// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package netio

// Resources of a process.
const (
	limitAS = iota
	limitData
)

// softLimit knows no limit: only Linux has transports.
func softLimit(int) (bytes uint64, ok bool) { return 0, false }
