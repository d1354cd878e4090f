// SPDX-License-Identifier: Apache-2.0

// Command tagbus shows a bus and uses it: who is there, who is slow, what was lost and why.
// See tagbus --help.
package main

import (
	"os"

	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/tagbus"
)

func main() {
	os.Exit(tagbus.Main(os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}
