// SPDX-License-Identifier: Apache-2.0

// Package certs makes the certificates of a measurement, in the folder that its processes
// have for temporary files: the first process makes them, and the others read them.
package certs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"time"
)

// Name is the name of all processes, as rules of a policy have it.
const Name = "uri:spiffe://bench/peer"

// Paths are the files.
type Paths struct{ CA, Certificate, Key string }

// Files returns where the files are.
func Files() Paths {
	at := func(name string) string { return filepath.Join(os.TempDir(), name) }
	return Paths{CA: at("ca.pem"), Certificate: at("peer.pem"), Key: at("peer.key")}
}

// Make makes a CA, and one certificate for all processes and both sides of a connection.
func Make() error {
	now, files := time.Now(), Files()
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "bench"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	peer := &x509.Certificate{
		SerialNumber: big.NewInt(2), NotBefore: ca.NotBefore, NotAfter: ca.NotAfter,
		URIs:        []*url.URL{{Scheme: "spiffe", Host: "bench", Path: "/peer"}},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	caKey, caErr := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	peerKey, peerErr := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err := errors.Join(caErr, peerErr); err != nil {
		return err
	}
	caDER, caErr := x509.CreateCertificate(rand.Reader, ca, ca, &caKey.PublicKey, caKey)
	peerDER, peerErr := x509.CreateCertificate(rand.Reader, peer, ca, &peerKey.PublicKey, caKey)
	keyDER, keyErr := x509.MarshalPKCS8PrivateKey(peerKey)
	if err := errors.Join(caErr, peerErr, keyErr); err != nil {
		return err
	}
	return errors.Join(
		write(files.CA, "CERTIFICATE", caDER), write(files.Certificate, "CERTIFICATE", peerDER), write(files.Key, "PRIVATE KEY", keyDER),
	)
}

func write(file, kind string, der []byte) error {
	return os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}

// Config returns what crypto/tls needs on either side: TLS 1.3, and the certificate of the
// other side is checked.
func Config() (*tls.Config, error) {
	files := Files()
	own, err := tls.LoadX509KeyPair(files.Certificate, files.Key)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(files.CA)
	if err != nil {
		return nil, err
	}
	trusted := x509.NewCertPool()
	if !trusted.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("certs: %s has no certificate", files.CA)
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{own}, ServerName: "127.0.0.1",
		RootCAs: trusted, ClientCAs: trusted, ClientAuth: tls.RequireAndVerifyClientCert,
	}, nil
}
