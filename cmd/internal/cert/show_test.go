// SPDX-License-Identifier: Apache-2.0

package cert_test

import (
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"tagbus/internal/testkit/pki"
)

func TestShow(t *testing.T) {
	b := newBed(t)
	b.want(0, "", "init", "--name=site")
	b.want(0, "", "issue", "spiffe://a/b")
	b.want(0, "", "revoke", "b.pem")
	serial := b.certificate("b.pem").SerialNumber.Text(16)
	b.want(0, `(?s)^b.pem: certificate
  names    uri:spiffe://a/b
  issuer   CN=site
  serial   `+serial+`
  begins   2.*Z
  ends     2.*Z
  for      server, client
  SHA-256  [0-9a-f]{64}

b.key: private key, ECDSA P-256
  mode     0600

ca.pem: certificate
  subject  CN=site
.*
  for      CA
.*

ca.crl: list of revoked certificates
  issuer   CN=site
  number   1
  begins   .*
  ends     .*
  revoked  1 certificate
           `+serial+`
$`, "show", "b.pem", "b.key", "ca.pem", "ca.crl")
	b.want(0, `^\{"file":"b.pem","kind":"certificate","names":\["uri:spiffe://a/b"\],"issuer":"CN=site",.*"for":\["server","client"\],"sha256":"[0-9a-f]+"\}\n$`, "show", "--json", "b.pem")
	must(t, os.Chmod("b.key", 0o644))
	b.want(0, `wrong +other users may read`, "show", "b.key")
	der, _ := pem.Decode(func() []byte { data, err := os.ReadFile("ca.crl"); must(t, err); return data }())
	must(t, os.WriteFile("der.crl", der.Bytes, 0o600))
	b.want(0, `^der.crl: list of revoked`, "show", "der.crl")
	hostile := pki.NewCA(t, "\x1b[2J\n")
	must(t, os.WriteFile("hostile.pem", pki.PEM(hostile, hostile.Issue(t, "cn:\x1b[2J")), 0o600))
	if out := b.want(0, "wrong", "show", "hostile.pem"); strings.Contains(out, "\x1b") {
		t.Errorf("got %q, want what is safe to show", out)
	}
	must(t, os.WriteFile("text.pem", []byte("hello"), 0o600))
	must(t, os.WriteFile("half.pem", pki.PEM(hostile)[:100], 0o600))
	must(t, os.WriteFile("bad.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("x")}), 0o600))
	b.want(1, `(?s)b.pem: certificate.*text.pem: no certificate, private key or list.*half.pem: block 1 is not whole.*bad.pem: CERTIFICATE 1 cannot be read`, "show", "b.pem", "text.pem", "half.pem", "bad.pem")
}

func TestCheck(t *testing.T) {
	b := newBed(t)
	b.want(0, "", "init", "--name=site")
	b.want(0, "", "issue", "--days=100", "dns:a")
	b.want(0, "", "issue", "--days=20", "dns:b")
	b.want(0, "", "revoke", "--days=200", "12")
	b.want(1, `^FILE +WHAT +ENDS +STATE
b.pem +dns:b +2.*Z +ends in 19 days
a.pem +dns:a +2.*Z +good for 99 days
ca.crl +revoked by CN=site +2.*Z +good for 199 days
ca.pem +CA CN=site +2.*Z +good for 365\d days
a.key +private key +- +good
b.key +private key +- +good
ca.key +private key +- +good
$`, "check")
	b.want(0, `good for 19 days`, "check", "--within=24h")
	b.want(1, `ends in`, "check", "--within=4000h", "ca.crl", "ca.pem", "a.pem")
	b.want(0, `^\{"file":"a.pem","what":"dns:a","ends":"2.*Z","state":"good for 99 days","good":true\}\n$`, "check", "--json", "a.pem")
	must(t, os.Chmod("a.key", 0o640))
	b.want(0, ``, "check", "a.key")
	must(t, os.Chmod("a.key", 0o604))
	b.want(1, `a.key +private key +- +other users may read`, "check", "a.key")
	b.want(0, "", "revoke", "a.pem")
	b.want(1, `a.pem +dns:a +.* revoked`, "check", "a.pem", "ca.pem", "ca.crl")
	must(t, os.Rename("b.key", "a.key"))
	b.want(1, `a.pem +dns:a +.* the key belongs to another certificate than the one in a.key`, "check", "a.pem", "a.key")
	now := time.Now()
	ca := pki.NewCA(t, "x")
	must(t, os.WriteFile("old.pem", pki.PEM(ca.Issue(t, "dns:old", pki.Valid(now.Add(-2*time.Hour), now.Add(-time.Hour)))), 0o600))
	must(t, os.WriteFile("new.pem", pki.PEM(ca.Issue(t, "dns:new", pki.Valid(now.Add(time.Hour), now.Add(2*time.Hour)))), 0o600))
	must(t, os.WriteFile("no.pem", pki.PEM(ca.Issue(t, "")), 0o600))
	b.want(1, `old.pem +dns:old .* has ended\n`, "check", "old.pem")
	b.want(1, `new.pem +dns:new .* begins at .*: compare the clocks\n`, "check", "new.pem")
	b.want(1, `no.pem .* no peer takes it: no name`, "check", "--within=0s", "no.pem")
	b.want(1, `none.pem .* no such file`, "check", "none.pem")
}

// TestOpenSSLReadsTheFiles: other programs take what the commands write.
func TestOpenSSLReadsTheFiles(t *testing.T) {
	openssl, err := exec.LookPath("openssl")
	if err != nil {
		t.Skip("needs openssl")
	}
	b := newBed(t)
	b.want(0, "", "init", "--name=site")
	for _, name := range []string{"spiffe://cern.ch/daq/felix-07", "host.cern.ch", "cn:shift"} {
		b.want(0, "", "issue", name)
	}
	b.want(0, "", "revoke", "shift.pem")
	call := func(status int, want string, args ...string) {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), openssl, args...).CombinedOutput()
		failed := (*exec.ExitError)(nil)
		if err != nil && !errors.As(err, &failed) || (err == nil) != (status == 0) || !regexp.MustCompile(want).Match(out) {
			t.Errorf("openssl %v: got %v and\n%s\nwant %s", args, err, out, want)
		}
	}
	for _, purpose := range []string{"sslserver", "sslclient"} {
		call(0, "felix-07.pem: OK", "verify", "-x509_strict", "-purpose", purpose, "-CAfile", "ca.pem", "felix-07.pem")
	}
	call(0, "(?s)host.cern.ch.pem: OK", "verify", "-x509_strict", "-verify_hostname", "host.cern.ch", "-CAfile", "ca.pem", "host.cern.ch.pem")
	call(0, `(?s)Issuer: CN ?= ?site.*ASN1 OID: prime256v1.*TLS Web Server Authentication, TLS Web Client Authentication.*X509v3 Subject Alternative Name: critical\s+URI:spiffe://cern.ch/daq/felix-07`, "x509", "-noout", "-text", "-in", "felix-07.pem")
	call(0, `(?s)Certificate Sign, CRL Sign.*CA:TRUE, pathlen:0`, "x509", "-noout", "-text", "-in", "ca.pem")
	call(0, `verify OK`, "crl", "-noout", "-CAfile", "ca.pem", "-in", "ca.crl")
	call(0, `OK`, "verify", "-x509_strict", "-crl_check", "-CAfile", "ca.pem", "-CRLfile", "ca.crl", "felix-07.pem")
	call(1, `certificate revoked`, "verify", "-crl_check", "-CAfile", "ca.pem", "-CRLfile", "ca.crl", "shift.pem")
	call(0, `Key is valid`, "pkey", "-noout", "-check", "-in", "felix-07.key")

	// And the other way: a CA and a certificate of openssl.
	must(t, os.Mkdir("ca", 0o700))
	call(0, "", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "ca/ca.key", "-out", "ca/ca.pem", "-subj", "/CN=openssl", "-days", "90")
	call(0, "", "req", "-new", "-newkey", "rsa:2048", "-nodes", "-keyout", "rsa.key", "-out", "rsa.csr", "-subj", "/CN=rsa", "-addext", "subjectAltName=URI:spiffe://a/rsa")
	must(t, os.Chmod("rsa.key", 0o600))
	call(0, "", "x509", "-req", "-in", "rsa.csr", "-CA", "ca/ca.pem", "-CAkey", "ca/ca.key", "-copy_extensions", "copy", "-days", "80", "-out", "rsa.pem")
	if s := b.open("rsa"); s.Principal().String() != "uri:spiffe://a/rsa" {
		t.Errorf("got %v, want the URI", s.Principal())
	}
	b.want(0, fmt.Sprintf("certificate of %s", "dns:x"), "issue", "--dir=ca", "dns:x")
	b.open("x")
	b.want(0, "private key, RSA 2048", "show", "rsa.key")
}
