// SPDX-License-Identifier: Apache-2.0

package door

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"testing"
	"time"

	"tagbus/identity"
	"tagbus/internal/testkit/pki"
)

// secured returns a door with TLS, and what returns the configurations of its callers.
func secured(t *testing.T, most int) (*Door, func(name string) *tls.Config) {
	t.Helper()
	ca, dir := pki.NewCA(t, "cn:ca"), t.TempDir()
	own := ca.Issue(t, "dns:directory-1")
	store, err := identity.Open(identity.Config{
		Certificate: pki.Write(t, dir, "cert.pem", pki.PEM(own)), Key: pki.Write(t, dir, "key.pem", own.KeyPEM(t)),
		CA: pki.Write(t, dir, "ca.pem", pki.PEM(ca)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	return openedFor(t, Config{Identity: store, Split: true, Most: most}), func(name string) *tls.Config {
		issued := ca.Issue(t, name)
		pair, err := tls.X509KeyPair(pki.PEM(issued), issued.KeyPEM(t))
		if err != nil {
			t.Fatal(err)
		}
		roots := x509.NewCertPool()
		roots.AddCert(ca.Certificate)
		return &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: roots, ServerName: "directory-1", NextProtos: []string{"h2"}, MinVersion: tls.VersionTLS13}
	}
}

// shaken makes a handshake, which the door has finished as well if it returns nil.
func shaken(t *testing.T, d *Door, c *tls.Config) (*tls.Conn, error) {
	t.Helper()
	secure := tls.Client(dial(t, d, ""), c)
	return secure, secure.HandshakeContext(t.Context())
}

// A caller chooses none of the curves that cost this side much.
func TestCallersChooseNoDearCurve(t *testing.T) {
	t.Parallel()
	d, config := secured(t, 64)
	for curve, let := range map[tls.CurveID]bool{tls.X25519MLKEM768: true, tls.X25519: true, tls.CurveP256: true, tls.CurveP384: false, tls.CurveP521: false} {
		c := config("cn:caller")
		c.CurvePreferences = []tls.CurveID{curve}
		if _, err := shaken(t, d, c); (err == nil) != let {
			t.Errorf("%v: got %v, want it to be let in: %t", curve, err, let)
			continue
		}
		if let {
			accepted(t, d.RPC)
		}
	}
}

// Handshakes compute only with a place, of which those have none whose peers are silent.
func TestHandshakesTakeTurns(t *testing.T) {
	t.Parallel()
	d, config := secured(t, 64)
	c := config("cn:caller")
	hello := helloOf(t, c)
	for range 2 * cap(d.places) { // they stop at several points of the handshake
		dial(t, d, hello)
		dial(t, d, hello[:len(hello)-1])
	}
	if _, err := shaken(t, d, c); err != nil {
		t.Fatalf("beside the silent: got %v, want nil", err)
	}
	accepted(t, d.RPC)
	for range cap(d.places) {
		d.places <- struct{}{}
	}
	done := make(chan error, 1)
	secure := tls.Client(dial(t, d, ""), c)
	go func() { done <- secure.HandshakeContext(t.Context()) }()
	select {
	case err := <-done:
		t.Errorf("without a place: got %v, want it to wait", err)
	case <-time.After(100 * time.Millisecond):
	}
	for range cap(d.places) {
		<-d.places
	}
	if err := <-done; err != nil {
		t.Errorf("with a place: got %v, want nil", err)
	}
	accepted(t, d.RPC)
}

// A door closes while handshakes wait for a place, since nothing is computed for them any more.
func TestTheEndOfHandshakesThatWait(t *testing.T) {
	t.Parallel()
	d, config := secured(t, 64)
	for range cap(d.places) {
		d.places <- struct{}{}
	}
	peer := dial(t, d, helloOf(t, config("cn:caller")))
	if !isOpen(t, peer, 100*time.Millisecond) {
		t.Fatal("got the end, want it to wait")
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

// A certificate is one caller, wherever it comes from.
func TestAGreedyCertificateGivesWay(t *testing.T) {
	t.Parallel()
	const most = 4
	d, config := secured(t, most)
	honest, err := shaken(t, d, config("cn:modest"))
	if err != nil {
		t.Fatal(err)
	}
	accepted(t, d.RPC)
	for range 2 * most {
		if _, err := shaken(t, d, config("cn:greedy")); err != nil {
			t.Fatal(err)
		}
		accepted(t, d.RPC)
	}
	if !isOpen(t, honest, 100*time.Millisecond) {
		t.Error("the connection of another certificate has ended, want those of the greedy one to end")
	}
}

// helloOf returns the first message of a handshake.
func helloOf(t *testing.T, c *tls.Config) string {
	t.Helper()
	a, b := net.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = tls.Client(a, c).HandshakeContext(t.Context())
	}()
	all := make([]byte, 5)
	_, err := io.ReadFull(b, all)
	if err == nil {
		all = append(all, make([]byte, int(all[3])<<8+int(all[4]))...)
		_, err = io.ReadFull(b, all[5:])
	}
	if err != nil {
		t.Fatal(err)
	}
	_, _ = a.Close(), b.Close()
	<-done
	return string(all)
}
