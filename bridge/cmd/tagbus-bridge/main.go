// SPDX-License-Identifier: Apache-2.0

// Command tagbus-bridge writes the messages of a bus into a durable log, and publishes a log on a bus. See
// tagbus-bridge --help.
package main

import (
	"os"

	"tagbus/bridge/cmd/internal/commands"
	"tagbus/cmd/programs"
)

func main() { os.Exit(programs.Service("tagbus-bridge", commands.Description, new(commands.Commands))) }
