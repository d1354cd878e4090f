// SPDX-License-Identifier: Apache-2.0

package cert

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"path/filepath"
	"time"

	"tagbus/cmd/internal/cli"
	"tagbus/internal/sanitize"
)

// Names of the files of a CA in its folder.
const (
	caName   = "ca.pem"
	keyName  = "ca.key"
	listName = "ca.crl"
	logName  = "issued" // folder with what it has issued
)

// authority is a CA with its key.
type authority struct {
	dir         string
	certificate *x509.Certificate
	key         crypto.Signer
}

// openCA reads the CA of a folder.
//
//   - Errors: a *cli.UsageError if there is none; those of the files.
func openCA(dir string) (*authority, error) {
	a := &authority{dir: dir}
	items, err := readItems(filepath.Join(dir, caName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &cli.UsageError{Err: fmt.Errorf("%s is not there: make a CA with tagbus cert init, or name its folder with --dir", sanitize.Text(filepath.Join(dir, caName)))}
	}
	if err != nil {
		return nil, err
	}
	keys, err := readItems(filepath.Join(dir, keyName))
	if err != nil {
		return nil, err
	}
	a.certificate, a.key = items[0].certificate, keys[0].key
	switch {
	case a.certificate == nil || a.key == nil:
		return nil, fmt.Errorf("%s: want a certificate in %s and its key in %s", sanitize.Text(dir), caName, keyName)
	case !a.certificate.IsCA:
		return nil, fmt.Errorf("%s is no CA, and issues nothing: name another folder with --dir", sanitize.Text(filepath.Join(dir, caName)))
	case !fits(a.certificate, a.key):
		return nil, fmt.Errorf("%s: %s belongs to another CA than %s: put them together again from a backup", sanitize.Text(dir), keyName, caName)
	case time.Now().After(a.certificate.NotAfter):
		return nil, fmt.Errorf("%s ended at %s: make another CA in another folder", sanitize.Text(filepath.Join(dir, caName)), stamp(a.certificate.NotAfter))
	}
	return a, nil
}

// fits reports whether a key is that of a certificate.
func fits(c *x509.Certificate, key crypto.Signer) bool {
	public, ok := c.PublicKey.(interface{ Equal(crypto.PublicKey) bool })
	return ok && public.Equal(key.Public())
}

// newKey makes a private key, and the bytes of its file.
func newKey() (*ecdsa.PrivateKey, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, nil, err
	}
	return key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

// newSerial makes the number of a certificate, of 127 random bits.
func newSerial() (*big.Int, error) {
	n, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	return n.Add(n, big.NewInt(1)), nil // 0 is none
}

// stamp returns a time as it is shown.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }
