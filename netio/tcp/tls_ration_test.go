// SPDX-License-Identifier: Apache-2.0

package tcp_test

import (
	"crypto/tls"
	"slices"
	"testing"
	"time"

	"tagbus/internal/testkit/backendtest"
	"tagbus/internal/testkit/pki"
	"tagbus/netio"
	"tagbus/netio/tcp"
)

// TestTLS_strangersBeginInPart: not all places are taken at once that the ration does not pay for.
func TestTLS_strangersBeginInPart(t *testing.T) {
	ca := pki.New(t, "ca")
	good := ca.Issue(t, "good", nil)
	cfg := withTLSOf(ca, good)
	cfg.Logger = quiet
	server := serve(t, newWatcher(), cfg, netio.Params{})
	tcp.Starve(server.b, 0.01)
	first := hello(t, clientConfig(ca, good))
	for range 20 {
		write(t, dialRaw(t, server.l.Addr()), first)
	}
	for all := 0; all < 20; {
		busy, waiting, parked := tcp.Handshakes(server.b)
		if busy > 3 {
			t.Fatalf("got %d handshakes at once, want at most 3", busy)
		}
		all = busy + waiting + parked
		onLoop(t, server.b.Loop(), func() {})
	}
}

// TestTLS_aLongHandshakeEnds: a stranger may send any number of certificates.
func TestTLS_aLongHandshakeEnds(t *testing.T) {
	ca := pki.New(t, "ca")
	good := ca.Issue(t, "good", nil)
	log := newLogbook()
	cfg := withTLSOf(ca, good)
	cfg.Logger = log.logger()
	server := serve(t, newWatcher(), cfg, netio.Params{})
	long := func(bytes int) *tls.Config {
		own := good
		own.Certificate = slices.Clone(good.Certificate)
		for sent := 0; sent < bytes; sent += len(good.Certificate[0]) {
			own.Certificate = append(own.Certificate, good.Certificate[0])
		}
		c := clientConfig(ca, own)
		c.NextProtos = []string{tcp.TLSProtocol}
		return c
	}
	if _, err := tls.Client(dialRaw(t, server.l.Addr()), long(40<<10)).Read(make([]byte, 4)); err != nil {
		t.Errorf("40 KiB of certificates: got error %v, want none", err)
	}
	if _, err := tls.Client(dialRaw(t, server.l.Addr()), long(200<<10)).Read(make([]byte, 4)); err == nil {
		t.Error("200 KiB of certificates: got no error, want the end")
	}
	if got, want := log.reason(t), "tcp: the TLS handshake failed: "+tcp.ErrLongHandshake.Error(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestTLS_strangersWaitForTheRation, and an honest peer with them, which gets in then. What was
// closed meanwhile costs nothing.
func TestTLS_strangersWaitForTheRation(t *testing.T) {
	ca := pki.New(t, "ca")
	good := ca.Issue(t, "good", nil)
	log := newLogbook()
	cfg := withTLSOf(ca, good)
	cfg.Logger = log.logger()
	server := serve(t, newWatcher(), cfg, netio.Params{})
	tcp.Exhaust(server.b, time.Hour)
	gone := dialRaw(t, server.l.Addr())
	write(t, gone, hello(t, clientConfig(ca, good)))
	_ = gone.Close()
	if got, want := log.reason(t), "unexpected EOF: the peer has closed the connection; its log says why"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	w := newWatcher()
	client := openBackend(t, w, cfg)
	if err := client.OpenEndpoint(server.l.Addr(), netio.Params{ConnectTimeout: backendtest.Patience}); err != nil {
		t.Fatalf("OpenEndpoint: got error %v, want none", err)
	}
	for waiting := 0; waiting == 0; _, waiting, _ = tcp.Handshakes(server.b) {
		onLoop(t, server.b.Loop(), func() {})
	}
	tcp.Exhaust(server.b, -2*time.Hour)
	dialSecure(t, cfg, server) // looks at the ration, too
	next(t, "OnConnectionEstablished", w.Established)
}
