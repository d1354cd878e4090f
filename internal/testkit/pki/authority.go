// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"testing"
)

// Authority is a CA as the ends of a connection use it.
type Authority struct {
	*Issued
	Pool  *x509.CertPool // of the root
	above [][]byte       // intermediates between it and the root, in DER
}

// New returns an authority with a root certificate.
func New(tb testing.TB, name string) *Authority {
	tb.Helper()
	root := NewCA(tb, name)
	pool := x509.NewCertPool()
	pool.AddCert(root.Certificate)
	return &Authority{Issued: root, Pool: pool}
}

// Below returns an authority whose certificate a issues.
func (a *Authority) Below(tb testing.TB, name string) *Authority {
	tb.Helper()
	below := a.Issued.Issue(tb, "cn:"+name, Intermediate)
	return &Authority{Issued: below, Pool: a.Pool, above: append([][]byte{below.Raw}, a.above...)}
}

// Issue returns a certificate with its key and intermediates, for clients and servers at
// 127.0.0.1 and [::1], whose common name is name and whose URI SAN is "spiffe://test/" and name.
// change, if not nil, changes it before it is signed.
func (a *Authority) Issue(tb testing.TB, name string, change Change) tls.Certificate {
	tb.Helper()
	here := func(c *x509.Certificate) {
		c.Subject.CommonName = name
		c.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	}
	if change == nil {
		change = func(*x509.Certificate) {}
	}
	own := a.Issued.Issue(tb, "uri:spiffe://test/"+name, here, change)
	return tls.Certificate{Certificate: append([][]byte{own.Raw}, a.above...), PrivateKey: own.Key, Leaf: own.Certificate}
}
