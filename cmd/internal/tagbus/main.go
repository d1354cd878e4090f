// SPDX-License-Identifier: Apache-2.0

package tagbus

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/tool"
	"tagbus/internal/stream"
)

const (
	programName = "tagbus"

	description = `See and use a bus: who is there, who is slow, what was lost and why.

Looking asks publishers and receivers for what they know, over the bus itself, and takes no message from a subscriber. Ends with status 0 when all that was asked for is done, 1 when something failed, and 2 when the command line makes no sense. SIGINT, SIGTERM and SIGHUP stop it in order (SIGHUP reads certificates and policy again if there are some, unless the terminal has gone), as does a closed pipe at standard output.`
)

// about is what the help and the man page say before the flags.
var about = cli.Program{Name: programName, Description: description}

// command is what each command is.
type command interface {
	Run(ctx context.Context, e *tool.Env) error
}

// Main runs the command and returns its exit code.
func Main(args []string, s cli.Streams) int {
	cli.IgnoreClosedPipes()
	if program, name, rest := programOf(args); program != nil {
		return program(programName+" "+name, rest, s)
	}
	signals := cli.TakeSignals(programName, s.Err)
	defer signals.Stop()
	var flags Commands
	chosen, name, code, run := cli.ParseCommand(about, &flags, args, s)
	if !run {
		return code
	}
	busless, ok := chosen.(tool.Busless)
	if needed := !ok || busless.NeedsBus(); needed && flags.Bus == "" {
		return cli.Refuse(about, name, tool.ErrNoBus, s)
	}
	signals.Reread(&flags.Security)
	return runCommand(signals.Asked, signals.Hurry, name, chosen.(command), &flags.Flags, s)
}

// runCommand runs a command, says what went wrong, and returns the exit code.
func runCommand(ctx, hurry context.Context, name string, c command, flags *tool.Flags, s cli.Streams) int {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	out := stream.NewOutput(s.Out, cancel)
	s.Out = out
	env := &tool.Env{Flags: flags, Streams: s, Hurry: hurry}
	err := c.Run(ctx, env)
	err = errors.Join(err, env.Close())
	if out.Gone() {
		return cli.ExitDone
	}
	code := tool.Code(err)
	if status := (*tool.StatusError)(nil); err != nil && !errors.As(err, &status) {
		fmt.Fprintf(s.Err, "%s: %s: %s\n", programName, name, cli.Text(err))
	}
	return code
}

// programOf returns the program of its own that a command line names, what it is called, and its arguments; nil: none.
func programOf(args []string) (program func(name string, args []string, s cli.Streams) int, name string, rest []string) {
	// Most command lines have no word that could be one: to read the flags of all commands for nothing takes 7 ms.
	if !slices.ContainsFunc(args, func(word string) bool { return programs[word] != nil }) {
		return nil, "", nil
	}
	name, at, _ := cli.CommandAt(about, new(Commands), args)
	if program = programs[name]; program == nil {
		return nil, "", nil
	}
	return program, name, append(args[:at:at], args[at+1:]...)
}
