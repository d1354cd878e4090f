// SPDX-License-Identifier: Apache-2.0

package certs_test

import (
	"crypto/tls"
	"net"
	"testing"

	"tagbus/bench/internal/certs"
)

// TestBothSidesShowWhoTheyAre with what another process reads.
func TestBothSidesShowWhoTheyAre(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	if err := certs.Make(); err != nil {
		t.Fatalf("Make: got error %v, want none", err)
	}
	config, err := certs.Config()
	if err != nil {
		t.Fatalf("Config: got error %v, want none", err)
	}
	here, there := net.Pipe()
	defer here.Close()
	defer there.Close()
	server, client := tls.Server(there, config), tls.Client(here, config)
	served := make(chan error, 1)
	go func() { served <- server.Handshake() }()
	if err := client.Handshake(); err != nil {
		t.Fatalf("client: got error %v, want none", err)
	}
	if err := <-served; err != nil {
		t.Fatalf("server: got error %v, want none", err)
	}
	for _, c := range []*tls.Conn{server, client} {
		state := c.ConnectionState()
		if got := "uri:" + state.PeerCertificates[0].URIs[0].String(); state.Version != tls.VersionTLS13 || got != certs.Name {
			t.Errorf("got version %x and peer %s, want %x and %s", state.Version, got, tls.VersionTLS13, certs.Name)
		}
	}
}
