// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"bytes"
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	"tagbus/internal/sanitize"
)

// Peer is a peer whose certificate counts.
type Peer struct {
	Principal Principal

	// Chain leads from the peer's certificate to a CA of the file, both included.
	Chain []*x509.Certificate
}

// verify is Store.Verify with what the files said at one time.
//
// The certificates are from a stranger: their number is bounded before anything is computed of
// them, their names before they are kept, and crypto/x509 bounds the signatures that it checks.
func (r *credentials) verify(shown []*x509.Certificate, usage x509.ExtKeyUsage, now time.Time) (*Peer, error) {
	switch {
	case len(shown) == 0:
		return nil, &ChainError{Err: ErrNoCertificate}
	case len(shown) > r.paths.MaxChain:
		return nil, &ChainError{Label(shown[0]), fmt.Sprintf("%d were shown, at most %d may be", len(shown), r.paths.MaxChain), ErrLongChain}
	}
	leaf := shown[0]
	names, err := PrincipalOf(leaf)
	if err != nil {
		return nil, &ChainError{Label(leaf), "", err}
	}
	if err := validAt(leaf, now); err != nil {
		return nil, err
	}
	between := x509.NewCertPool()
	for _, c := range shown[1:] {
		between.AddCert(c)
	}
	chains, err := leaf.Verify(x509.VerifyOptions{
		Roots: r.roots, Intermediates: between, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{usage},
	})
	if err != nil {
		return nil, r.chainError(shown, now, err)
	}
	for _, chain := range chains {
		failed := error(nil)
		if len(chain) > r.paths.MaxChain {
			failed = &ChainError{Label(leaf), fmt.Sprintf("%d with the CA, at most %d may be", len(chain), r.paths.MaxChain), ErrLongChain}
		} else {
			failed = r.revoked(chain, now)
		}
		if failed == nil {
			return &Peer{names, chain}, nil
		}
		if err == nil {
			err = failed
		}
	}
	return nil, err
}

// validAt reports whether a time is within that of a certificate.
func validAt(c *x509.Certificate, now time.Time) error {
	switch {
	case now.After(c.NotAfter):
		return &ChainError{Label(c), ended(c.NotAfter), ErrExpired}
	case now.Before(c.NotBefore):
		return &ChainError{Label(c), begins(c.NotBefore), ErrNotYetValid}
	}
	return nil
}

// chainError returns what crypto/x509 says of a chain in the errors of this package.
func (r *credentials) chainError(shown []*x509.Certificate, now time.Time, err error) error {
	leaf := shown[0]
	if unknown := (x509.UnknownAuthorityError{}); errors.As(err, &unknown) {
		// It is also what a chain gets whose other certificates are not valid now.
		for i, c := range shown {
			for _, issuer := range append(shown[i+1:len(shown):len(shown)], r.cas...) {
				if bytes.Equal(issuer.RawSubject, c.RawIssuer) && validAt(issuer, now) != nil && c.CheckSignatureFrom(issuer) == nil {
					return validAt(issuer, now)
				}
			}
		}
		return &ChainError{Label(leaf), "issued by " + sanitize.Cut(leaf.Issuer.String(), 120), ErrUnknownCA}
	}
	invalid := x509.CertificateInvalidError{}
	if !errors.As(err, &invalid) {
		return &ChainError{Label(leaf), "", err}
	}
	switch invalid.Reason {
	case x509.Expired:
		if err := validAt(invalid.Cert, now); err != nil {
			return err
		}
	case x509.IncompatibleUsage:
		return &ChainError{Label(leaf), "", ErrUsage}
	case x509.TooManyIntermediates:
		return &ChainError{Label(leaf), "its CA allows fewer", ErrLongChain}
	default:
	}
	return &ChainError{Label(leaf), err.Error(), ErrUnknownCA}
}

// check is Store.Check with what the files say now.
func (r *credentials) check(p *Peer, now time.Time) error {
	for _, c := range p.Chain {
		if err := validAt(c, now); err != nil {
			return err
		}
	}
	last := p.Chain[len(p.Chain)-1]
	for _, ca := range r.cas {
		if ca.Equal(last) {
			return r.revoked(p.Chain, time.Time{})
		}
	}
	// The CA may have been renewed with the same key.
	_, err := r.verify(p.Chain[:max(len(p.Chain)-1, 1)], x509.ExtKeyUsageAny, now)
	if errors.Is(err, ErrStaleList) {
		return nil
	}
	return err
}
