// SPDX-License-Identifier: Apache-2.0

package member_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tagbus/directory/etcd/member"
)

// certificate writes one for this host with its key, and returns the files. It signs
// itself.
func certificate(t *testing.T) member.TLS {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	is := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "tagbus test"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	signed, err := x509.CreateCertificate(rand.Reader, is, is, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := func(name, kind string, bytes []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	cert := file("cert.pem", "CERTIFICATE", signed)
	return member.TLS{Cert: cert, Key: file("key.pem", "EC PRIVATE KEY", private), CA: cert}
}

// Members and clients with certificates talk to each other, and to none without.
func TestMembersWithCertificates(t *testing.T) {
	t.Parallel()
	files := certificate(t)
	first := start(t, member.Config{Data: t.TempDir(), Listen: freeAddress(t), Name: "a", TLS: files})
	start(t, member.Config{Data: t.TempDir(), Listen: freeAddress(t), Name: "b", TLS: files, Join: []string{first.Clients()}})
	if got := first.URL("bus"); !strings.HasPrefix(got, "etcds://") {
		t.Errorf("URL: got %s, want one with etcds", got)
	}
	refused(t, member.Config{Data: t.TempDir(), Listen: freeAddress(t), Join: []string{first.Clients()}}, member.ErrNoAnswer)
	refused(t, member.Config{Data: t.TempDir(), Listen: freeAddress(t), Join: []string{first.Clients()}, TLS: certificate(t)}, member.ErrNoAnswer)
	broken := files
	broken.Key = files.Cert
	refused(t, member.Config{Data: t.TempDir(), Listen: freeAddress(t), Join: []string{first.Clients()}, TLS: broken}, member.ErrInvalidConfig, "TLS")
}
