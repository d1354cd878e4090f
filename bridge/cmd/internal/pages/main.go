// SPDX-License-Identifier: Apache-2.0

// Command pages writes the man page of tagbus-bridge, and the scripts by which shells complete it. A release ships both.
//
//	go -C bridge run ./cmd/internal/pages DIR VERSION DATE
package main

import (
	"fmt"
	"os"

	"tagbus/bridge/cmd/internal/commands"
	"tagbus/cmd/programs"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "pages: usage: pages DIR VERSION DATE")
		os.Exit(2)
	}
	if err := programs.ServicePages(os.Args[1], os.Args[2], os.Args[3], "tagbus-bridge", commands.Description, new(commands.Commands)); err != nil {
		fmt.Fprintf(os.Stderr, "pages: %v\n", err)
		os.Exit(1)
	}
}
