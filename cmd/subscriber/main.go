// SPDX-License-Identifier: Apache-2.0

// Command subscriber receives messages from a bus: it writes them to a file or
// to standard output, checks them, or counts them. See subscriber --help.
package main

import (
	"os"

	"tagbus/cmd/programs"
)

func main() { os.Exit(programs.Subscriber()) }
