// SPDX-License-Identifier: Apache-2.0

package cert_test

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"tagbus/cmd/internal/cert"
	"tagbus/cmd/internal/tool/tooltest"
	"tagbus/identity"
	"tagbus/internal/testkit"
	"tagbus/internal/testkit/pki"
)

var must = testkit.Must

// bed is a folder, which is the current one of the test.
type bed struct {
	*testing.T
	dir string
}

func newBed(t *testing.T) *bed {
	b := &bed{t, t.TempDir()}
	t.Chdir(b.dir)
	return b
}

// run runs a command, and returns what it wrote and its status.
func (b *bed) run(args ...string) (out, errs string, status int) {
	b.Helper()
	out, errs, status = tooltest.Run(b.Context(), b, new(cert.Commands), args...)
	return out, strings.TrimSuffix(errs, "\n"), status
}

// want runs a command, and compares its status, and what it wrote with a pattern.
func (b *bed) want(status int, pattern string, args ...string) (out string) {
	b.Helper()
	out, errs, got := b.run(args...)
	if got != status || !regexp.MustCompile(pattern).MatchString(out+errs) {
		b.Errorf("%v: got status %d\n%s%s\nwant status %d\n%s", args, got, out, errs, status, pattern)
	}
	return out
}

// certificate reads the first certificate of a file.
func (b *bed) certificate(path string) *x509.Certificate {
	b.Helper()
	data, err := os.ReadFile(path)
	must(b, err)
	block, _ := pem.Decode(data)
	c, err := x509.ParseCertificate(block.Bytes)
	must(b, err)
	return c
}

// open opens the store of a process.
func (b *bed) open(base string, revoked ...string) *identity.Store {
	b.Helper()
	s, err := identity.Open(identity.Config{Certificate: base + ".pem", Key: base + ".key", CA: "ca/ca.pem", Revoked: revoked, Report: func(r identity.Report) {
		if r.Err != nil || len(r.Warnings) > 0 {
			b.Errorf("%s: got %+v, want that nothing is wrong", base, r)
		}
	}})
	must(b, err)
	b.Cleanup(s.Close)
	return s
}

// TestASiteWithoutAPKI: the commands of docs/security.md give files that a Store takes.
func TestASiteWithoutAPKI(t *testing.T) {
	b := newBed(t)
	b.want(0, `(?s)^ca/ca.pem: the CA tagbus CA [0-9a-f]{8}, until 2\d{3}-.*\nca/ca.key: its private key: .*\n$`, "init", "--dir=ca")
	b.want(0, `^felix-07.pem: certificate of uri:spiffe://cern.ch/daq/felix-07, until .*\nfelix-07.key: its private key\n$`, "issue", "--dir=ca", "spiffe://cern.ch/daq/felix-07")
	b.want(0, `^shift-leader.pem: certificate of cn:shift leader,`, "issue", "--dir=ca", "shift leader")
	b.want(0, `^gas.dcs.cern.ch.pem: certificate of dns:gas.dcs.cern.ch,`, "issue", "--dir=ca", "gas.dcs.cern.ch")
	b.want(0, `^x.pem: certificate of uri:urn:a,`, "issue", "--dir=ca", "--out=x", "uri:urn:a")

	for path, mode := range map[string]os.FileMode{"ca/ca.pem": 0o644, "ca/ca.key": 0o600, "felix-07.pem": 0o644, "felix-07.key": 0o600} {
		if stat, err := os.Stat(path); err != nil || stat.Mode().Perm() != mode {
			t.Errorf("%s: got %v, %v, want mode %v", path, stat.Mode(), err, mode)
		}
	}
	ca, leaf, now := b.certificate("ca/ca.pem"), b.certificate("felix-07.pem"), time.Now()
	for _, c := range []struct {
		*x509.Certificate
		ends time.Time
	}{{ca, now.AddDate(10, 0, 0)}, {leaf, now.AddDate(0, 0, 365)}} {
		if began := now.Sub(c.NotBefore); began < 5*time.Minute || began > 6*time.Minute || c.ends.Sub(c.NotAfter).Abs() > time.Minute {
			t.Errorf("got that it is valid from %v to %v, want from five minutes ago to %v", c.NotBefore, c.NotAfter, c.ends)
		}
	}
	if !ca.IsCA || !ca.MaxPathLenZero || ca.KeyUsage != x509.KeyUsageCertSign|x509.KeyUsageCRLSign || leaf.IsCA || len(leaf.ExtKeyUsage) != 2 {
		t.Errorf("got %+v and %+v, want a CA that issues no CAs, and a certificate for both sides", ca, leaf)
	}
	felix, shift := b.open("felix-07"), b.open("shift-leader")
	peer, err := felix.Verify([]*x509.Certificate{shift.Certificate()}, x509.ExtKeyUsageClientAuth)
	if err != nil || peer.Principal.String() != "cn:shift leader" {
		t.Errorf("got %v, %v, want cn:shift leader", peer, err)
	}

	b.want(0, `^ca/ca.crl: list 1, with 1 revoked certificate: `, "revoke", "--dir=ca", "shift-leader.pem")
	b.want(0, `^ca/ca.crl: list 2, with 1 revoked certificate: `, "revoke", "--dir=ca", "--renew")
	b.want(0, `^ca/ca.crl: list 3, with 2 revoked certificates: `, "revoke", "--dir=ca", "shift-leader.pem", "AB:cd")
	felix = b.open("felix-07", "ca/ca.crl")
	if _, err := felix.Verify([]*x509.Certificate{shift.Certificate()}, x509.ExtKeyUsageClientAuth); !errors.Is(err, identity.ErrRevoked) {
		t.Errorf("got %v, want ErrRevoked", err)
	}
}

// TestNamesAreRevoked: with all certificates of a name that are valid, and no others.
func TestNamesAreRevoked(t *testing.T) {
	b := newBed(t)
	b.want(0, "", "init")
	b.want(0, "", "issue", "dns:a")
	first := b.certificate("a.pem").SerialNumber.Text(16)
	b.want(0, "", "issue", "--force", "dns:a")
	b.want(2, "exists", "issue", "dns:a") // leaves no copy
	b.want(0, "", "issue", "dns:b")
	b.want(2, `^dns:c has no certificate of this CA that is valid`, "revoke", "dns:c")
	b.want(0, `with 2 revoked certificates`, "revoke", "dns:a")
	b.want(0, first, "show", "ca.crl")
	b.want(1, `(?m)^a.pem .* revoked$`, "check")
	b.want(1, `(?m)^a.pem .* revoked by ca.crl, if that is of its CA: name the certificate of that, too$`, "check", "a.pem", "ca.crl")
	b.want(0, `(?m)^b.pem .* good for`, "check", "b.pem", "ca.crl")
	b.want(0, `with 3 revoked certificates`, "revoke", "dns:b")
}

// TestAListThatNoProgramTakes is not good: one of the CA before, whose name the new one has.
func TestAListThatNoProgramTakes(t *testing.T) {
	b := newBed(t)
	b.want(0, "", "init", "--name=site")
	b.want(0, "", "issue", "dns:a")
	b.want(0, "", "revoke", "dns:a")
	b.want(0, "", "init", "--name=site", "--force")
	b.want(0, "", "issue", "dns:b")
	b.want(1, `(?m)^ca.crl .* no program takes it: no list of revoked certificates: its signature is not that of its issuer: copy it again`, "check", "ca.pem", "b.pem", "ca.crl")
	b.want(0, `(?m)^ca.crl .* good for`, "check", "b.pem", "ca.crl") // its CA may be among those of the program
	must(t, os.Remove("ca.crl"))
	b.want(0, "", "revoke", "dns:b")
	b.want(0, `(?m)^ca.crl .* good for`, "check", "ca.pem", "ca.crl")
}

func TestNothingIsReplacedWithoutForce(t *testing.T) {
	b := newBed(t)
	b.want(0, "", "init")
	b.want(0, "", "issue", "dns:a")
	read := func() (all string) {
		for _, path := range []string{"ca.pem", "ca.key", "a.pem", "a.key"} {
			data, err := os.ReadFile(path)
			must(t, err)
			all += string(data)
		}
		return all
	}
	before := read()
	b.want(2, `ca.key exists: give another name, or --force to replace it$`, "init")
	b.want(2, `a.key exists: `, "issue", "dns:a")
	must(t, os.Rename("a.key", "other.key"))
	b.want(2, `a.pem exists: `, "issue", "dns:a")
	if _, err := os.Stat("a.key"); err == nil {
		t.Error("got a key without its certificate")
	}
	must(t, os.Rename("other.key", "a.key"))
	if read() != before {
		t.Error("got that files have changed")
	}
	b.want(0, "", "issue", "--force", "dns:a")
	b.want(0, "", "init", "--force")
	if after := read(); after == before || strings.Contains(after, string(b.certificate("ca.pem").RawSubject)) {
		t.Error("got the old files, want new ones")
	}
	if left, err := filepath.Glob(".tagbus*"); err != nil || len(left) > 0 {
		t.Errorf("got %v, want that no file is left", left)
	}
	b.want(1, `(?m)^a\.pem +dns:a +.* issued by none of the CAs that are looked at$`, "check")
}

func TestCommandLinesThatMakeNoSense(t *testing.T) {
	b := newBed(t)
	b.want(2, `^ca.pem is not there: make a CA with tagbus cert init, or name its folder with --dir$`, "issue", "dns:a")
	b.want(2, `is not there`, "revoke", "--renew")
	b.want(2, `^--years: got 0`, "init", "--years=0")
	b.want(2, `^--name: 65 characters, a common name has at most 64$`, "init", "--name="+strings.Repeat("x", 65))
	b.want(2, `^--name: it has characters`, "init", "--name=a\nb")
	b.want(2, `^the folder has no .pem, .key and .crl`, "check")
	b.want(2, `^--within: got -1s`, "check", "--within=-1s")
	b.want(0, "", "init", "--name=one")
	b.want(0, "", "init", "--dir=other", "--name=other")
	b.want(0, "", "issue", "--dir=other", "dns:b")
	tests := []struct {
		status int
		want   string
		args   []string
	}{
		{2, `^--days: got 0`, []string{"issue", "--days=0", "dns:a"}},
		{2, `^a b is no DNS name`, []string{"issue", "dns:a b"}},
		{2, `^:// is no URI`, []string{"issue", "://"}},
		{2, `^"uri:|^http:// is no URI`, []string{"issue", "http://"}},
		{2, `^cn:: not a name|no name`, []string{"issue", "cn:"}},
		{2, `^the name: 65 characters`, []string{"issue", strings.Repeat("x", 65)}},
		{2, `^the name: it has characters`, []string{"issue", "a\x1bb"}},
		{1, `^the name gives no name of a file: name one with --out$`, []string{"issue", "cn:ca"}},
		{1, `no such file`, []string{"issue", "--out=none/a", "dns:a"}},
		{2, `^want certificates to revoke, or --renew$`, []string{"revoke"}},
		{2, `^want certificates to revoke, or --renew$`, []string{"revoke", "--renew", "12"}},
		{2, `^--days: got 0`, []string{"revoke", "--renew", "--days=0"}},
		{2, `^none.pem is neither a file, a name nor a serial number$`, []string{"revoke", "none.pem"}},
		{2, `^ca.key has no certificate`, []string{"revoke", "ca.key"}},
		{2, `^ca.pem is the CA itself`, []string{"revoke", "ca.pem"}},
		{2, `^b.pem is of another CA`, []string{"revoke", "b.pem"}},
		{1, `^none: no such file|none.pem: no such file`, []string{"show", "none.pem"}},
	}
	for _, test := range tests {
		b.want(test.status, test.want, test.args...)
	}
	if found, err := filepath.Glob("*.crl"); err != nil || len(found) > 0 {
		t.Errorf("got %v, want no list", found)
	}
	must(t, os.WriteFile("ca.crl", pki.NewCA(t, "one").Revoke(t, time.Now()), 0o600))
	b.want(1, `^ca.crl is no list that this CA has signed`, "revoke", "--renew")
	must(t, os.Rename("other/ca.key", "ca.key"))
	b.want(1, `ca.key belongs to another CA than ca.pem`, "issue", "dns:a")
	must(t, os.Rename("b.pem", "ca.pem"))
	b.want(1, `ca.pem is no CA`, "issue", "dns:a")
}

// TestCertificatesEndWithTheirCA: not after it.
func TestCertificatesEndWithTheirCA(t *testing.T) {
	b := newBed(t)
	b.want(0, "", "init", "--years=1")
	b.want(0, "", "issue", "--days=1000", "dns:a")
	if a, ca := b.certificate("a.pem"), b.certificate("ca.pem"); !a.NotAfter.Equal(ca.NotAfter) {
		t.Errorf("got %v, want the end of the CA, %v", a.NotAfter, ca.NotAfter)
	}
}
