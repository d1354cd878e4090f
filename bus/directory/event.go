// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"fmt"

	"tagbus/internal/sanitize"
)

// EventKind says what happened to an entry.
type EventKind int

// The kinds of events. The zero value is none of them.
const (
	Appeared EventKind = iota + 1 // Entry is new
	Changed                       // Entry replaces the one of the same instance
	Gone                          // Entry was the last one of its instance
	Problem                       // Err says what is wrong with the storage or with one entry
)

// String returns appeared, changed, gone or problem, and EventKind(N) otherwise.
func (k EventKind) String() string {
	switch k {
	case Appeared:
		return "appeared"
	case Changed:
		return "changed"
	case Gone:
		return "gone"
	case Problem:
		return "problem"
	default:
		return fmt.Sprintf("EventKind(%d)", int(k))
	}
}

// Event is one change of what a Directory holds. It may be copied; Entry shares
// its Addresses with other events, so they must not be changed.
type Event struct {
	Kind  EventKind
	Entry Entry // for Problem: the entry that the problem is about, zero if there is none

	// Err is nil for Appeared and Changed. For Gone it is nil if the publisher
	// withdrew, and otherwise says why the entry is taken for dead: ErrExpired or
	// ErrDead. For Problem it names the file or source and what to do.
	Err error
}

// String returns one line for a log.
func (e Event) String() string {
	s := e.Kind.String()
	if e.Entry.Instance != "" {
		s += " " + sanitize.Text(e.Entry.Instance)
		if e.Entry.Name != "" {
			s += " (" + sanitize.Text(e.Entry.Name) + ")"
		}
	}
	if e.Err != nil {
		s += ": " + sanitize.Error(e.Err)
	}
	return s
}
