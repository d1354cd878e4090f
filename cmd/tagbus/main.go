// SPDX-License-Identifier: Apache-2.0

// Command tagbus shows a bus and uses it: who is there, who is slow, what was lost and why.
// See tagbus --help.
package main

import (
	"os"

	"tagbus/cmd/programs"
)

func main() { os.Exit(programs.Tagbus()) }
