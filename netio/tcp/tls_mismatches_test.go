// SPDX-License-Identifier: Apache-2.0

package tcp_test

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"testing"
	"time"

	"tagbus/internal/testkit/pki"
	"tagbus/netio/tcp"
)

// mismatch is a reason for which two ends do not let each other in.
type mismatch struct {
	name           string
	client, server *tls.Config
	is             error
	dialler        string
	listener       string
}

const (
	failed  = "netio: open endpoint ADDR: tcp: the TLS handshake failed: "
	refused = failed + "the peer has refused the certificate of this side: remote error: tls: "
)

// mismatches returns those that end a handshake. ca and good are those of a peer without
// fault.
func mismatches(t *testing.T, ca *pki.Authority, good tls.Certificate) []mismatch {
	t.Helper()
	other := pki.New(t, "other")
	expired := ca.Issue(t, "expired", func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) })
	early := ca.Issue(t, "early", func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Minute) })
	named := func(c tls.Certificate, name string) *tls.Config {
		return &tls.Config{Certificates: []tls.Certificate{c}, RootCAs: ca.Pool, ServerName: name}
	}
	return []mismatch{
		{
			"the CA of the server is not that of the client", clientConfig(ca, good), serverConfig(ca, other.Issue(t, "stranger", nil)), nil,
			failed + "x509: certificate signed by unknown authority",
			"tcp: the TLS handshake failed: remote error: tls: bad certificate",
		},
		{
			"the server is named otherwise", named(good, "elsewhere.test"), serverConfig(ca, good), nil,
			failed + "tls: failed to verify certificate: x509: certificate is not valid for any names, but wanted to match elsewhere.test",
			"tcp: the TLS handshake failed: remote error: tls: bad certificate",
		},
		{
			"the certificate of the server has expired", named(good, ""), serverConfig(ca, expired), nil,
			failed + "tls: failed to verify certificate: x509: certificate has expired or is not yet valid: current time TIME is after TIME",
			"tcp: the TLS handshake failed: remote error: tls: bad certificate",
		},
		{
			"the certificate of the server is not yet valid", named(good, ""), serverConfig(ca, early), nil,
			failed + "tls: failed to verify certificate: x509: certificate has expired or is not yet valid: current time TIME is before TIME",
			"tcp: the TLS handshake failed: remote error: tls: bad certificate",
		},
		{
			"the CA of the client is not that of the server", clientConfig(ca, other.Issue(t, "stranger", nil)), serverConfig(ca, good), tcp.ErrCertificateRefused,
			refused + "certificate required",
			"tcp: the TLS handshake failed: tls: client didn't provide a certificate",
		},
		{
			"the client shows a certificate of another CA", insist(clientConfig(ca, other.Issue(t, "stranger", nil))), serverConfig(ca, good), tcp.ErrCertificateRefused,
			refused + "unknown certificate authority",
			"tcp: the TLS handshake failed: tls: failed to verify certificate: x509: certificate signed by unknown authority",
		},
		{
			"the certificate of the client has expired", clientConfig(ca, expired), serverConfig(ca, good), tcp.ErrCertificateRefused,
			refused + "expired certificate",
			"tcp: the TLS handshake failed: tls: failed to verify certificate: x509: certificate has expired or is not yet valid: current time TIME is after TIME",
		},
		{
			"the certificate of the client is not yet valid", clientConfig(ca, early), serverConfig(ca, good), tcp.ErrCertificateRefused,
			refused + "expired certificate",
			"tcp: the TLS handshake failed: tls: failed to verify certificate: x509: certificate has expired or is not yet valid: current time TIME is before TIME",
		},
		{
			"the client has no certificate", &tls.Config{RootCAs: ca.Pool}, serverConfig(ca, good), tcp.ErrCertificateRefused,
			refused + "certificate required",
			"tcp: the TLS handshake failed: tls: client didn't provide a certificate",
		},
		{
			"the server has no certificate", clientConfig(ca, good), &tls.Config{ClientCAs: ca.Pool}, nil,
			failed + "remote error: tls: unrecognized name",
			"tcp: the TLS handshake failed: tls: no certificates configured",
		},
		{
			"the server has no CA for its clients", clientConfig(ca, good), &tls.Config{Certificates: []tls.Certificate{good}}, io.ErrUnexpectedEOF,
			failed + "unexpected EOF: the peer has closed the connection; its log says why",
			"tcp: the TLS handshake failed: netio: invalid configuration: ClientCAs of TLS.Server is nil, want the CA of the peers: the system's CAs would let strangers in",
		},
	}
}

// insist makes a client show its certificate even to a server that does not know its CA.
func insist(c *tls.Config) *tls.Config {
	own := &c.Certificates[0]
	c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return own, nil }
	return c
}
