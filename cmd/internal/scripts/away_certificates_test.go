// SPDX-License-Identifier: Apache-2.0

package scripts_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tagbus/internal/testkit"
	"tagbus/internal/testkit/away"
)

// issued makes a CA with a certificate, a list of revoked ones and a policy in a folder.
func issued(t *testing.T, folder string) {
	t.Helper()
	run(t, "init", "tagbus", "cert", "init", "--dir", folder, "--name", "test").finish(0)
	run(t, "issue", "tagbus", "cert", "issue", "cn:x", "--dir", folder, "--out", filepath.Join(folder, "x")).finish(0)
	run(t, "list", "tagbus", "cert", "revoke", "--renew", "--dir", folder).finish(0)
	testkit.Must(t, os.WriteFile(filepath.Join(folder, "acl.json"), []byte(`{"rules":[{"who":"*","publish":"*","subscribe":"*","describe":"*"}]}`), 0o600))
}

// copied copies what is issued to another folder.
func copied(t *testing.T, from, to string) {
	t.Helper()
	for _, name := range []string{"x.pem", "x.key", "ca.pem", "ca.crl", "acl.json"} {
		data, err := os.ReadFile(filepath.Join(from, name))
		testkit.Must(t, err)
		testkit.Must(t, os.WriteFile(filepath.Join(to, name), data, 0o600))
	}
}

// TestCertificatesThatAreAway: a command says which file it waits for, and the flag of it. One that
// looks ends after --timeout, others with a signal.
func TestCertificatesThatAreAway(t *testing.T) {
	notShort(t)
	t.Parallel()
	m, local := away.New(t), t.TempDir()
	issued(t, local)
	copied(t, local, m.Path())
	m.Goes()
	const files = " --backend tls --cert AWAY/x.pem --ca LOCAL/ca.pem --bus LOCAL"
	for _, test := range []struct{ command, waits string }{
		{"tagbus ls -v --timeout 500ms" + files, "x.pem (--cert)"},
		{"tagbus check --timeout 500ms" + files, "x.pem (--cert)"},
		{"tagbus top --once --timeout 500ms" + files, "x.pem (--cert)"},
		{"tagbus info x --timeout 500ms" + files, "x.pem (--cert)"},
		{"tagbus losses --timeout 500ms" + files, "x.pem (--cert)"},
		{"tagbus hz 1 --timeout 500ms" + files, "x.pem (--cert)"},
		{"tagbus web --listen 127.0.0.1:0 --timeout 500ms" + files, "x.pem (--cert)"},
		{"tagbus targets --timeout 500ms --key AWAY/x.key --backend tls --cert LOCAL/x.pem --ca LOCAL/ca.pem --bus LOCAL", "x.key (--key)"},
		{"tagbus ls -v --timeout 500ms --backend tls --cert LOCAL/x.pem --ca AWAY/ca.pem --bus LOCAL", "ca.pem (--ca)"},
		{"tagbus ls -v --timeout 500ms --acl AWAY/acl.json --bus LOCAL", "acl.json (--acl)"},
		{"publisher --tags 1 --emulate 16" + files, "x.pem (--cert)"},
		{"publisher --tags 1 --emulate 16 --backend tls --cert LOCAL/x.pem --ca LOCAL/ca.pem --revoked AWAY/ca.crl --bus LOCAL", "ca.crl (--revoked)"},
		{"subscriber --tags 1" + files, "x.pem (--cert)"},
		{"tagbus record 1 LOCAL/a.rec" + files, "x.pem (--cert)"},
		{"tagbus sub 1" + files, "x.pem (--cert)"},
		{"tagbus pub 1 --size 1" + files, "x.pem (--cert)"},
	} {
		t.Run(test.command, func(t *testing.T) {
			t.Parallel()
			words := strings.Fields(strings.NewReplacer("AWAY", m.Path(), "LOCAL", local).Replace(test.command))
			p := run(t, words[0], words...)
			says := "waiting for .*/" + strings.NewReplacer("(", ".", ")", ".").Replace(test.waits) + ": its file system does not answer"
			if strings.Contains(test.command, "--timeout") {
				p.await("was not asked in 500ms .--timeout.: " + says)
			} else {
				p.await(says + ", since ")
				p.signal(syscall.SIGTERM)
			}
			p.finish(1)
		})
	}
}

// TestCertificatesThatGoAway later: connections go on with those that were read, it is said once, and
// once that they are back.
func TestCertificatesThatGoAway(t *testing.T) {
	notShort(t)
	t.Parallel()
	m, local := away.New(t), t.TempDir()
	issued(t, local)
	copied(t, local, m.Path())
	at := func(folder string) []string {
		return []string{"--bus", local, "--backend", "tls", "--cert", folder + "/x.pem", "--ca", folder + "/ca.pem", "--revoked", folder + "/ca.crl", "--acl", folder + "/acl.json"}
	}
	pub := run(t, "publisher", append([]string{"publisher", "--tags", "1", "--emulate", "16", "--rate", "100"}, at(m.Path())...)...)
	pub.await("publishes on ")
	m.Goes()
	pub.await("waiting for .*/x.pem .--cert.: its file system does not answer, since ")
	pub.await("waiting for .*/acl.json .--acl.: its file system does not answer, since ")
	for range 2 {
		run(t, "subscriber", append([]string{"subscriber", "--tags", "1", "--count", "10"}, at(local)...)...).finish(0)
	}
	m.Returns()
	pub.await("/x.pem .--cert.: its file system answers again, after ")
	pub.await("/acl.json .--acl.: its file system answers again, after ")
	if n := strings.Count(pub.text(), "x.pem (--cert): its file system does not answer"); n != 1 {
		t.Errorf("got it %d times that a file is waited for, want it once", n)
	}
	m.Goes()
	pub.signal(syscall.SIGTERM)
	pub.finish(0)
}
