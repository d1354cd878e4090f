// SPDX-License-Identifier: Apache-2.0

package cert

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"

	"tagbus/identity"
	"tagbus/internal/filewatch"
	"tagbus/internal/sanitize"
)

// item is a certificate, a private key or a list of revoked certificates in a file.
type item struct {
	path string
	mode os.FileMode

	// One of these.
	certificate *x509.Certificate
	key         crypto.Signer
	list        *x509.RevocationList
}

// maxFileBytes bounds what is read: what is larger is another file.
const maxFileBytes = 16 << 20

// readItems reads a file. What is not PEM may be a list in DER.
//
//   - Errors: those of reading; one that names the file if there is nothing in it.
func readItems(path string) (all []item, err error) {
	f, err := filewatch.Read(path, maxFileBytes)
	if large := (*filewatch.SizeError)(nil); errors.As(err, &large) {
		return nil, fmt.Errorf("%s: more than %d bytes: this is another file", sanitize.Text(path), maxFileBytes)
	} else if err != nil {
		return nil, err
	}
	for block, err := range identity.Blocks(f.Data) {
		if err != nil {
			do := "copy the file again"
			if errors.Is(err, identity.ErrUTF16) {
				do = "save it again, as UTF-8"
			}
			return nil, fmt.Errorf("%s: %w: %s", sanitize.Text(path), err, do)
		}
		i := item{path: path, mode: f.Mode}
		switch {
		case block.Type == "CERTIFICATE":
			i.certificate, err = x509.ParseCertificate(block.Bytes)
		case block.Type == "X509 CRL":
			i.list, err = x509.ParseRevocationList(block.Bytes)
		case strings.HasSuffix(block.Type, "PRIVATE KEY"):
			i.key, err = identity.ParseKey(block.Bytes)
		default:
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %s %d cannot be read: %w", sanitize.Text(path), sanitize.Text(block.Type), len(all)+1, err)
		}
		all = append(all, i)
	}
	if len(all) == 0 {
		list, err := x509.ParseRevocationList(f.Data)
		if err != nil {
			return nil, fmt.Errorf("%s: no certificate, private key or list of revoked certificates is in it", sanitize.Text(path))
		}
		all = append(all, item{path: path, mode: f.Mode, list: list})
	}
	return all, nil
}

// names returns what the certificate calls its owner.
func (i *item) names() (names []string, err error) {
	if i.certificate.IsCA {
		return nil, nil // it calls no peer
	}
	who, err := identity.PrincipalOf(i.certificate)
	if err != nil {
		return nil, err
	}
	return who.Names(), nil
}

// usages returns what the certificate is for, in words.
func (i *item) usages() (all []string) {
	if i.certificate.IsCA {
		all = append(all, "CA")
	}
	for _, u := range i.certificate.ExtKeyUsage {
		switch u {
		case x509.ExtKeyUsageServerAuth:
			all = append(all, "server")
		case x509.ExtKeyUsageClientAuth:
			all = append(all, "client")
		case x509.ExtKeyUsageAny:
			all = append(all, "all")
		default:
			all = append(all, "other things")
		}
	}
	if len(all) == 0 {
		return []string{"all"}
	}
	return all
}

// keyKind returns which kind of key it is.
func (i *item) keyKind() string {
	switch key := i.key.Public().(type) {
	case *ecdsa.PublicKey:
		return "ECDSA " + key.Params().Name
	case ed25519.PublicKey:
		return "Ed25519"
	case *rsa.PublicKey:
		return fmt.Sprintf("RSA %d", key.N.BitLen())
	}
	return "of an unknown kind"
}

// errOpenKey is what is wrong with a key that others may read.
var errOpenKey = errors.New("other users may read or replace this private key: chmod 600")

// checkMode reports whether only the owner may use a key.
func (i *item) checkMode() error {
	if i.key != nil && i.mode.Perm()&0o027 != 0 {
		return errOpenKey
	}
	return nil
}
