// SPDX-License-Identifier: Apache-2.0

package cert

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/tool"
	"tagbus/internal/sanitize"
	"tagbus/internal/stuck"
)

// Init is the command line of init.
type Init struct {
	tool.NoBus

	Dir   string `default:"." placeholder:"DIR" help:"Folder of the CA, which is made if it does not exist. Default: the current one."`
	Name  string `placeholder:"TEXT" help:"Common name of the CA. Default: tagbus CA, and the beginning of the hash of its key."`
	Years int    `default:"10" placeholder:"N" help:"How long the CA is valid. Default ${default}."`
	Force bool   `help:"Replace a CA that is there: no certificate that it has issued counts any more."`
}

// maxNameChars is how long a common name may be, by X.520.
const maxNameChars = 64

// Check reports what is wrong with the flags.
func (c *Init) Check() error {
	var errs []error
	if c.Years < 1 || c.Years > 50 {
		errs = append(errs, fmt.Errorf("--years: got %d, want 1 to 50", c.Years))
	}
	return errors.Join(append(errs, checkCommonName("--name", c.Name))...)
}

// checkCommonName reports what is wrong with a common name.
func checkCommonName(what, name string) error {
	switch {
	case utf8.RuneCountInString(name) > maxNameChars:
		return fmt.Errorf("%s: %d characters, a common name has at most %d", what, utf8.RuneCountInString(name), maxNameChars)
	case strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError }):
		return fmt.Errorf("%s: it has characters that cannot be shown", what)
	}
	return nil
}

// Run makes the CA.
func (c *Init) Run(_ context.Context, e *tool.Env) error {
	key, keyFile, err := newKey()
	if err != nil {
		return err
	}
	if c.Name == "" {
		public, err := x509.MarshalPKIXPublicKey(key.Public())
		if err != nil {
			return err
		}
		c.Name = fmt.Sprintf("tagbus CA %x", sha256.Sum256(public))[:len("tagbus CA ")+8]
	}
	serial, err := newSerial()
	if err != nil {
		return err
	}
	now := time.Now().Truncate(time.Second)
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: c.Name},
		NotBefore: now.Add(-backdated), NotAfter: now.AddDate(c.Years, 0, 0),
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		IsCA:     true, BasicConstraintsValid: true, MaxPathLenZero: true, // it issues for processes, and no CAs
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return err
	}
	if err := stuck.MkdirAll(c.Dir, 0o700); err != nil {
		return err
	}
	path, keyPath := filepath.Join(c.Dir, caName), filepath.Join(c.Dir, keyName)
	err = writeFiles(c.Force,
		newFile{keyPath, keyFile, privateMode},
		newFile{path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), publicMode})
	if err != nil {
		return err
	}
	return say(e, map[string]any{"ca": path, "key": keyPath, "name": c.Name, "ends": template.NotAfter.UTC()},
		sanitize.Linef("%s: the CA %s, until %s: give it to all processes", path, c.Name, stamp(template.NotAfter)),
		sanitize.Linef("%s: its private key: a process that reads it can be any peer, so keep it on this host", keyPath))
}

// say writes what was done: an object, or lines.
func say(e *tool.Env, object any, lines ...string) error {
	if e.JSON {
		return cli.PrintJSON(e.Out, object)
	}
	_, err := fmt.Fprintln(e.Out, strings.Join(lines, "\n"))
	return err
}
