// SPDX-License-Identifier: Apache-2.0

package tcp_test

import (
	"crypto/tls"
	"errors"
	"sync/atomic"
	"testing"

	"tagbus/internal/testkit/backendtest"
	"tagbus/internal/testkit/pki"
	"tagbus/netio"
	"tagbus/netio/netiotest"
	"tagbus/netio/tcp"
)

func TestTLS_carriesMessagesAndNames(t *testing.T) {
	ca := pki.New(t, "root").Below(t, "between")
	publisher, subscriber := ca.Issue(t, "publisher", nil), ca.Issue(t, "subscriber", nil)
	server := serve(t, newWatcher(), tcp.Config{TLS: tlsOf(clientConfig(ca, publisher), serverConfig(ca, publisher))}, netio.Params{})
	carries(t, server, ca, subscriber)
	several := openSpread(t, newWatcher(), backendtest.StartLoops(t, 2), tcp.Config{TLS: tlsOf(clientConfig(ca, publisher), serverConfig(ca, publisher))})
	carries(t, several, ca, subscriber)
}

// carries sends messages of all sizes both ways between server, a publisher, and a client
// with the certificate of a subscriber.
func carries(t *testing.T, server *served, ca *pki.Authority, subscriber tls.Certificate) {
	t.Helper()
	w := newWatcher()
	client := openBackend(t, w, tcp.Config{TLS: tlsOf(clientConfig(ca, subscriber), serverConfig(ca, subscriber))})
	if err := client.OpenEndpoint(server.l.Addr(), netio.Params{}); err != nil {
		t.Fatalf("OpenEndpoint: got error %v, want none", err)
	}
	dialled, accepted := next(t, "OnConnectionEstablished", w.Established), next(t, "OnConnectionEstablished", server.Established)
	for _, end := range []struct {
		ep   netio.Endpoint
		want string
	}{{dialled, "spiffe://test/publisher"}, {accepted, "spiffe://test/subscriber"}} {
		peers := end.ep.(netio.Authenticated).PeerCertificates()
		if len(peers) < 2 || peers[0].URIs[0].String() != end.want {
			t.Errorf("PeerCertificates: got %d, want the chain of %s", len(peers), end.want)
		}
	}
	if got := client.Name(); got != "tls" {
		t.Errorf("Name: got %q, want tls", got)
	}
	for i, size := range []int{1, 40, 16380, 16384, 100_000, 1_000_000} {
		message := pattern(size, i)
		if err := dialled.Send(netio.Key(i), nil, message); err != nil {
			t.Fatalf("Send: got error %v, want none", err)
		}
		if got := next(t, "OnData", server.Data); string(got) != string(message) {
			t.Fatalf("message of %d bytes: got %d that differ", size, len(got))
		}
		if err := accepted.Send(netio.Key(i), nil, message); err != nil {
			t.Fatalf("Send: got error %v, want none", err)
		}
		if got := next(t, "OnData", w.Data); string(got) != string(message) {
			t.Fatalf("answer of %d bytes: got %d that differ", size, len(got))
		}
	}
}

// TestTLS_readsCertificatesAtEachHandshake: what stands keeps those with which it was made.
func TestTLS_readsCertificatesAtEachHandshake(t *testing.T) {
	ca := pki.New(t, "ca")
	var now atomic.Pointer[tls.Certificate]
	use := func(name string) {
		c := ca.Issue(t, name, nil)
		now.Store(&c)
	}
	cfg := tcp.Config{TLS: &tcp.TLS{
		Server: func() (*tls.Config, error) { return serverConfig(ca, *now.Load()), nil },
		Client: func() (*tls.Config, error) { return clientConfig(ca, *now.Load()), nil },
	}}
	use("first")
	server := serve(t, newWatcher(), cfg, netio.Params{})
	name := func(ep netio.Endpoint) string {
		return ep.(netio.Authenticated).PeerCertificates()[0].Subject.CommonName
	}
	_, dialled := dialSecure(t, cfg, server)
	accepted := next(t, "OnConnectionEstablished", server.Established)
	use("second")
	_, dialledLater := dialSecure(t, cfg, server)
	acceptedLater := next(t, "OnConnectionEstablished", server.Established)
	for _, end := range []struct {
		ep   netio.Endpoint
		want string
	}{{dialled, "first"}, {accepted, "first"}, {dialledLater, "second"}, {acceptedLater, "second"}} {
		if got := name(end.ep); got != end.want {
			t.Errorf("the peer of %v: got %s, want %s", end.ep.Local(), got, end.want)
		}
	}
	if err := dialled.Send(1, nil, []byte("still here")); err != nil {
		t.Errorf("Send: got error %v, want none", err)
	}
	if got := next(t, "OnData", server.Data); string(got) != "still here" {
		t.Errorf("OnData: got %q, want it", got)
	}
}

// TestTLS_plainPeersHaveNoCertificates with one loop and with several.
func TestTLS_plainPeersHaveNoCertificates(t *testing.T) {
	for _, server := range []*served{serve(t, newWatcher(), tcp.Config{}, netio.Params{}), openSpread(t, newWatcher(), backendtest.StartLoops(t, 2), tcp.Config{})} {
		_, ep := server.dialRaw(t)
		if got := ep.(netio.Authenticated).PeerCertificates(); got != nil {
			t.Errorf("PeerCertificates: got %d, want none", len(got))
		}
		if got := server.b.Name(); got != "tcp" {
			t.Errorf("Name: got %q, want tcp", got)
		}
	}
}

// TestTLS_directSendsBesideFlushes: the loop may flush at any time while a sender seals.
func TestTLS_directSendsBesideFlushes(t *testing.T) {
	cfg := withTLS(t, tcp.Config{SendBufferBytes: 1})
	server := serve(t, newWatcher(), cfg, netio.Params{})
	w, ep := dialSecure(t, cfg, server)
	all := netiotest.Few(1000, 200)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; i < all; {
			switch _, err := ep.SendDirect(netio.Key(i), nil, pattern(1+i*131%30_000, i)); {
			case errors.Is(err, netio.ErrNoResources):
				<-w.Ready
			case err != nil:
				t.Errorf("SendDirect: got error %v, want none", err)
				return
			default:
				i++
			}
		}
	}()
	for sending := true; sending; {
		select {
		case <-done:
			sending = false
		default:
			tcp.FlushLater(ep)
		}
	}
	for i := range all {
		if got := next(t, "OnData", server.Data); string(got) != string(pattern(1+i*131%30_000, i)) {
			t.Fatalf("message %d: got %d bytes that differ", i, len(got))
		}
	}
}
