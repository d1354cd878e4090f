// SPDX-License-Identifier: Apache-2.0

//go:build linux

package tool

import (
	"time"

	"tagbus/bus/directory"
)

// Bounded returns what Env.Directory does for a directory on servers.
func Bounded(d directory.Directory, bus string, patience time.Duration) directory.Directory {
	return &bounded{Directory: d, bus: bus, patience: patience}
}
