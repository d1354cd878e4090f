// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"errors"
	"fmt"

	"tagbus/internal/sanitize"
)

var (
	// ErrMagic is returned by DecodeHello for bytes that do not begin a
	// tagbus connection at all. Nothing is answered to such a peer.
	ErrMagic = errors.New("subscription: not a tagbus peer: wrong magic")

	// ErrTooLong is wrapped in the error for a control message, or a text in
	// one, above its limit.
	ErrTooLong = errors.New("subscription: longer than the limit")

	// ErrUnknownKind is wrapped in the error for a first byte that names no
	// control message.
	ErrUnknownKind = errors.New("subscription: unknown kind of control message")

	// ErrTooManyTags is wrapped in the error for a subscription set with more
	// parts than one connection may hold.
	ErrTooManyTags = errors.New("subscription: too many tags on one connection")
)

// VersionError is returned by DecodeHello for a peer of another protocol
// version. Both sides report it; upgrade the older one.
type VersionError struct {
	Got  uint16 // the peer's version
	Want uint16 // this program's version
}

// Error names both versions and what to do.
func (e *VersionError) Error() string {
	older := "the peer"
	if e.Got > e.Want {
		older = "this program"
	}
	return fmt.Sprintf("subscription: peer speaks protocol version %d, this program version %d: upgrade %s", e.Got, e.Want, older)
}

// ControlError says which control message could not be encoded or decoded, and
// why.
type ControlError struct {
	Kind Kind
	Err  error
}

// Error names the kind and the cause.
func (e *ControlError) Error() string {
	return sanitize.Linef("subscription: bad %v message: %v", e.Kind, e.Err)
}

// Unwrap returns the cause.
func (e *ControlError) Unwrap() error { return e.Err }
