// SPDX-License-Identifier: Apache-2.0

//go:build linux

package mutual

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// What becomes of a handshake whose callbacks misbehave.
var (
	errGoexit   = errors.New("a callback of the TLS configuration has ended its goroutine")
	errPanicked = errors.New("a callback of the TLS configuration panicked")
)

// Compute is the goroutine of a handshake that a desk has begun.
//
//   - w: what it takes of the processors.
//   - panicked: is told what a callback has panicked with, and the stack.
//   - done: is told its result in the end, also if a callback has ended the goroutine.
func (d *Desk) Compute(v *Visitor, w *Work, handshake func() error, panicked func(with any, stack string), done func(err error)) {
	err := errGoexit
	w.Begin()
	defer func() {
		w.End()
		if with := recover(); with != nil {
			panicked(with, string(debug.Stack()))
			err = fmt.Errorf("%w: %v", errPanicked, with)
		}
		if err == nil {
			w.Succeed()
		}
		d.Leave(v)
		done(err)
	}()
	err = handshake()
}
