// SPDX-License-Identifier: Apache-2.0

// Package pki makes certificates for tests: CAs, what they issue and revoke, and files
// of them.
package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Issued is a certificate with its key.
type Issued struct {
	*x509.Certificate
	Key    *ecdsa.PrivateKey
	Issuer *Issued // itself, for a root
}

// Change changes a template before it is signed.
type Change func(*x509.Certificate)

// Valid is a Change of the time in which a certificate is valid.
func Valid(from, to time.Time) Change {
	return func(c *x509.Certificate) { c.NotBefore, c.NotAfter = from, to }
}

// Intermediate is a Change that makes a CA of a certificate.
func Intermediate(c *x509.Certificate) {
	c.IsCA, c.BasicConstraintsValid, c.KeyUsage, c.ExtKeyUsage = true, true, x509.KeyUsageCertSign|x509.KeyUsageCRLSign, nil
}

// NewCA returns a root, valid from an hour ago for a year.
func NewCA(tb testing.TB, name string, changes ...Change) *Issued {
	tb.Helper()
	return sign(tb, nil, "cn:"+name, append([]Change{Intermediate}, changes...))
}

// Issue returns a certificate with a name, which begins with uri:, dns: or cn:. It is valid from
// an hour ago for a day, for both sides of a connection.
func (i *Issued) Issue(tb testing.TB, name string, changes ...Change) *Issued {
	tb.Helper()
	return sign(tb, i, name, changes)
}

func sign(tb testing.TB, issuer *Issued, name string, changes []Change) *Issued {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(tb, err)
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	must(tb, err)
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: serial, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	switch kind, rest, _ := strings.Cut(name, ":"); kind {
	case "uri":
		u, err := url.Parse(rest)
		must(tb, err)
		template.URIs = []*url.URL{u}
	case "dns":
		template.DNSNames = []string{rest}
	case "cn":
		template.Subject = pkix.Name{CommonName: rest}
	}
	if issuer == nil {
		template.NotAfter = now.Add(365 * 24 * time.Hour)
	}
	for _, change := range changes {
		change(template)
	}
	made := &Issued{Key: key, Issuer: issuer}
	parent, signer := template, key
	if issuer == nil {
		made.Issuer = made
	} else {
		parent, signer = issuer.Certificate, issuer.Key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	must(tb, err)
	made.Certificate, err = x509.ParseCertificate(der)
	must(tb, err)
	return made
}

// Revoke returns the bytes of a PEM file with the list of what a CA has revoked.
func (i *Issued) Revoke(tb testing.TB, next time.Time, revoked ...*Issued) []byte {
	tb.Helper()
	list := &x509.RevocationList{Number: big.NewInt(1), ThisUpdate: time.Now().Add(-time.Minute), NextUpdate: next}
	for _, r := range revoked {
		list.RevokedCertificateEntries = append(list.RevokedCertificateEntries, x509.RevocationListEntry{
			SerialNumber: r.SerialNumber, RevocationTime: time.Now().Add(-time.Minute),
		})
	}
	der, err := x509.CreateRevocationList(rand.Reader, list, i.Certificate, i.Key)
	must(tb, err)
	return pem.EncodeToMemory(&pem.Block{Type: "X509 CRL", Bytes: der})
}

// PEM returns the bytes of a PEM file with certificates.
func PEM(certificates ...*Issued) (all []byte) {
	for _, c := range certificates {
		all = append(all, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})...)
	}
	return all
}

// KeyPEM returns the bytes of a PEM file with the key.
func (i *Issued) KeyPEM(tb testing.TB) []byte {
	tb.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(i.Key)
	must(tb, err)
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

// Write writes a file of a folder with mode 600, in the place of one that is there, and returns
// its path.
func Write(tb testing.TB, dir, name string, data []byte) (path string) {
	tb.Helper()
	path = filepath.Join(dir, name)
	must(tb, os.WriteFile(path+".new", data, 0o600))
	must(tb, os.Rename(path+".new", path))
	return path
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}
