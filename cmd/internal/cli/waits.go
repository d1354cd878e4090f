// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	"tagbus/internal/stuck"
)

// SayWaits writes to standard error which file a command waits for, if its file system does
// not answer, and when it answers again.
func SayWaits(program string, to io.Writer) {
	stuck.Say(func(n stuck.Note) { fmt.Fprintf(to, "%s: %v\n", program, n) })
}

// SayWaits says which file the command waits for, if its file system does not answer, and when
// it answers again.
func (c *Console) SayWaits() {
	stuck.Say(func(n stuck.Note) { c.Notice("%v", n) })
}

// waits returns what a line of status begins with while a file is waited for.
func waits() string {
	n, late := stuck.Late()
	if !late {
		return ""
	}
	return fmt.Sprintf("waiting %v for %s, ", time.Since(n.Since).Round(time.Second), n.Path)
}

// leaveWaits makes a signal end a command that waits for a file whose file system does not
// answer, with status 1.
func (s *Signals) leaveWaits(program string, to io.Writer) (stop func()) {
	return stuck.Follow(s.Asked, s.Hurry, func(n stuck.Note) {
		stuck.Exit(to, fmt.Sprintf("%s: %v, %s", program, context.Cause(s.Asked), n.Text()), ExitFailed)
	})
}
