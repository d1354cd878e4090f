// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"crypto/x509"
	"errors"
	"fmt"

	"tagbus/internal/sanitize"
)

// Errors of certificates. Those of a peer are inside a *ChainError, those of files inside a
// *FileError.
var (
	// ErrNoCertificate is the error of a peer that shows no certificate, and of a file without one.
	ErrNoCertificate = errors.New("no certificate")

	// ErrExpired is the error of a certificate whose time is over. Renew it.
	ErrExpired = errors.New("expired")

	// ErrNotYetValid is the error of a certificate whose time has not begun. Compare the clocks.
	ErrNotYetValid = errors.New("not yet valid")

	// ErrRevoked is the error of a certificate that its issuer has revoked. Issue another one.
	ErrRevoked = errors.New("revoked")

	// ErrStaleList is the error of a new connection if the list of its issuer's revoked
	// certificates should have been renewed. Renew the list.
	ErrStaleList = errors.New("the list of revoked certificates of its issuer has not been renewed")

	// ErrUnknownCA is the error of a certificate from which no chain leads to a CA of the file.
	// Add the CA, or show the intermediate certificates behind the own one.
	ErrUnknownCA = errors.New("no chain to a CA that is trusted here")

	// ErrLongChain is the error of a chain of more than Config.MaxChain certificates.
	ErrLongChain = errors.New("too many certificates in the chain")

	// ErrUsage is the error of a certificate that is not meant for this side of a connection.
	// Issue it for both, servers and clients.
	ErrUsage = errors.New("not meant for this side of a connection")

	// ErrOtherKey is the error of a key that belongs to another certificate.
	ErrOtherKey = errors.New("the key belongs to another certificate")

	// ErrNoKey is the error of a file without a private key that can be used.
	ErrNoKey = errors.New("no private key")

	// ErrNoList is the error of a file without a list of revoked certificates, or with one that
	// none of the CAs has signed.
	ErrNoList = errors.New("no list of revoked certificates")

	// ErrOpenKey is the warning about a key that other users may read or replace.
	ErrOpenKey = errors.New("other users may read or replace the private key")

	// ErrEndsSoon is the warning about a certificate or list that is to be renewed.
	ErrEndsSoon = errors.New("ends soon")
)

// ChainError reports a certificate, of a peer or the own one, that does not count.
type ChainError struct {
	Certificate string // the one at fault, as Label calls it; empty if there is none
	Detail      string // what is known besides, such as a time; may be empty
	Err         error  // one of the errors above, a *NameError, or what crypto/x509 says
}

// Error names the certificate and what is wrong with it.
func (e *ChainError) Error() string {
	text := "certificate"
	if e.Certificate != "" {
		text += " " + e.Certificate
	}
	text = sanitize.Line(text) + ": " + sanitize.Error(e.Err)
	if e.Detail != "" {
		text += " (" + sanitize.Line(e.Detail) + ")"
	}
	return text
}

// Unwrap returns Err.
func (e *ChainError) Unwrap() error { return e.Err }

// FileError reports a file that cannot be used, or that is used with a warning.
type FileError struct {
	Path string
	Err  error
	Do   string // what to do about it
}

// Error names the file, what is wrong and what to do.
func (e *FileError) Error() string {
	return fmt.Sprintf("%s: %s: %s", sanitize.Text(e.Path), sanitize.Error(e.Err), sanitize.Line(e.Do))
}

// Unwrap returns Err.
func (e *FileError) Unwrap() error { return e.Err }

// Label returns a short text that says which certificate this is: its first name, or the
// subject, and the number that its issuer gave it.
func Label(c *x509.Certificate) string {
	name := c.Subject.String()
	if p, err := PrincipalOf(c); err == nil && !c.IsCA {
		name = p.Names()[0]
	}
	serial := "?"
	if c.SerialNumber != nil {
		serial = c.SerialNumber.Text(16)
	}
	return sanitize.Text(sanitize.Cut(name, 120)) + " (serial " + sanitize.Cut(serial, 44) + ")"
}
