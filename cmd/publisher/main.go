// SPDX-License-Identifier: Apache-2.0

// Command publisher publishes messages on a bus: records of a file or of
// standard input, or those of an emulated detector. See publisher --help.
package main

import (
	"os"

	"tagbus/cmd/programs"
)

func main() { os.Exit(programs.Publisher()) }
