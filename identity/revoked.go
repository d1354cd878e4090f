// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"fmt"
	"time"

	"tagbus/internal/filewatch"
)

// list is a list of revoked certificates. It never changes.
type list struct {
	*x509.RevocationList
	path    string
	serials map[string]time.Time // when a number was revoked

	// signers are the issuers that are known from the files, by the hash of their certificate:
	// whether they have signed the list.
	signers map[[sha256.Size]byte]bool
}

// maxLists is how many lists there may be, since each is asked about each connection.
const maxLists = 64

// loadLists reads the lists of a file. Those of an issuer that is not among the known ones wait for
// peers that show it as an intermediate.
func (r *credentials) loadLists(file filewatch.File, known []*x509.Certificate) error {
	ders := [][]byte{}
	for block, err := range Blocks(file.Data) {
		if err != nil { // a list that is passed over would revoke nothing
			return &FileError{file.Path, err, blocksDo(err)}
		}
		if block.Type == "X509 CRL" {
			ders = append(ders, block.Bytes)
		}
	}
	if len(ders) == 0 {
		ders = append(ders, file.Data) // DER
	}
	for _, der := range ders {
		l, err := parseList(file.Path, der, known)
		if err != nil {
			return err
		}
		if r.lists = append(r.lists, l); len(r.lists) > maxLists {
			return &FileError{file.Path, fmt.Errorf("more than %d lists", maxLists), "leave out those of issuers that no peer has"}
		}
	}
	return nil
}

// parseList reads a list.
func parseList(path string, der []byte, known []*x509.Certificate) (*list, error) {
	crl, err := x509.ParseRevocationList(der)
	if err != nil {
		return nil, &FileError{path, fmt.Errorf("%w: %w", ErrNoList, err), "copy it again"}
	}
	return newList(path, crl, known)
}

// CheckList reports why no program takes a list of revoked certificates: it is a part of another list, or the CA that it names has
// not signed it. A list of a CA that is not among the known certificates is taken.
//
//   - Errors: *FileError.
func CheckList(path string, crl *x509.RevocationList, known []*x509.Certificate) error {
	_, err := newList(path, crl, known)
	return err
}

func newList(path string, crl *x509.RevocationList, known []*x509.Certificate) (*list, error) {
	// A list that is a part of another one looks like one that revokes little.
	for _, e := range crl.Extensions {
		if e.Critical {
			return nil, &FileError{path, fmt.Errorf("%w: it has the critical extension %v", ErrNoList, e.Id), "take a whole list (no delta, and none of a distribution point)"}
		}
	}
	l := &list{RevocationList: crl, path: path, serials: make(map[string]time.Time), signers: make(map[[sha256.Size]byte]bool)}
	for _, e := range crl.RevokedCertificateEntries {
		for _, x := range e.Extensions {
			if x.Critical && !x.Id.Equal(reasonCode) {
				return nil, &FileError{path, fmt.Errorf("%w: an entry has the critical extension %v", ErrNoList, x.Id), "take a list that its own issuer has signed"}
			}
		}
		l.serials[string(e.SerialNumber.Bytes())] = e.RevocationTime
	}
	named, signed := false, false
	for _, ca := range known {
		if bytes.Equal(ca.RawSubject, crl.RawIssuer) {
			ok := crl.CheckSignatureFrom(ca) == nil
			l.signers[sha256.Sum256(ca.Raw)] = ok
			named, signed = true, signed || ok
		}
	}
	if named && !signed {
		return nil, &FileError{path, fmt.Errorf("%w: its signature is not that of its issuer", ErrNoList), "copy it again, and add the CA that signed it to the file of CAs"}
	}
	return l, nil
}

// reasonCode says why a certificate was revoked, which changes nothing.
var reasonCode = asn1.ObjectIdentifier{2, 5, 29, 21}

// isOf reports whether an issuer has signed the list.
func (l *list) isOf(issuer *x509.Certificate) bool {
	if !bytes.Equal(l.RawIssuer, issuer.RawSubject) {
		return false
	}
	if ok, known := l.signers[sha256.Sum256(issuer.Raw)]; known {
		return ok
	}
	return l.CheckSignatureFrom(issuer) == nil
}

// revoked reports which certificate of a chain, from the leaf to a CA, is revoked.
//
//   - now: when lists are asked for that should have been renewed; zero for a connection that
//     stands, which does not end because a site forgets to renew a list.
//   - Errors: *ChainError with ErrRevoked or ErrStaleList.
func (r *credentials) revoked(chain []*x509.Certificate, now time.Time) error {
	for i := range len(chain) - 1 {
		c, issuer := chain[i], chain[i+1]
		var stale *list
		fresh := false
		for _, l := range r.lists {
			if !l.isOf(issuer) {
				continue
			}
			if at, found := l.serials[string(c.SerialNumber.Bytes())]; found {
				return &ChainError{Label(c), "at " + stamp(at), ErrRevoked}
			}
			if !l.NextUpdate.IsZero() && now.After(l.NextUpdate) {
				stale = l
			} else {
				fresh = true
			}
		}
		if stale != nil && !fresh {
			return &ChainError{Label(c), stale.path + ", due at " + stamp(stale.NextUpdate), ErrStaleList}
		}
	}
	return nil
}
