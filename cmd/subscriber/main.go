// SPDX-License-Identifier: Apache-2.0

// Command subscriber receives messages from a bus: it writes them to a file or
// to standard output, checks them, or counts them. See subscriber --help.
package main

import (
	"os"

	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/subscribe"
)

func main() {
	os.Exit(subscribe.Main(os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}
