// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package flock

import "os"

// lock reports that nothing stands against it: recorders run on Linux alone, and a file that
// Windows has open to write is refused by itself.
func lock(*os.File, how) bool { return true }
