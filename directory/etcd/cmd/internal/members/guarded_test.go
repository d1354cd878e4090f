// SPDX-License-Identifier: Apache-2.0

package members_test

import (
	"context"
	"crypto/x509"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tagbus/directory/etcd/member"
	"tagbus/internal/testkit/pki"
)

// certificate issues one for this host, and returns the flags that name it.
func certificate(t *testing.T, ca *pki.Issued, name string) []string {
	t.Helper()
	issued := ca.Issue(t, name, func(c *x509.Certificate) { c.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)} })
	dir := t.TempDir()
	return []string{
		"--cert", pki.Write(t, dir, "cert.pem", pki.PEM(issued)),
		"--key", pki.Write(t, dir, "key.pem", issued.KeyPEM(t)), "--ca", pki.Write(t, dir, "ca.pem", pki.PEM(ca)),
	}
}

// An operator whose certificate --admin names, and the owner of the folder, administer a directory.
// Others are told what is missing.
func TestWhoAdministers(t *testing.T) {
	ca := pki.NewCA(t, "cn:ca")
	at, data := freeAddress(t), t.TempDir()
	operator, other := certificate(t, ca, "cn:operator"), certificate(t, ca, "cn:publisher")
	runMember(t, append(certificate(t, ca, "dns:directory-1"), "--data", data, "--listen", at, "--name", "first", "--admin", "cn:operator")...)
	snapshot := filepath.Join(t.TempDir(), "s")
	for _, words := range [][]string{{"status"}, {"compact"}, {"remove", "x"}, {"snapshot", snapshot}} {
		code, out, err := do(t, append(append(words, "--at", at), other...)...)
		if code != 1 || !strings.Contains(err, "cn:publisher") || !strings.Contains(err, "--admin") || !strings.Contains(err, "run this command with --cert of an administrator") {
			t.Errorf("%v as another: got %d, %s%s, want 1 and what is missing", words, code, out, err)
		}
	}
	for _, as := range [][]string{append(operator, "--at", at), {"--data", data}} {
		if code, out, err := do(t, append([]string{"status"}, as...)...); code != 0 || !strings.Contains(out, "nothing is wrong") {
			t.Errorf("%v: got %d, %s%s, want a member with which nothing is wrong", as, code, out, err)
		}
		if code, out, err := do(t, append([]string{"compact"}, as...)...); code != 0 || !strings.Contains(out, "first: ") {
			t.Errorf("%v: got %d, %s%s, want the member to be put in order", as, code, out, err)
		}
	}
	if code, _, err := do(t, "snapshot", snapshot, "--data", data); code != 0 {
		t.Errorf("snapshot: got %d, %s, want 0", code, err)
	}
	if code, _, err := do(t, "status", "--data", t.TempDir()); code != 1 || !strings.Contains(err, "give the folder of a member that runs") {
		t.Errorf("another folder: got %d, %s, want 1 and what to do", code, err)
	}
}

// Authentication that was switched on locks programs out. status names it.
func TestAuthenticationIsSwitchedOn(t *testing.T) {
	data := t.TempDir()
	runMember(t, "--data", data, "--listen", freeAddress(t), "--name", "first")
	client, err := member.DialFolder(data)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := client.UserAdd(ctx, "root", "secret"); err != nil {
		t.Fatal(err)
	}
	if _, err := client.UserGrantRole(ctx, "root", "root"); err != nil {
		t.Fatal(err)
	}
	if _, err := client.AuthEnable(ctx); err != nil {
		t.Fatal(err)
	}
	code, out, said := do(t, "status", "--data", data)
	if code != 1 || !strings.Contains(said, "etcd's own authentication is switched on") {
		t.Errorf("got %d, %s%s, want 1 and that it is switched on", code, out, said)
	}
}

// A policy that cannot be read again is not what decides. status names it, until it is mended.
func TestAPolicyThatCannotBeRead(t *testing.T) {
	const rules = `{"rules": [{"who": "cn:publisher", "publish": "*"}]}`
	data, dir := t.TempDir(), t.TempDir()
	file := pki.Write(t, dir, "policy.json", []byte(rules))
	m, err := member.Start(t.Context(), member.Config{Data: data, Listen: freeAddress(t), Name: "first", Policy: file, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = m.Close() }()
	if err := m.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		rules, want string
		code        int
	}{
		{rules[1:], "wrong: first: its certificates or its policy cannot be read again", 1},
		{rules + " ", "nothing is wrong", 0},
	} {
		pki.Write(t, dir, "policy.json", []byte(c.rules))
		if err := m.Reload(); (err != nil) != (c.code == 1) {
			t.Fatalf("Reload: got %v", err)
		}
		if code, out, said := do(t, "status", "--data", data); code != c.code || !strings.Contains(out, c.want) {
			t.Errorf("got %d, %s%s, want %d and %q", code, out, said, c.code, c.want)
		}
	}
}
