// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"io"
	"os"

	"tagbus/internal/stuck"
)

// Aside runs the main function of a command on a goroutine of its own, and returns its exit
// code. The main goroutine, which must be locked to its thread from the init of the program
// on, then waits: the kernel hands a signal of the process to its first thread. One that is
// in a call into a file system that does not answer never takes it, and no other thread does.
func Aside(main func() int) int {
	code := make(chan int, 1)
	go func() { code <- main() }()
	return <-code
}

// SayWaits writes to standard error which file a command waits for, if its file system does
// not answer.
func SayWaits(program string, to io.Writer) {
	stuck.Say(func(path string) { fmt.Fprintf(to, "%s: %s\n", program, stuck.Text(path)) })
}

// SayWaits says which file the command waits for, if its file system does not answer.
func (c *Console) SayWaits() {
	stuck.Say(func(path string) { c.Notice("%s", stuck.Text(path)) })
}

// LeaveWaits makes a signal end a command that waits for a file whose file system does not
// answer, with status 1.
//
//   - ctx, hurry: of Signals.
func LeaveWaits(ctx, hurry context.Context, program string, to io.Writer) (stop func()) {
	return stuck.Follow(ctx, hurry, func(path string) {
		fmt.Fprintf(to, "%s: %v, %s\n", program, context.Cause(ctx), stuck.Text(path))
		os.Exit(ExitFailed)
	})
}
