// SPDX-License-Identifier: Apache-2.0

package tcp_test

import (
	"testing"

	"tagbus/internal/tests/pki"
	"tagbus/netio"
	"tagbus/netio/tcp"
)

func TestTLSCarriesMessagesAndNames(t *testing.T) {
	ca := pki.New(t, "root").Below(t, "between")
	publisher, subscriber := ca.Issue(t, "publisher", nil), ca.Issue(t, "subscriber", nil)
	server := serve(t, newWatcher(), tcp.Config{TLS: tlsOf(clientConfig(ca, publisher), serverConfig(ca, publisher))}, netio.Params{})
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
