// SPDX-License-Identifier: Apache-2.0

package observer

import (
	"errors"
	"fmt"

	"tagbus/bus"
)

var (
	// ErrNotObservable is wrapped in the error of Ask if the instance takes no observer: it
	// is of an older version of tagbus, or it is ending.
	ErrNotObservable = errors.New("observer: it takes no observer, as it is of an older version of tagbus, or ends")

	// ErrDenied is wrapped in the error of Ask if the policy of the instance does not let this
	// program ask it. The text has the rule that would.
	ErrDenied = errors.New("observer: denied")

	// ErrRefused is wrapped in the error of Ask if the instance refuses the question.
	ErrRefused = errors.New("observer: the question is refused")

	// ErrTooManyTags is wrapped in the error of Ask for a question whose set of tags has no
	// room in a message.
	ErrTooManyTags = errors.New("observer: question with too many tags: ask for fewer at once")

	// ErrLost is wrapped in the error of Ask if the connection ends before the answer is
	// whole.
	ErrLost = errors.New("observer: the connection ended before the answer")

	// ErrTimeout is wrapped in the error of Ask and Greet if Config.Timeout is over.
	ErrTimeout = errors.New("observer: no answer in time")

	// ErrNotTagbus is wrapped in the error of Greet if something else than tagbus listens
	// at the address.
	ErrNotTagbus = errors.New("observer: what listens there is no tagbus program")

	// ErrClosed is returned by every method of a closed observer. It is bus.ErrClosed.
	ErrClosed = bus.ErrClosed
)

// VersionError says that an answer has another version of state.State than this program
// knows.
type VersionError struct{ Got, Want int }

// Error names both versions, and says what to do.
func (e *VersionError) Error() string {
	return fmt.Sprintf("observer: the answer has version %d of the state, this program knows %d: use the tagbus of the newer one of both", e.Got, e.Want)
}
