// SPDX-License-Identifier: Apache-2.0

// Package pki makes certificates for tests: authorities, and what they issue, in memory.
package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"net/url"
	"sync/atomic"
	"testing"
	"time"
)

// Authority is a CA.
type Authority struct {
	Certificate *x509.Certificate
	Pool        *x509.CertPool // of Certificate
	key         crypto.Signer
	above       [][]byte // intermediates between it and the root, in DER
}

var serial atomic.Int64

// New returns an authority with a root certificate.
func New(tb testing.TB, name string) *Authority {
	tb.Helper()
	key := newKey(tb)
	c := sign(tb, template(name), nil, key.Public(), key)
	return newAuthority(c, key)
}

// Below returns an authority whose certificate a issues.
func (a *Authority) Below(tb testing.TB, name string) *Authority {
	tb.Helper()
	key := newKey(tb)
	c := sign(tb, template(name), a.Certificate, key.Public(), a.key)
	below := newAuthority(c, key)
	below.Pool, below.above = a.Pool, append([][]byte{c.Raw}, a.above...)
	return below
}

func newAuthority(c *x509.Certificate, key crypto.Signer) *Authority {
	pool := x509.NewCertPool()
	pool.AddCert(c)
	return &Authority{Certificate: c, Pool: pool, key: key}
}

func template(name string) *x509.Certificate {
	return &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
}

// Issue returns a certificate with its key and intermediates, for clients and servers at
// 127.0.0.0/8 as the tests use it and [::1], whose URI SAN is "spiffe://test/" and name.
// change, if not nil, changes it before it is signed.
func (a *Authority) Issue(tb testing.TB, name string, change func(*x509.Certificate)) tls.Certificate {
	tb.Helper()
	t := &x509.Certificate{
		Subject:     pkix.Name{CommonName: name},
		NotBefore:   time.Now().Add(-time.Hour),
		NotAfter:    time.Now().Add(time.Hour),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
		URIs:        []*url.URL{{Scheme: "spiffe", Host: "test", Path: "/" + name}},
	}
	if change != nil {
		change(t)
	}
	key := newKey(tb)
	c := sign(tb, t, a.Certificate, key.Public(), a.key)
	return tls.Certificate{Certificate: append([][]byte{c.Raw}, a.above...), PrivateKey: key, Leaf: c}
}

// sign returns t, signed by parent; nil: by itself.
func sign(tb testing.TB, t, parent *x509.Certificate, public crypto.PublicKey, key crypto.Signer) *x509.Certificate {
	tb.Helper()
	t.SerialNumber = big.NewInt(serial.Add(1))
	if parent == nil {
		parent = t
	}
	der, err := x509.CreateCertificate(rand.Reader, t, parent, public, key)
	if err != nil {
		tb.Fatalf("sign a certificate: got error %v, want none", err)
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		tb.Fatalf("parse a certificate: got error %v, want none", err)
	}
	return c
}

func newKey(tb testing.TB) *ecdsa.PrivateKey {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatalf("make a key: got error %v, want none", err)
	}
	return key
}
