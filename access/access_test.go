// SPDX-License-Identifier: Apache-2.0

package access_test

import (
	"crypto/x509"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"tagbus/access"
	"tagbus/acl"
	"tagbus/identity"
	"tagbus/internal/testkit/pki"
	"tagbus/tags"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// chainOf returns what a peer with a certificate shows.
func chainOf(c *pki.Issued) []*x509.Certificate { return []*x509.Certificate{c.Certificate} }

// write replaces a file.
func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestAccess_aPolicyWithoutCertificates(t *testing.T) {
	file := filepath.Join(t.TempDir(), "policy.json")
	write(t, file, `{"rules":[{"who":"anonymous","subscribe":"1-2"}]}`)
	var told []error
	a, err := access.Open(access.Config{Policy: file, Report: func(err error) { told = append(told, err) }})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	changes := 0
	stop := a.Watch(func() { changes++ })
	peer, err := a.Identify(nil)
	if err != nil || !peer.Principal.IsAnonymous() || a.Check(peer) != nil || !a.Self().IsAnonymous() || a.Identity() != nil {
		t.Fatalf("got %v, %v, want an anonymous peer", peer, err)
	}
	may, mayNot := a.Split(peer.Principal, acl.Subscribe, tags.Of(2, 3))
	if !may.Equal(tags.Of(2)) || !mayNot.Equal(tags.Of(3)) || !a.Allowed(peer.Principal, acl.Publish).IsEmpty() {
		t.Errorf("got %v and %v, want 2 and 3, and nothing to publish", may, mayNot)
	}
	if text := a.Explain(peer.Principal, acl.Subscribe, 3); !strings.Contains(text, "rule 1") {
		t.Errorf("got %q, want the nearest rule", text)
	}
	write(t, file, `{"rules":[{"who":"anonymous","subscribe":"1-3"}]}`)
	if err := a.Reload(); err != nil || changes != 1 || a.Policy().Rules() != 1 {
		t.Errorf("got %v and %d changes, want 1", err, changes)
	}
	if may, _ := a.Split(peer.Principal, acl.Subscribe, tags.Of(2, 3)); !may.Equal(tags.Of(2, 3)) {
		t.Errorf("got %v after the change, want both", may)
	}
	write(t, file, `{"rules":[{"who":"anonymous","subscribe":}]}`)
	if err := a.Reload(); err == nil || changes != 1 || !a.Failing() {
		t.Errorf("got %v and %d changes for a broken file, want an error and no change", err, changes)
	}
	if may, _ := a.Split(peer.Principal, acl.Subscribe, tags.Of(3)); !may.Equal(tags.Of(3)) {
		t.Errorf("got %v with a broken file, want what was read before", may)
	}
	stop()
	write(t, file, `{"rules":[]}`)
	if err := a.Reload(); err != nil || changes != 1 || a.Failing() {
		t.Errorf("got %v and %d changes after stop, want no more", err, changes)
	}
	broken := 0
	for _, err := range told {
		if err != nil {
			broken++
		}
	}
	if broken == 0 {
		t.Errorf("got reports %v, want one of the broken file", told)
	}
}

func TestAccess_certificatesWithoutAPolicy(t *testing.T) {
	dir, ca, other := t.TempDir(), pki.NewCA(t, "cn:site"), pki.NewCA(t, "cn:other")
	own, peer, stranger := ca.Issue(t, "dns:own"), ca.Issue(t, "dns:peer"), other.Issue(t, "dns:peer")
	caFile := pki.Write(t, dir, "ca.pem", pki.PEM(ca))
	a, err := access.Open(access.Config{Identity: identity.Config{
		Certificate: pki.Write(t, dir, "own.pem", pki.PEM(own)),
		Key:         pki.Write(t, dir, "own.key", own.KeyPEM(t)),
		CA:          caFile,
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if a.Self().String() != "dns:own" || a.Policy() != nil {
		t.Errorf("got %v, want dns:own and no policy", a.Self())
	}
	who, err := a.Identify(chainOf(peer))
	if err != nil || who.Principal.String() != "dns:peer" || a.Check(who) != nil {
		t.Fatalf("got %v, %v, want dns:peer", who, err)
	}
	if may, mayNot := a.Split(who.Principal, acl.Publish, tags.Of(1)); !may.Equal(tags.Of(1)) || !mayNot.IsEmpty() || !a.Allowed(who.Principal, acl.Send).Equal(tags.Everything()) {
		t.Errorf("got %v and %v, want that all is allowed", may, mayNot)
	}
	if _, err := a.Identify(chainOf(stranger)); !errors.Is(err, identity.ErrUnknownCA) {
		t.Errorf("got %v for another CA, want ErrUnknownCA", err)
	}
	changes := 0
	defer a.Watch(func() { changes++ })()
	pki.Write(t, dir, "ca.pem", pki.PEM(other))
	if err := a.Reload(); err != nil || changes != 1 || a.Failing() {
		t.Errorf("got %v and %d changes, want 1", err, changes)
	}
	if err := a.Check(who); !errors.Is(err, identity.ErrUnknownCA) {
		t.Errorf("got %v when the CA has left the file, want ErrUnknownCA", err)
	}
}

func TestOpen_needsOneOfThem(t *testing.T) {
	if _, err := access.Open(access.Config{}); !errors.Is(err, access.ErrInvalidConfig) {
		t.Errorf("got %v, want ErrInvalidConfig", err)
	}
	if _, err := access.Open(access.Config{Identity: identity.Config{CA: "ca.pem"}}); !errors.Is(err, identity.ErrInvalidConfig) {
		t.Errorf("got %v, want that of package identity", err)
	}
	if _, err := access.Open(access.Config{Policy: filepath.Join(t.TempDir(), "none.json")}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want ErrNotExist", err)
	}
}
