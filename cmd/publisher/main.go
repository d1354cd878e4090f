// SPDX-License-Identifier: Apache-2.0

// Command publisher publishes messages on a bus: records of a file or of
// standard input, or those of an emulated detector. See publisher --help.
package main

import (
	"os"

	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/publish"
)

func main() {
	os.Exit(publish.Main(os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}
