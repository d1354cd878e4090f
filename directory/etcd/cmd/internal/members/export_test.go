// SPDX-License-Identifier: Apache-2.0

package members

import (
	"context"
	"time"
)

// What tests see of the package.
var (
	NewLogger = newLogger
	Size      = size
)

// AnswerTime is how long a member may take to answer.
var AnswerTime = &answerTime

// A member on a machine that does other things too answers late.
func init() { answerTime = 30 * time.Second }

// RunUntil is Main until ctx ends.
func RunUntil(ctx context.Context, args []string, s Streams) int {
	return run(args, s, func(*flags) context.Context { return ctx })
}

// OneMember is what Judge takes.
type OneMember = state

// Judge returns what is wrong with some members, and what is worth a note.
func Judge(entries int64, members ...OneMember) (wrong, notes []string) {
	s := &survey{Members: members, Entries: entries}
	for i := range s.Members {
		one := &s.Members[i]
		one.endpoint, one.leader = one.Clients, 1
		if one.Role == "alone" {
			one.leader = 0
		}
	}
	s.judge()
	return s.Wrong, s.Notes
}
