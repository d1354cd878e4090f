// SPDX-License-Identifier: Apache-2.0

package member_test

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"tagbus/directory/etcd/member"
	"tagbus/internal/testkit/pki"
)

// guarded is a member with a policy, and the CA of its callers.
type guarded struct {
	*member.Member
	ca   *pki.Issued
	dir  string
	data string
}

const policy = `{"rules": [
	{"who": "uri:spiffe://cern.ch/daq/*", "publish": "0x1000-0x1fff", "receive": "0x2000"},
	{"who": "uri:spiffe://cern.ch/dcs/*", "subscribe": "*", "describe": "*"}
]}`

// startGuarded starts a member with certificates.
func startGuarded(t *testing.T, change ...func(*member.Config)) *guarded {
	t.Helper()
	g := &guarded{ca: pki.NewCA(t, "cn:ca"), dir: t.TempDir(), data: t.TempDir()}
	c := member.Config{
		Data: g.data, Listen: freeAddress(t), Name: "a", Admins: []string{"cn:operator*"}, Members: []string{"dns:directory-*"},
		Policy: pki.Write(t, g.dir, "policy.json", []byte(policy)), TLS: g.files(t, "dns:directory-1", here),
	}
	for _, do := range change {
		do(&c)
	}
	g.Member = start(t, c)
	return g
}

// here is a change to a certificate: it is for this host.
func here(c *x509.Certificate) { c.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)} }

// files issues a certificate, and writes its files.
func (g *guarded) files(t *testing.T, name string, change ...pki.Change) member.TLS {
	t.Helper()
	issued := g.ca.Issue(t, name, change...)
	dir := t.TempDir()
	return member.TLS{
		Cert: pki.Write(t, dir, "cert.pem", pki.PEM(issued)), Key: pki.Write(t, dir, "key.pem", issued.KeyPEM(t)),
		CA: pki.Write(t, dir, "ca.pem", pki.PEM(g.ca)),
	}
}

// config returns that of a caller.
func (g *guarded) config(t *testing.T, name string, change ...pki.Change) *tls.Config {
	t.Helper()
	files := g.files(t, name, change...)
	pair, err := tls.LoadX509KeyPair(files.Cert, files.Key)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(g.ca.Certificate)
	return &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: roots, MinVersion: tls.VersionTLS13}
}

// client returns a client of etcd that a caller has.
func (g *guarded) client(t *testing.T, name string) *clientv3.Client {
	t.Helper()
	return dialled(t, clientv3.Config{Endpoints: []string{"https://" + g.Clients()}, TLS: g.config(t, name)})
}

func dialled(t *testing.T, c clientv3.Config) *clientv3.Client {
	t.Helper()
	c.Logger, c.MaxUnaryRetries = zap.NewNop(), 1
	client, err := clientv3.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// dialledTLS returns a connection whose handshake both sides have finished.
func dialledTLS(t *testing.T, at string, config *tls.Config) *tls.Conn {
	t.Helper()
	config = config.Clone()
	config.ServerName = "127.0.0.1"
	conn, err := (&tls.Dialer{Config: config}).DialContext(soon(t), "tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if _, err := io.WriteString(conn, "GET /version HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	return conn.(*tls.Conn)
}
