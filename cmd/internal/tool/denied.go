// SPDX-License-Identifier: Apache-2.0

//go:build linux

package tool

import (
	"errors"

	"tagbus/bus/directory"
	"tagbus/bus/observer"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/overview"
	"tagbus/cmd/internal/session"
)

// Denied returns a *StatusError if a program lets this one not ask it, which was said: the look
// is not what was asked for. A program that is silent is what a look is to show.
func Denied(o overview.Overview) error {
	for i := range o.Rows {
		if denied(o.Rows[i].Err) {
			return &StatusError{cli.ExitFailed}
		}
	}
	return nil
}

// denied reports whether an error is that of a program that this one may not ask, or cannot
// without a certificate.
func denied(err error) bool {
	return errors.Is(err, observer.ErrDenied) || errors.Is(err, observer.ErrRefused) || session.Denied(err)
}

// Unanswered returns a *StatusError if a program has not told what it knows, whatever the reason, has gone without
// a word, or may be missing in what the directory shows: sums over a bus lack what it knows, and do not stand for the
// bus. A program that is too old to tell counts as one that has nothing to tell.
//
//   - keep: which of the dead count; nil: all.
func Unanswered(o overview.Overview, keep func(*directory.Entry) bool) error {
	if directory.Incomplete(o.Problem) != nil {
		return &StatusError{cli.ExitFailed}
	}
	for i := range o.Rows {
		if r := &o.Rows[i]; r.State == nil && !errors.Is(r.Err, observer.ErrNotObservable) {
			return &StatusError{cli.ExitFailed}
		}
	}
	for i := range o.Dead {
		if keep == nil || keep(&o.Dead[i].Entry) {
			return &StatusError{cli.ExitFailed}
		}
	}
	return nil
}
