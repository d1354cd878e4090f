// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"crypto/tls"
	"errors"

	"tagbus/bus"
	"tagbus/bus/observer"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/overview"
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
	access, backend, certificate := (*bus.AccessError)(nil), (*bus.BackendError)(nil), (*tls.CertificateVerificationError)(nil)
	return errors.Is(err, observer.ErrDenied) || errors.Is(err, observer.ErrRefused) || errors.As(err, &access) || errors.As(err, &backend) || errors.As(err, &certificate)
}
