// SPDX-License-Identifier: Apache-2.0

package cert

import (
	"context"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/tool"
	"tagbus/cmd/internal/units"
	"tagbus/identity"
	"tagbus/internal/flock"
	"tagbus/internal/sanitize"
	"tagbus/internal/stuck"
)

// Revoke is the command line of revoke.
type Revoke struct {
	tool.NoBus

	Which []string `arg:"" optional:"" name:"certificate" help:"Files of the certificates, names such as uri:spiffe://cern.ch/daq/felix-07 for all that the CA has issued for them, or serial numbers in hexadecimal, as tagbus cert show prints them."`
	Dir   string   `default:"." placeholder:"DIR" help:"Folder of the CA. Its list is ca.crl. Default: the current one."`
	Days  int      `default:"365" placeholder:"N" help:"When the list is to be renewed at the latest: processes open no new connections with an older one. Default ${default}."`
	Renew bool     `help:"Write the list again, with a new time, and revoke nothing."`
}

// Check reports what is wrong with the flags.
func (c *Revoke) Check() error {
	var errs []error
	if (len(c.Which) == 0) != c.Renew {
		errs = append(errs, errors.New("want certificates to revoke, or --renew"))
	}
	if c.Days < 1 || c.Days > 50*366 {
		errs = append(errs, fmt.Errorf("--days: got %d, want 1 to %d", c.Days, 50*366))
	}
	return errors.Join(errs...)
}

// Run revokes.
func (c *Revoke) Run(_ context.Context, e *tool.Env) (err error) {
	ca, err := openCA(c.Dir)
	if err != nil {
		return err
	}
	unlock, err := lock(filepath.Join(c.Dir, keyName))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	path := filepath.Join(c.Dir, listName)
	list, err := ca.readList(path)
	if err != nil {
		return err
	}
	now := time.Now().Truncate(time.Second)
	for _, which := range c.Which {
		serials, err := ca.serialsOf(which)
		if err != nil {
			return err
		}
		for _, serial := range serials {
			revoke(list, serial, now)
		}
	}
	list.Number.Add(list.Number, big.NewInt(1))
	list.ThisUpdate, list.NextUpdate = now.Add(-backdated), now.AddDate(0, 0, c.Days)
	der, err := x509.CreateRevocationList(rand.Reader, list, ca.certificate, ca.key)
	if err != nil {
		return err
	}
	if err := writeFiles(true, newFile{path, pem.EncodeToMemory(&pem.Block{Type: "X509 CRL", Bytes: der}), publicMode}); err != nil {
		return err
	}
	n := len(list.RevokedCertificateEntries)
	return say(e, map[string]any{"list": path, "revoked": n, "number": list.Number.String(), "renew": list.NextUpdate.UTC()},
		sanitize.Linef("%s: list %v, with %s: give it to all processes, and renew it before %s", path, list.Number, units.FormatNumber(n, "revoked certificate"), stamp(list.NextUpdate)))
}

// revoke adds a number to a list, once.
func revoke(list *x509.RevocationList, serial *big.Int, now time.Time) {
	if !slices.ContainsFunc(list.RevokedCertificateEntries, func(r x509.RevocationListEntry) bool { return r.SerialNumber.Cmp(serial) == 0 }) {
		list.RevokedCertificateEntries = append(list.RevokedCertificateEntries, x509.RevocationListEntry{SerialNumber: serial, RevocationTime: now})
	}
}

// lock keeps other processes from writing the list.
func lock(path string) (unlock func() error, err error) {
	f, err := stuck.OpenToLock(path)
	if err != nil {
		return nil, err
	}
	if !flock.Exclusive(f.File, stuck.On(path)) {
		return nil, errors.Join(errors.New("another process revokes certificates of this CA: wait until it is done"), f.Close())
	}
	return f.Close, nil
}

// readList returns the list so far, which may be empty.
func (a *authority) readList(path string) (*x509.RevocationList, error) {
	made := &x509.RevocationList{Number: new(big.Int)}
	items, err := readItems(path)
	if errors.Is(err, fs.ErrNotExist) {
		return made, nil
	}
	if err != nil {
		return nil, err
	}
	old := items[0].list
	if old == nil || old.CheckSignatureFrom(a.certificate) != nil {
		return nil, fmt.Errorf("%s is no list that this CA has signed: move it out of the way, or name another folder with --dir", sanitize.Text(path))
	}
	for _, r := range old.RevokedCertificateEntries { // with what can be written again
		made.RevokedCertificateEntries = append(made.RevokedCertificateEntries, x509.RevocationListEntry{
			SerialNumber: r.SerialNumber, RevocationTime: r.RevocationTime, ReasonCode: r.ReasonCode,
		})
	}
	if old.Number != nil {
		made.Number.Set(old.Number)
	}
	return made, nil
}

// serialsOf returns the numbers of certificates, given as a file, a name or a number.
func (a *authority) serialsOf(which string) ([]*big.Int, error) {
	items, err := readItems(which)
	if errors.Is(err, fs.ErrNotExist) {
		if who, err := identity.NewPrincipal(which); err == nil && !who.IsAnonymous() {
			return a.issuedFor(who)
		}
		digits := strings.TrimPrefix(strings.ReplaceAll(strings.ToLower(which), ":", ""), "0x")
		if n, ok := new(big.Int).SetString(digits, 16); ok && n.Sign() > 0 && len(digits) <= 40 && !strings.ContainsAny(digits, "+_") {
			return []*big.Int{n}, nil
		}
		return nil, &cli.UsageError{Err: fmt.Errorf("%s is neither a file, a name nor a serial number", sanitize.Text(sanitize.Cut(which, 80)))}
	}
	if err != nil {
		return nil, err
	}
	c := items[0].certificate
	switch {
	case c == nil:
		return nil, &cli.UsageError{Err: fmt.Errorf("%s has no certificate at its beginning: name the file of one", sanitize.Text(which))}
	case c.Equal(a.certificate):
		return nil, &cli.UsageError{Err: fmt.Errorf("%s is the CA itself, which no list revokes: take it out of the files of CAs", sanitize.Text(which))}
	case c.CheckSignatureFrom(a.certificate) != nil:
		return nil, &cli.UsageError{Err: fmt.Errorf("%s is of another CA, which alone can revoke it: name its folder with --dir", sanitize.Text(which))}
	}
	return []*big.Int{c.SerialNumber}, nil
}

// issuedFor returns the numbers of the certificates that the CA has issued for a name and that have
// not ended.
func (a *authority) issuedFor(who identity.Principal) (serials []*big.Int, err error) {
	files, err := stuck.Glob(filepath.Join(a.dir, logName, "*.pem"))
	if err != nil {
		return nil, err
	}
	for _, path := range files {
		items, err := readItems(path)
		if err != nil {
			return nil, err
		}
		c := items[0].certificate
		if c == nil || time.Now().After(c.NotAfter) {
			continue
		}
		if of, err := identity.PrincipalOf(c); err == nil && of == who && c.CheckSignatureFrom(a.certificate) == nil {
			serials = append(serials, c.SerialNumber)
		}
	}
	if len(serials) == 0 {
		return nil, &cli.UsageError{Err: fmt.Errorf("%v has no certificate of this CA that is valid: name a file or a serial number", who)}
	}
	return serials, nil
}
