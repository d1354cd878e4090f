// SPDX-License-Identifier: Apache-2.0

package members

// What tests see of the package.
var (
	RunUntil  = run
	NewLogger = newLogger
	Size      = size
)

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
