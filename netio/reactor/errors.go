// SPDX-License-Identifier: Apache-2.0

//go:build linux

package reactor

import (
	"errors"

	"tagbus/internal/sanitize"
)

var (
	// ErrClosed is returned when the loop, timer, signal or registration that
	// is used was closed before. Run also returns it for a loop that has run:
	// make a new one.
	ErrClosed = errors.New("reactor: closed")

	// ErrRunning is returned by Run and Close while Run is in progress. Call
	// Stop, and close the loop when Run has returned.
	ErrRunning = errors.New("reactor: loop is running")

	// ErrRegistered is returned by Register for a descriptor that has a
	// registration. Change that one with Modify, or close it first.
	ErrRegistered = errors.New("reactor: descriptor is already registered")

	// ErrNoCallback is returned where a function or source is nil.
	ErrNoCallback = errors.New("reactor: no callback")

	// ErrTooMany is returned by Register when all 16 million tokens are in use.
	ErrTooMany = errors.New("reactor: too many registrations")

	// ErrGoexit is matched by a *GoexitError.
	ErrGoexit = errors.New("reactor: runtime.Goexit has ended the goroutine of the loop")
)

// OpError is a failed operation on a descriptor.
type OpError struct {
	Op  string // what was done: "register", "modify", "deregister", "wait" …
	FD  int    // the descriptor, -1 if there is none yet
	Err error  // a syscall.Errno or a sentinel of this package
}

// Error names the operation, the descriptor if there is one, and the cause.
func (e *OpError) Error() string {
	if e.FD < 0 {
		return sanitize.Linef("reactor: %s: %v", e.Op, e.Err)
	}
	return sanitize.Linef("reactor: %s fd %d: %v", e.Op, e.FD, e.Err)
}

// Unwrap returns Err.
func (e *OpError) Unwrap() error { return e.Err }

// ConfigError is a value that an operation or a Config does not accept.
type ConfigError struct {
	Name   string // of the field or argument
	Value  any
	Reason string // what would be accepted
}

// Error names the field, its value, and what would be accepted.
func (e *ConfigError) Error() string {
	return sanitize.Linef("reactor: %s is %v: %s", e.Name, e.Value, e.Reason)
}
