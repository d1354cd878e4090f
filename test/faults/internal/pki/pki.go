// SPDX-License-Identifier: Apache-2.0

// Package pki makes a CA and certificates for programs that are run with faults.
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
	"time"
)

// Authority is a CA with its folder.
type Authority struct {
	File   string // its certificate
	dir    string
	cert   *x509.Certificate
	key    *ecdsa.PrivateKey
	issued map[string]*x509.Certificate // the last ones, by name
}

// New makes a CA in a folder, which it makes, too.
//
// Errors: those of the files and of package x509.
func New(dir string) (*Authority, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	const name = "ca"
	a := &Authority{File: filepath.Join(dir, name+".pem"), dir: dir, issued: make(map[string]*x509.Certificate)}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	var err error
	a.cert, a.key, err = a.sign(template, name, 24*time.Hour)
	return a, err
}

// Issue makes a certificate of spiffe://faults/NAME that ends after some time, and returns the files. It replaces
// one of this name, in one step each.
//
// Errors: those of the files and of package x509.
func (a *Authority) Issue(name string, valid time.Duration) (cert, key string, err error) {
	template := &x509.Certificate{
		URIs:        []*url.URL{{Scheme: "spiffe", Host: "faults", Path: "/" + name}},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	if a.issued[name], _, err = a.sign(template, name, valid); err != nil {
		return "", "", err
	}
	return filepath.Join(a.dir, name+".pem"), filepath.Join(a.dir, name+".key"), nil
}

// Revoke writes the list of what is revoked, and returns its file.
//
// Errors: those of the file and of package x509.
func (a *Authority) Revoke(names ...string) (string, error) {
	list := &x509.RevocationList{Number: big.NewInt(time.Now().UnixNano()), ThisUpdate: time.Now().Add(-time.Minute), NextUpdate: time.Now().Add(time.Hour)}
	for _, name := range names {
		list.RevokedCertificateEntries = append(list.RevokedCertificateEntries, x509.RevocationListEntry{
			SerialNumber: a.issued[name].SerialNumber, RevocationTime: time.Now(),
		})
	}
	der, err := x509.CreateRevocationList(rand.Reader, list, a.cert, a.key)
	if err != nil {
		return "", err
	}
	path := filepath.Join(a.dir, "revoked.pem")
	return path, write(path, "X509 CRL", der)
}

// sign makes a key and a certificate of it, and writes both.
func (a *Authority) sign(template *x509.Certificate, name string, valid time.Duration) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Minute), time.Now().Add(valid)
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		return nil, nil, err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err == nil {
		err = write(filepath.Join(a.dir, name+".key"), "PRIVATE KEY", secret)
	}
	if err == nil {
		err = write(filepath.Join(a.dir, name+".pem"), "CERTIFICATE", der)
	}
	if err != nil {
		return nil, nil, err
	}
	cert, err := x509.ParseCertificate(der)
	return cert, key, err
}

// write writes a file in one step.
func write(path, kind string, der []byte) error {
	if err := os.WriteFile(path+".new", pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
