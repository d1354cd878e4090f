// SPDX-License-Identifier: Apache-2.0

package cert

import (
	"context"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"tagbus/cmd/internal/tool"
	"tagbus/identity"
	"tagbus/internal/sanitize"
	"tagbus/internal/stuck"
)

// Issue is the command line of issue.
type Issue struct {
	tool.NoBus

	Name  string `arg:"" help:"Name of the process: a URI such as spiffe://cern.ch/daq/felix-07, the DNS name of a host, or a common name. With uri:, dns: or cn: in front it is what that says; else it is a URI if :// is in it, a DNS name if it has a dot and no blank, and a common name otherwise."`
	Dir   string `default:"." placeholder:"DIR" help:"Folder of the CA. Default: the current one."`
	Out   string `placeholder:"PATH" help:"Where the files go: PATH.pem is the certificate and PATH.key its private key. Default: the last part of the name, in the current folder."`
	Days  int    `default:"365" placeholder:"N" help:"How long the certificate is valid, at most as long as the CA. Default ${default}."`
	Force bool   `help:"Replace the files if they exist, for example to renew a certificate."`
}

// Check reports what is wrong with the flags.
func (c *Issue) Check() error {
	var errs []error
	if c.Days < 1 || c.Days > 50*366 {
		errs = append(errs, fmt.Errorf("--days: got %d, want 1 to %d", c.Days, 50*366))
	}
	if _, _, err := c.template(); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// dnsName is what a host may be called, with one * in front at most.
var dnsName = regexp.MustCompile(`^(\*\.)?[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?(\.[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?)*$`)

// template returns a certificate with the name, and what it is called.
func (c *Issue) template() (*x509.Certificate, identity.Principal, error) {
	kind, name, ok := strings.Cut(c.Name, ":")
	if kind += ":"; !ok || kind != "uri:" && kind != "dns:" && kind != "cn:" {
		name = c.Name
		switch {
		case strings.Contains(name, "://"):
			kind = "uri:"
		case strings.Contains(name, ".") && dnsName.MatchString(name):
			kind = "dns:"
		default:
			kind = "cn:"
		}
	}
	made := new(x509.Certificate)
	switch kind {
	case "uri:":
		u, err := url.Parse(name)
		if err != nil || u.Scheme == "" || u.Host == "" && u.Opaque == "" {
			return nil, identity.Principal{}, fmt.Errorf("%s is no URI: want, for example, spiffe://cern.ch/daq/felix-07", sanitize.Text(name))
		}
		made.URIs = []*url.URL{u}
	case "dns:":
		if !dnsName.MatchString(name) || len(name) > 253 {
			return nil, identity.Principal{}, fmt.Errorf("%s is no DNS name: want, for example, felix-07.cern.ch", sanitize.Text(sanitize.Cut(name, 80)))
		}
		made.DNSNames = []string{name}
	default:
		if err := checkCommonName("the name", name); err != nil {
			return nil, identity.Principal{}, err
		}
		made.Subject = pkix.Name{CommonName: name}
	}
	who, err := identity.PrincipalOf(made)
	return made, who, err
}

// unsafeInFile is what the name of a file is better without.
var unsafeInFile = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// base returns where the files go, without their endings.
func (c *Issue) base() (string, error) {
	if c.Out != "" {
		return c.Out, nil
	}
	name := c.Name
	if i := strings.Index(name, ":"); i >= 0 && !strings.HasPrefix(name[i:], "://") {
		name = name[i+1:]
	}
	base := strings.Trim(unsafeInFile.ReplaceAllString(path.Base(name), "-"), "-.")
	if base == "" || base == "ca" {
		return "", fmt.Errorf("the name gives no name of a file: name one with --out")
	}
	return base, nil
}

// write writes the certificate and its key. The copy of the CA is first: no certificate is unknown
// to it.
func (c *Issue) write(base, serial string, certificate, key []byte) error {
	log := filepath.Join(c.Dir, logName)
	if err := stuck.MkdirAll(log, 0o700); err != nil {
		return err
	}
	copied := newFile{filepath.Join(log, serial+".pem"), certificate, publicMode}
	if err := writeFiles(false, copied); err != nil {
		return err
	}
	err := writeFiles(c.Force, newFile{base + ".key", key, privateMode}, newFile{base + ".pem", certificate, publicMode})
	if err != nil {
		return errors.Join(err, stuck.Remove(copied.path))
	}
	return nil
}

// Run issues the certificate.
func (c *Issue) Run(_ context.Context, e *tool.Env) error {
	ca, err := openCA(c.Dir)
	if err != nil {
		return err
	}
	template, who, err := c.template()
	if err != nil {
		return err
	}
	base, err := c.base()
	if err != nil {
		return err
	}
	key, keyFile, err := newKey()
	if err != nil {
		return err
	}
	if template.SerialNumber, err = newSerial(); err != nil {
		return err
	}
	now := time.Now().Truncate(time.Second)
	template.NotBefore, template.NotAfter = now.Add(-backdated), now.AddDate(0, 0, c.Days)
	if template.NotAfter.After(ca.certificate.NotAfter) {
		template.NotAfter = ca.certificate.NotAfter
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth} // a process dials and listens
	template.BasicConstraintsValid = true
	der, err := x509.CreateCertificate(rand.Reader, template, ca.certificate, key.Public(), ca.key)
	if err != nil {
		return err
	}
	data := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	if err := c.write(base, template.SerialNumber.Text(16), data, keyFile); err != nil {
		return err
	}
	return say(e, map[string]any{"certificate": base + ".pem", "key": base + ".key", "who": who.String(), "serial": template.SerialNumber.Text(16), "ends": template.NotAfter.UTC()},
		sanitize.Linef("%s: certificate of %v, until %s", base+".pem", who, stamp(template.NotAfter)),
		sanitize.Linef("%s: its private key", base+".key"))
}
