// SPDX-License-Identifier: Apache-2.0

// Package tagbus is the command tagbus: what it is asked for is in packages beside this one.
// On other systems than Linux it has only what reads recordings.
package tagbus

import (
	"tagbus/cmd/internal/convert"
	"tagbus/cmd/internal/rec"
)

// recordings are the commands that read recordings. The one that converts them is apart
// from the others, for it uses what they have.
type recordings struct {
	rec.Commands
	Convert convert.Command `cmd:"" help:"Make an MCAP file, a capture (pcapng), records or a CSV table of a recording, or a recording of captures."`
}

// program is a command with a command line of its own. Only the help knows it as one of
// tagbus: its flags are read by the program itself.
type program struct {
	Flags []string `arg:"" optional:"" help:"See tagbus publish --help and tagbus subscribe --help."`
}
