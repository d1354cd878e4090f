// SPDX-License-Identifier: Apache-2.0

// Package commands has the commands of tagbus-bridge.
package commands

// Description is what the help says before the flags.
const Description = `Write the messages of a bus into a durable log, each once, and publish a log on a bus.

Ends with status 0 when all that was asked for is done, 1 when something failed or messages were lost, and 2 when the command line makes no sense. SIGINT, SIGTERM and SIGHUP stop it in order: what has come is in the log then. A second signal, half a second later or more, gives up what it waits for.`

// Commands are those of the program.
type Commands struct {
	Out Out `cmd:"" help:"Write what is published on a bus into a log, from now on, and what publishers have kept with --replay. Begun again, it goes on behind what is in the log."`
	In  In  `cmd:"" help:"Publish what is in a log on a bus, under the tags that it had."`

	Convert Convert `cmd:"" help:"Make a recording of a span of a log. It needs no bus; tagbus rec convert does the same."`
}
