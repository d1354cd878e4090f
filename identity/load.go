// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"tagbus/internal/filewatch"
)

// Bounds of files. What is larger is refused: it is another file.
const (
	maxFileBytes    = 16 << 20
	maxCertificates = 1024 // in a file
)

// credentials are what the files said at one time. They never change.
type credentials struct {
	own   tls.Certificate
	names Principal           // of own
	cas   []*x509.Certificate // of the file of CAs, in its order
	roots *x509.CertPool      // the same
	lists []*list

	paths    *Config
	warnings []error // that do not depend on the time
}

// load makes credentials of files, which are in the order of Config.paths.
//
//   - Errors: *FileError.
func (c *Config) load(files []filewatch.File) (*credentials, error) {
	r := &credentials{paths: c, roots: x509.NewCertPool()}
	own, err := parseCertificates(files[0])
	if err != nil {
		return nil, err
	}
	if err := r.loadOwn(own, files[0], files[1]); err != nil {
		return nil, err
	}
	if r.cas, err = parseCertificates(files[2]); err != nil {
		return nil, err
	}
	for _, ca := range r.cas {
		r.roots.AddCert(ca)
	}
	for _, file := range files[3:] {
		if err := r.loadLists(file, append(own[1:len(own):len(own)], r.cas...)); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// loadOwn puts the own certificate and its key together.
func (r *credentials) loadOwn(own []*x509.Certificate, file, keyFile filewatch.File) error {
	leaf := own[0]
	var err error
	if r.names, err = PrincipalOf(leaf); err != nil {
		return &FileError{file.Path, err, "issue a certificate with a name, for example with tagbus cert issue"}
	}
	switch now := r.paths.Now(); {
	case now.After(leaf.NotAfter):
		return &FileError{file.Path, &ChainError{Label(leaf), ended(leaf.NotAfter), ErrExpired}, "issue a new one"}
	case now.Before(leaf.NotBefore):
		return &FileError{file.Path, &ChainError{Label(leaf), begins(leaf.NotBefore), ErrNotYetValid}, "set the clock of this host, or issue a new one"}
	}
	key, err := parseKey(keyFile)
	if err != nil {
		return err
	}
	public, ok := leaf.PublicKey.(interface{ Equal(crypto.PublicKey) bool })
	if !ok || !public.Equal(key.Public()) {
		return &FileError{keyFile.Path, fmt.Errorf("%w than that in %s", ErrOtherKey, file.Path), "replace both files, by those of one tagbus cert issue"}
	}
	if keyFile.Mode.Perm()&0o027 != 0 {
		r.warnings = append(r.warnings, &FileError{keyFile.Path, fmt.Errorf("%w: mode %#o", ErrOpenKey, keyFile.Mode.Perm()), "chmod 600, and issue a new one if others could read it"})
	}
	r.own = tls.Certificate{PrivateKey: key, Leaf: leaf}
	for _, c := range own {
		r.own.Certificate = append(r.own.Certificate, c.Raw)
	}
	return nil
}

// parseCertificates returns the certificates of a file, in their order.
func parseCertificates(file filewatch.File) (all []*x509.Certificate, err error) {
	for block, err := range Blocks(file.Data) {
		if err != nil {
			return nil, &FileError{file.Path, err, blocksDo(err)}
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, &FileError{file.Path, err, fmt.Sprintf("certificate %d of the file is damaged: copy it again", len(all)+1)}
		}
		if all = append(all, c); len(all) > maxCertificates {
			return nil, &FileError{file.Path, fmt.Errorf("more than %d certificates", maxCertificates), "leave out those that no peer needs"}
		}
	}
	if len(all) == 0 {
		return nil, &FileError{file.Path, ErrNoCertificate, "name a file that has a PEM block CERTIFICATE"}
	}
	return all, nil
}

// parseKey returns the first private key of a file.
func parseKey(file filewatch.File) (crypto.Signer, error) {
	for block, err := range Blocks(file.Data) {
		if err != nil {
			return nil, &FileError{file.Path, fmt.Errorf("%w: %w", ErrNoKey, err), blocksDo(err)}
		}
		if block.Type == "ENCRYPTED PRIVATE KEY" || block.Headers["DEK-Info"] != "" {
			return nil, &FileError{file.Path, fmt.Errorf("%w: it is encrypted", ErrNoKey), "decrypt it, for example with openssl pkey, into a file with mode 600"}
		}
		if !strings.HasSuffix(block.Type, "PRIVATE KEY") {
			continue
		}
		key, err := ParseKey(block.Bytes)
		if err != nil {
			return nil, &FileError{file.Path, fmt.Errorf("%w: %w", ErrNoKey, err), "copy it again"}
		}
		return key, nil
	}
	return nil, &FileError{file.Path, ErrNoKey, "name a file that has a PEM block PRIVATE KEY"}
}

// ParseKey returns a private key of DER bytes: PKCS #8, SEC 1 or PKCS #1.
//
//   - Errors: those of crypto/x509; ErrNoKey if the key cannot sign.
func ParseKey(der []byte) (crypto.Signer, error) {
	if key, err := x509.ParseECPrivateKey(der); err == nil {
		return key, nil
	}
	if key, err := x509.ParsePKCS1PrivateKey(der); err == nil {
		return key, nil
	}
	key, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, err
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("%w that signs: %T", ErrNoKey, key)
	}
	return signer, nil
}

// warn returns what is to be said at a time: what the files have, what ends soon, and why
// others would not take the own certificate.
func (r *credentials) warn(now time.Time) []error {
	all := append([]error(nil), r.warnings...)
	add := func(path, label string, from, to time.Time, do string) {
		soon := min(to.Sub(from)/5, renewBefore)
		switch {
		case now.After(to):
			all = append(all, &FileError{path, fmt.Errorf("%s: %w (%s)", label, ErrExpired, ended(to)), do})
		case now.Add(soon).After(to):
			all = append(all, &FileError{path, fmt.Errorf("%s: %w (at %s)", label, ErrEndsSoon, stamp(to)), do})
		}
	}
	leaf := r.own.Leaf
	add(r.paths.Certificate, "certificate "+Label(leaf), leaf.NotBefore, leaf.NotAfter, "issue a new one, and replace both files")
	for _, ca := range r.cas {
		add(r.paths.CA, "CA "+Label(ca), ca.NotBefore, ca.NotAfter, "make a new CA, and have both in the file while certificates are renewed")
	}
	for _, l := range r.lists {
		if !l.NextUpdate.IsZero() {
			add(l.path, "list of revoked certificates", l.ThisUpdate, l.NextUpdate, "renew it, for example with tagbus cert revoke --renew: new connections are refused without")
		}
	}
	if now.After(leaf.NotAfter) {
		return all
	}
	for _, usage := range []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth} {
		if _, err := r.verify(r.ownChain(), usage, now); err != nil {
			return append(all, &FileError{r.paths.Certificate, err, "peers with the same files would refuse it"})
		}
	}
	return all
}

// renewBefore is how long before its end a certificate is warned about, or a fifth of its time.
const renewBefore = 14 * 24 * time.Hour

// ownChain returns the own certificate and the intermediates behind it.
func (r *credentials) ownChain() (all []*x509.Certificate) {
	for _, der := range r.own.Certificate {
		if c, err := x509.ParseCertificate(der); err == nil { // it was read before
			all = append(all, c)
		}
	}
	return all
}

func ended(t time.Time) string  { return "it ended at " + stamp(t) }
func begins(t time.Time) string { return "it begins at " + stamp(t) }
func stamp(t time.Time) string  { return t.UTC().Format(time.RFC3339) }

// fileErrorOf returns an error of reading a file as one that says what to do.
func fileErrorOf(err error) error {
	if path := (*os.PathError)(nil); errors.As(err, &path) {
		return &FileError{path.Path, path.Err, "name the right file, readable for this process"}
	}
	if size := (*filewatch.SizeError)(nil); errors.As(err, &size) {
		return &FileError{size.Path, fmt.Errorf("more than %d bytes", size.Limit), "name the right file"}
	}
	return err
}
