// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"errors"
	"time"

	"tagbus/bus/directory"
	"tagbus/internal/sanitize"
)

// EntryError is the cause of a Problem event of a publisher or a receiver: its entry in
// the directory cannot be announced, renewed or changed, or the directory has too many
// (directory.ErrCrowded). Connections stay, but no program
// finds an entry that is expired, or that was never there. The event comes once, and once
// more when the problem is over. In between the directory tries again by itself.
type EntryError struct {
	Err         error         // why it cannot be renewed, or could not at first
	Unannounced bool          // no program has found it yet: the directory was away when it was announced
	Over        bool          // it is announced, or renewed again
	Lasted      time.Duration // if Over: for how long it was not; if Unannounced, since it should have been
}

// Error says why, or how long it lasted. Of one that was announced late it does not repeat why.
func (e *EntryError) Error() string {
	crowded := errors.Is(e.Err, directory.ErrCrowded)
	switch {
	case crowded && e.Over:
		return sanitize.Linef("bus: other programs follow the entries of the directory again, after %v with too many", e.Lasted.Round(time.Millisecond))
	case crowded:
		return sanitize.Linef("bus: other programs may not find this one: %v", e.Err)
	case e.Over && e.Unannounced:
		return sanitize.Linef("bus: the entry is in the directory now, %v late", e.Lasted.Round(time.Millisecond))
	case e.Unannounced:
		return sanitize.Linef("bus: the entry is not in the directory yet, so that no other program finds this one: %v", e.Err)
	case e.Over:
		return sanitize.Linef("bus: the entry in the directory is renewed again, after %v without: %v", e.Lasted.Round(time.Millisecond), e.Err)
	}
	return sanitize.Linef("bus: the entry in the directory cannot be renewed, so that others find an old one, or none when it has expired: %v", e.Err)
}

// Unwrap returns the cause.
func (e *EntryError) Unwrap() error { return e.Err }
