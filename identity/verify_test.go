// SPDX-License-Identifier: Apache-2.0

package identity_test

import (
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"tagbus/identity"
	"tagbus/internal/testkit/pki"
)

// bed is a folder with the files of a process, and the CA of all.
type bed struct {
	*testing.T
	dir     string
	ca      *pki.Issued
	own     *pki.Issued
	config  identity.Config
	reports []identity.Report
}

// newBed returns the files of uri:own.
func newBed(t *testing.T) *bed {
	ca := pki.NewCA(t, "CA")
	b := &bed{T: t, dir: t.TempDir(), ca: ca, own: ca.Issue(t, "uri:spiffe://a/own")}
	b.config = identity.Config{
		Certificate: b.write("own.pem", pki.PEM(b.own)),
		Key:         b.write("own.key", b.own.KeyPEM(t)),
		CA:          b.write("ca.pem", pki.PEM(ca)),
		Report:      func(r identity.Report) { b.reports = append(b.reports, r) },
	}
	return b
}

func (b *bed) write(name string, data []byte) string {
	b.Helper()
	return pki.Write(b, b.dir, name, data)
}

// revoke writes a list of what the CA has revoked.
func (b *bed) revoke(next time.Time, revoked ...*pki.Issued) {
	b.Helper()
	b.config.Revoked = []string{b.write("ca.crl", b.ca.Revoke(b, next, revoked...))}
}

func (b *bed) open() *identity.Store {
	b.Helper()
	s, err := identity.Open(b.config)
	must(b, err)
	b.Cleanup(s.Close)
	return s
}

func shown(all ...*pki.Issued) (certificates []*x509.Certificate) {
	for _, c := range all {
		certificates = append(certificates, c.Certificate)
	}
	return certificates
}

func TestStore_Verify_whatCountsAndWhatDoesNot(t *testing.T) {
	now := time.Now()
	b := newBed(t)
	other := pki.NewCA(t, "CA") // with the same name
	middle := b.ca.Issue(t, "cn:middle", pki.Intermediate)
	deep := []*pki.Issued{b.ca}
	for i := range 5 {
		deep = append([]*pki.Issued{deep[0].Issue(t, fmt.Sprintf("cn:deep%d", i), pki.Intermediate)}, deep...)
	}
	old := b.ca.Issue(t, "cn:old", pki.Intermediate, pki.Valid(now.Add(-2*time.Hour), now.Add(-time.Hour)))
	bad, badMiddle := b.ca.Issue(t, "dns:bad"), b.ca.Issue(t, "cn:bad", pki.Intermediate)
	b.revoke(now.Add(time.Hour), bad, badMiddle)
	middleList := b.write("middle.crl", middle.Revoke(t, now.Add(time.Hour), middle.Issue(t, "dns:x"))) // of an issuer that is in no file
	badLeaf := middle.Issue(t, "dns:bad leaf")
	forged := pki.NewCA(t, "middle") // has no say in what middle has issued
	forgedList := b.write("forged.crl", forged.Revoke(t, now.Add(time.Hour), badLeaf))
	realList := b.write("real.crl", middle.Revoke(t, now.Add(time.Hour), badLeaf))
	b.config.Revoked = append(b.config.Revoked, middleList, forgedList)
	plain := b.open()
	b.config.Revoked = append(b.config.Revoked, realList)
	strict := b.open()

	usage := func(u ...x509.ExtKeyUsage) pki.Change {
		return func(c *x509.Certificate) { c.ExtKeyUsage = u }
	}
	tests := []struct {
		name  string
		shown []*x509.Certificate
		want  string
		err   error
	}{
		{"a certificate of the CA", shown(b.ca.Issue(t, "uri:spiffe://a/b")), "uri:spiffe://a/b", nil},
		{"and the CA behind it", shown(b.ca.Issue(t, "dns:a"), b.ca), "dns:a", nil},
		{"by way of an intermediate", shown(middle.Issue(t, "dns:a"), middle), "dns:a", nil},
		{"which is not shown", shown(middle.Issue(t, "dns:a")), "", identity.ErrUnknownCA},
		{"intermediates in any order", shown(deep[2].Issue(t, "dns:a"), deep[4], deep[2], deep[3]), "dns:a", nil},
		{"none", nil, "", identity.ErrNoCertificate},
		{"of another CA with the same name", shown(other.Issue(t, "dns:a"), other), "", identity.ErrUnknownCA},
		{"that signed itself", shown(pki.NewCA(t, "self")), "", identity.ErrUnknownCA},
		{"expired", shown(b.ca.Issue(t, "dns:a", pki.Valid(now.Add(-2*time.Hour), now.Add(-time.Second)))), "", identity.ErrExpired},
		{"not yet valid", shown(b.ca.Issue(t, "dns:a", pki.Valid(now.Add(time.Minute), now.Add(time.Hour)))), "", identity.ErrNotYetValid},
		{"of an intermediate that is expired", shown(old.Issue(t, "dns:a"), old), "", identity.ErrExpired},
		{"revoked", shown(bad), "", identity.ErrRevoked},
		{"of an intermediate that is revoked", shown(badMiddle.Issue(t, "dns:a"), badMiddle), "", identity.ErrRevoked},
		{"revoked by a list that its issuer has not signed", shown(badLeaf, middle), "dns:bad leaf", nil},
		{"issued by what is no CA", shown(b.own.Issue(t, "dns:a"), b.own), "", identity.ErrUnknownCA},
		{"without a name", shown(b.ca.Issue(t, "")), "", identity.ErrNoName},
		{"for programs", shown(b.ca.Issue(t, "dns:a", usage(x509.ExtKeyUsageCodeSigning))), "", identity.ErrUsage},
		{"for servers only", shown(b.ca.Issue(t, "dns:a", usage(x509.ExtKeyUsageServerAuth))), "", identity.ErrUsage},
		{"for all", shown(b.ca.Issue(t, "dns:a", usage())), "dns:a", nil},
		{"a chain as long as may be", shown(deep[2].Issue(t, "dns:a"), deep[2], deep[3], deep[4]), "dns:a", nil},
		{"a chain that is longer", shown(deep[1].Issue(t, "dns:a"), deep[1], deep[2], deep[3], deep[4]), "", identity.ErrLongChain},
		{"more certificates than a chain has", shown(b.own, b.own, b.own, b.own, b.own, b.own), "", identity.ErrLongChain},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			peer, err := plain.Verify(test.shown, x509.ExtKeyUsageClientAuth)
			var chain *identity.ChainError
			switch {
			case !errors.Is(err, test.err) || err != nil && !errors.As(err, &chain):
				t.Errorf("got %v, want a ChainError with %v", err, test.err)
			case err == nil && (peer.Principal.String() != test.want || !peer.Chain[len(peer.Chain)-1].Equal(b.ca.Certificate)):
				t.Errorf("got %v, want %s and a chain to the CA", peer, test.want)
			case err == nil && plain.Check(peer) != nil:
				t.Errorf("got %v, want that it may stay", plain.Check(peer))
			}
		})
	}
	if _, err := strict.Verify(shown(badLeaf, middle), x509.ExtKeyUsageClientAuth); !errors.Is(err, identity.ErrRevoked) {
		t.Errorf("got %v, want that the list of an intermediate counts", err)
	}
}

// TestStore_Verify_hostileCertificates: they are refused at once, with a text that is short.
func TestStore_Verify_hostileCertificates(t *testing.T) {
	b := newBed(t)
	s := b.open()
	many := make([]string, 10_000)
	for i := range many {
		many[i] = fmt.Sprintf("host%d.example.org", i)
	}
	tests := []struct {
		name string
		c    *pki.Issued
		want error
	}{
		{"thousands of names", b.ca.Issue(t, "", func(c *x509.Certificate) { c.DNSNames = many }), identity.ErrTooManyNames},
		{"a huge name", b.ca.Issue(t, "cn:"+strings.Repeat("x", 100_000)), identity.ErrLongName},
		{"a name that clears the screen", b.ca.Issue(t, "cn:\x1b[2J\nfelix"), identity.ErrUnsafeName},
		{"a huge name of another issuer", pki.NewCA(t, strings.Repeat("x", 100_000)).Issue(t, "dns:a"), identity.ErrUnknownCA},
		{"a name with controls of another issuer", pki.NewCA(t, "\x1b[2J\n").Issue(t, "dns:a"), identity.ErrUnknownCA},
	}
	for _, test := range tests {
		_, err := s.Verify(shown(test.c), x509.ExtKeyUsageAny)
		if !errors.Is(err, test.want) || strings.ContainsAny(err.Error(), "\x1b\n") || len(err.Error()) > 500 {
			t.Errorf("%s: got %.600q, want %v in a short line", test.name, err, test.want)
		}
	}
}

func TestStore_Verify_aListThatIsNotRenewedOpensNoConnections(t *testing.T) {
	b := newBed(t)
	now := time.Now()
	b.config.Now = func() time.Time { return now }
	bad, good := b.ca.Issue(t, "dns:bad"), b.ca.Issue(t, "dns:good")
	b.revoke(now.Add(time.Hour))
	s := b.open()
	badPeer, err := s.Verify(shown(bad), x509.ExtKeyUsageAny)
	must(t, err)
	goodPeer, err := s.Verify(shown(good), x509.ExtKeyUsageAny)
	must(t, err)

	b.revoke(now.Add(time.Hour), bad)
	must(t, s.Reload())
	now = now.Add(2 * time.Hour)
	if _, err := s.Verify(shown(good), x509.ExtKeyUsageAny); !errors.Is(err, identity.ErrStaleList) {
		t.Errorf("got %v, want that the list is too old", err)
	}
	if _, err := s.Verify(shown(bad), x509.ExtKeyUsageAny); !errors.Is(err, identity.ErrRevoked) {
		t.Errorf("got %v, want that what is revoked stays so", err)
	}
	if err := s.Check(goodPeer); err != nil {
		t.Errorf("got %v, want that a connection stays", err)
	}
	if err := s.Check(badPeer); !errors.Is(err, identity.ErrRevoked) {
		t.Errorf("got %v, want that its connection ends", err)
	}
	must(t, s.Reload())
	if last := b.reports[len(b.reports)-1]; last.Loaded || len(last.Warnings) != 2 || !errors.Is(last.Warnings[0], identity.ErrExpired) || !errors.Is(last.Warnings[1], identity.ErrStaleList) {
		t.Errorf("got %+v, want warnings of the list and of what follows", last)
	}
}

func TestStore_Check_endsConnections(t *testing.T) {
	b := newBed(t)
	now := time.Now()
	b.config.Now = func() time.Time { return now }
	s := b.open()
	peer, err := s.Verify(shown(b.ca.Issue(t, "dns:a")), x509.ExtKeyUsageAny)
	must(t, err)
	next := pki.NewCA(t, "next CA")
	b.write("ca.pem", pki.PEM(b.ca, next))
	must(t, s.Reload())
	if err := s.Check(peer); err != nil {
		t.Errorf("with both CAs: got %v", err)
	}
	b.write("ca.pem", pki.PEM(next))
	must(t, s.Reload())
	if err := s.Check(peer); !errors.Is(err, identity.ErrUnknownCA) {
		t.Errorf("without its CA: got %v, want ErrUnknownCA", err)
	}
	b.write("ca.pem", pki.PEM(b.ca))
	must(t, s.Reload())
	if now = now.Add(25 * time.Hour); !errors.Is(s.Check(peer), identity.ErrExpired) {
		t.Errorf("a day later: got %v, want ErrExpired", s.Check(peer))
	}
}

func BenchmarkVerify(b *testing.B) {
	ca := pki.NewCA(b, "CA")
	middle := ca.Issue(b, "cn:middle", pki.Intermediate)
	own := ca.Issue(b, "dns:own")
	dir := b.TempDir()
	s, err := identity.Open(identity.Config{
		Certificate: pki.Write(b, dir, "own.pem", pki.PEM(own)),
		Key:         pki.Write(b, dir, "own.key", own.KeyPEM(b)),
		CA:          pki.Write(b, dir, "ca.pem", pki.PEM(ca)),
	})
	must(b, err)
	defer s.Close()
	chain := shown(middle.Issue(b, "dns:a"), middle)
	peer, err := s.Verify(chain, x509.ExtKeyUsageAny)
	must(b, err)
	b.Run("verify", func(b *testing.B) {
		for b.Loop() {
			_, err = s.Verify(chain, x509.ExtKeyUsageAny)
		}
	})
	b.Run("check", func(b *testing.B) {
		for b.Loop() {
			err = s.Check(peer)
		}
	})
	must(b, err)
}
