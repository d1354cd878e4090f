// SPDX-License-Identifier: Apache-2.0

package signed_test

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/big"
	"net/netip"
	"net/url"
	"testing"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/directory/directorytest"
	"tagbus/bus/directory/memory"
	"tagbus/bus/directory/signed"
	"tagbus/identity"
	"tagbus/internal/testkit/pki"
	"tagbus/tags"
)

// look returns what a reader says of an entry.
func look(tb testing.TB, x *site, reader *identity.Store, e directory.Entry) (directory.Entry, error) {
	tb.Helper()
	storage := memory.New()
	_, err := storage.Announce(e)
	must(tb, err)
	d := signed.Wrap(storage, signed.Config{Identity: reader, Access: x})
	defer func() { must(tb, d.Close()) }()
	entries, err := d.List()
	if len(entries) == 0 {
		return directory.Entry{}, err
	}
	return entries[0], err
}

// full returns an entry with all fields set.
func full(tb testing.TB) directory.Entry {
	tb.Helper()
	e := directorytest.Entry("Yr5WtNXHCZ3zXmCHsLzGTk", 1, 2, 9)
	e.Since = time.Date(2026, 11, 24, 12, 0, 0, 7, time.UTC)
	e.Monitor = netip.MustParseAddrPort("[2001:db8::7]:9100")
	e.Ways = []directory.Way{{Backend: "shm", Addresses: []netip.AddrPort{netip.MustParseAddrPort("127.4.5.6:9101")}}}
	return e
}

// issue returns a certificate with a key of any kind.
func issue(tb testing.TB, x *site, key crypto.Signer) *tls.Certificate {
	tb.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(7), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		URIs: []*url.URL{{Scheme: "spiffe", Host: "x", Path: "/p"}},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, x.ca.Certificate, key.Public(), x.ca.Key)
	must(tb, err)
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// TestDirectory_keysOfAllKindsSign what a reader takes.
func TestDirectory_keysOfAllKindsSign(t *testing.T) {
	x := newSite(t, everything)
	reader := x.as("cn:reader").store
	p256, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	p521, err := ecdsa.GenerateKey(elliptic.P521(), rand.Reader)
	must(t, err)
	rsa2048, err := rsa.GenerateKey(rand.Reader, 2048)
	must(t, err)
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	must(t, err)
	for name, key := range map[string]crypto.Signer{"P-256": p256, "P-521": p521, "RSA": rsa2048, "Ed25519": edwards} {
		e := entry(t, full(t), issue(t, x, key), time.Now().UnixNano())
		if shown, err := look(t, x, reader, e); err != nil || shown.Signer != "uri:spiffe://x/p" {
			t.Errorf("%s: got %+v, %v, want it shown", name, shown, err)
		}
	}
	other := issue(t, x, edwards)
	other.PrivateKey = p521 // of another certificate
	if _, err := look(t, x, reader, entry(t, full(t), other, time.Now().UnixNano())); !errors.Is(err, signed.ErrSignature) {
		t.Errorf("got %v, want ErrSignature: the key is not that of the certificate", err)
	}
	if _, err := signed.Sign(full(t), &tls.Certificate{Certificate: [][]byte{{1}}, PrivateKey: 7}, 1); !errors.Is(err, signed.ErrKey) {
		t.Errorf("got %v, want ErrKey", err)
	}
}

// TestDirectory_aChainWithAnIntermediate has it in the proof.
func TestDirectory_aChainWithAnIntermediate(t *testing.T) {
	x := newSite(t, everything)
	reader := x.as("cn:reader").store
	between := x.ca.Issue(t, "cn:between", pki.Intermediate)
	leaf := between.Issue(t, "cn:p")
	pair := &tls.Certificate{Certificate: [][]byte{leaf.Raw, between.Raw}, PrivateKey: leaf.Key}
	if shown, err := look(t, x, reader, entry(t, full(t), pair, time.Now().UnixNano())); err != nil || shown.Signer != "cn:p" {
		t.Errorf("got %+v, %v, want it shown", shown, err)
	}
	pair.Certificate = pair.Certificate[:1]
	if _, err := look(t, x, reader, entry(t, full(t), pair, time.Now().UnixNano())); !errors.Is(err, identity.ErrUnknownCA) {
		t.Errorf("got %v, want ErrUnknownCA without the intermediate", err)
	}
	for _, chain := range [][][]byte{nil, make([][]byte, 9), {bytes.Repeat([]byte{1}, 9000), bytes.Repeat([]byte{1}, 9000)}, {make([]byte, 1<<17)}} {
		pair.Certificate = chain
		if _, err := signed.Sign(full(t), pair, 1); !errors.Is(err, signed.ErrNoRoom) {
			t.Errorf("%d certificates: got %v, want ErrNoRoom", len(chain), err)
		}
	}
}

// TestDirectory_eachByteOfAProofCounts: changed, left out, and one more.
func TestDirectory_eachByteOfAProofCounts(t *testing.T) {
	x := newSite(t, everything)
	reader, pair := x.as("cn:reader").store, x.as("cn:p").store.KeyPair()
	e := entry(t, full(t), pair, time.Now().UnixNano())
	if _, err := look(t, x, reader, e); err != nil {
		t.Fatal(err)
	}
	proof := e.Proof
	for i := range proof {
		for _, flip := range []byte{1, 0x80} {
			e.Proof = bytes.Clone(proof)
			e.Proof[i] ^= flip
			if shown, err := look(t, x, reader, e); err == nil || shown.Signer != "" {
				t.Errorf("byte %d of %d changed by %#x: got it shown", i, len(proof), flip)
			}
		}
		e.Proof = proof[:i]
		if _, err := look(t, x, reader, e); err == nil {
			t.Errorf("%d of %d bytes: got it shown", i, len(proof))
		}
	}
	e.Proof = append(bytes.Clone(proof), 0)
	if _, err := look(t, x, reader, e); !errors.Is(err, signed.ErrDamaged) {
		t.Errorf("a byte more: got %v, want ErrDamaged", err)
	}
}

// TestDirectory_eachFieldOfAnEntryCounts, except the mirror, and the ways, which have a signature of their own.
func TestDirectory_eachFieldOfAnEntryCounts(t *testing.T) {
	x := newSite(t, everything)
	reader, pair := x.as("cn:reader").store, x.as("cn:p").store.KeyPair()
	good := entry(t, full(t), pair, time.Now().UnixNano())
	for field, change := range map[string]func(*directory.Entry){
		"Instance":        func(e *directory.Entry) { e.Instance += "x" },
		"Name":            func(e *directory.Entry) { e.Name = "" },
		"Host":            func(e *directory.Entry) { e.Host += "x" },
		"name to host":    func(e *directory.Entry) { e.Name, e.Host = e.Name[:1], e.Name[1:]+e.Host },
		"PID":             func(e *directory.Entry) { e.PID++ },
		"Backend":         func(e *directory.Entry) { e.Backend = "tls" },
		"Role":            func(e *directory.Entry) { e.Role = directory.Receiver },
		"Addresses":       func(e *directory.Entry) { e.Addresses[0] = netip.MustParseAddrPort("127.0.0.1:53101") },
		"fewer addresses": func(e *directory.Entry) { e.Addresses = e.Addresses[:1] },
		"their order":     func(e *directory.Entry) { e.Addresses[0], e.Addresses[1] = e.Addresses[1], e.Addresses[0] },
		"Tags":            func(e *directory.Entry) { e.Tags = tags.Of(1, 2, 10) },
		"PageBytes":       func(e *directory.Entry) { e.PageBytes++ },
		"MaxMessageBytes": func(e *directory.Entry) { e.MaxMessageBytes++ },
		"Since":           func(e *directory.Entry) { e.Since = e.Since.Add(1) },
		"no Since":        func(e *directory.Entry) { e.Since = time.Time{} },
		"Monitor":         func(e *directory.Entry) { e.Monitor = e.Addresses[0] },
		"no Monitor":      func(e *directory.Entry) { e.Monitor = netip.AddrPort{} },
		"address as IPv6": func(e *directory.Entry) { e.Addresses[0] = netip.MustParseAddrPort("[::ffff:127.0.0.1]:53100") },
		"the proof itself": func(e *directory.Entry) {
			e.Proof = entry(t, directorytest.Entry("a", 1), pair, time.Now().UnixNano()).Proof
		},
	} {
		e := good.Clone()
		change(&e)
		if shown, err := look(t, x, reader, e); !errors.Is(err, signed.ErrSignature) || shown.Signer != "" {
			t.Errorf("%s: got %+v, %v, want ErrSignature", field, shown, err)
		}
	}
	good.Mirror = "m1"
	if shown, err := look(t, x, reader, good); err != nil || shown.Mirror != "m1" {
		t.Errorf("got %+v, %v, want the copy shown", shown, err)
	}
}

// TestDirectory_waysHaveASignatureOfTheirOwn: an entry whose ways are not those that were signed is shown
// without them, and as a program shows it that does not know them.
func TestDirectory_waysHaveASignatureOfTheirOwn(t *testing.T) {
	x := newSite(t, everything)
	reader, pair := x.as("cn:reader").store, x.as("cn:p").store.KeyPair()
	good := entry(t, full(t), pair, time.Now().UnixNano())
	if shown, err := look(t, x, reader, good); err != nil || len(shown.Ways) != 1 || shown.WaysProof != nil {
		t.Fatalf("got %+v, %v, want its way", shown, err)
	}
	for change, do := range map[string]func(*directory.Entry){
		"a way more": func(e *directory.Entry) {
			e.Ways = append(e.Ways, directory.Way{Backend: "tls", Addresses: e.Addresses[:1]})
		},
		"the backend of a way":         func(e *directory.Entry) { e.Ways[0].Backend = "tls" },
		"an address of a way":          func(e *directory.Entry) { e.Ways[0].Addresses[0] = e.Addresses[0] },
		"no signature":                 func(e *directory.Entry) { e.WaysProof = nil },
		"another signature":            func(e *directory.Entry) { e.WaysProof[len(e.WaysProof)-1] ^= 1 },
		"that of an earlier entry":     func(e *directory.Entry) { e.WaysProof = entry(t, full(t), pair, 1).WaysProof },
		"that of the proof":            func(e *directory.Entry) { e.WaysProof = e.Proof[len(e.Proof)-70:] },
		"that of another entry's ways": func(e *directory.Entry) { e.WaysProof = entry(t, directorytest.Entry("a", 1), pair, 1).WaysProof },
		"that of another process": func(e *directory.Entry) {
			e.WaysProof = entry(t, full(t), x.as("cn:q").store.KeyPair(), time.Now().UnixNano()).WaysProof
		},
	} {
		e := good.Clone()
		do(&e)
		shown, err := look(t, x, reader, e)
		partly := (*signed.RefusedError)(nil)
		if !errors.Is(err, signed.ErrWays) || !errors.As(err, &partly) || !partly.Partly || len(shown.Ways) != 0 || shown.Signer != "cn:p" {
			t.Errorf("%s: got %+v, %v, want it without ways, and %v", change, shown, err, signed.ErrWays)
		}
	}
	good.Ways, good.WaysProof = nil, nil // as a program copies it that knows neither
	if shown, err := look(t, x, reader, good); err != nil || shown.Signer != "cn:p" {
		t.Errorf("without ways: got %+v, %v, want it shown", shown, err)
	}
}

// FuzzWaysProof: no bytes but those that were signed make ways count.
func FuzzWaysProof(f *testing.F) {
	x := newSite(f, everything)
	reader := x.as("cn:reader").store
	e := entry(f, full(f), x.as("cn:p").store.KeyPair(), time.Now().UnixNano())
	f.Add(e.WaysProof)
	f.Add(e.WaysProof[:len(e.WaysProof)-1])
	f.Fuzz(func(t *testing.T, proof []byte) {
		if len(proof) > directory.MaxWaysProof {
			t.Skip()
		}
		changed := e.Clone()
		changed.WaysProof = proof
		if shown, _ := look(t, x, reader, changed); (len(shown.Ways) > 0) != bytes.Equal(proof, e.WaysProof) || shown.Signer == "" {
			t.Errorf("got the ways %v for other bytes than what was signed", shown.Ways)
		}
	})
}
