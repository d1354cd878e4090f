// SPDX-License-Identifier: Apache-2.0

package tcp_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/netip"
	"testing"

	"tagbus/internal/testkit/backendtest"
	"tagbus/internal/testkit/pki"
	"tagbus/netio"
	"tagbus/netio/tcp"
)

// clientConfig trusts ca and shows c. Names are not looked at: endpoints of these tests
// listen on addresses of their own.
func clientConfig(ca *pki.Authority, c tls.Certificate) *tls.Config {
	return &tls.Config{
		Certificates: []tls.Certificate{c}, InsecureSkipVerify: true,
		VerifyConnection: func(s tls.ConnectionState) error { return verify(ca, s) },
	}
}

// verify checks the chain of a server, but not its name.
func verify(ca *pki.Authority, s tls.ConnectionState) error {
	if len(s.PeerCertificates) == 0 {
		return errors.New("no certificate")
	}
	between := x509.NewCertPool()
	for _, c := range s.PeerCertificates[1:] {
		between.AddCert(c)
	}
	_, err := s.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: ca.Pool, Intermediates: between})
	return err
}

// serverConfig trusts ca and shows c.
func serverConfig(ca *pki.Authority, c tls.Certificate) *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{c}, ClientCAs: ca.Pool}
}

// withTLS returns cfg with TLS, where both sides have a certificate of one CA. Its handshakes have more
// time than usual: a busy machine may need seconds for each of a hundred.
func withTLS(tb testing.TB, cfg tcp.Config) tcp.Config {
	tb.Helper()
	ca := pki.New(tb, "ca")
	c := ca.Issue(tb, "peer", nil)
	cfg.TLS = tlsOf(clientConfig(ca, c), serverConfig(ca, c))
	cfg.TLS.HandshakeTimeout = backendtest.Patience
	return cfg
}

// tlsOf returns a TLS that always uses the same configurations.
func tlsOf(client, server *tls.Config) *tcp.TLS {
	return &tcp.TLS{
		Client: func() (*tls.Config, error) { return client, nil },
		Server: func() (*tls.Config, error) { return server, nil },
	}
}

// addrOf returns the address of a listener of the standard library.
func addrOf(t *testing.T, a net.Addr) netip.AddrPort {
	t.Helper()
	addr, err := netip.ParseAddrPort(a.String())
	if err != nil {
		t.Fatalf("ParseAddrPort: got error %v, want none", err)
	}
	return addr
}

// dialTLS connects a tls.Conn of the standard library, and returns both ends.
func dialTLS(t *testing.T, server *served, ca *pki.Authority, own tls.Certificate) (*tls.Conn, netio.Endpoint) {
	t.Helper()
	cfg := clientConfig(ca, own)
	cfg.NextProtos, cfg.DynamicRecordSizingDisabled = []string{tcp.TLSProtocol}, true
	c := tls.Client(dialRaw(t, server.l.Addr()), cfg)
	wantBytes(t, c, make([]byte, 4)) // "let in"
	return c, next(t, "OnConnectionEstablished", server.Established)
}
