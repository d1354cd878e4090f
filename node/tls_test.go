// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"bytes"
	"crypto/tls"
	"errors"
	"strings"
	"testing"

	"tagbus/bus"
	"tagbus/internal/testkit/pki"
	"tagbus/netio/shm"
	"tagbus/netio/tcp"
	"tagbus/node"
	"tagbus/tags"
)

// newCredentials returns those of a peer, which trusts peers that have the same.
func newCredentials(tb testing.TB) *tcp.TLS {
	tb.Helper()
	ca := pki.New(tb, "ca")
	c := ca.Issue(tb, "peer", nil)
	return &tcp.TLS{
		Server: func() (*tls.Config, error) {
			return &tls.Config{Certificates: []tls.Certificate{c}, ClientCAs: ca.Pool}, nil
		},
		Client: func() (*tls.Config, error) {
			return &tls.Config{Certificates: []tls.Certificate{c}, RootCAs: ca.Pool, ServerName: "127.0.0.1"}, nil
		},
	}
}

// TestNode_aBusOverTLS carries messages between two nodes, with one loop and with several.
func TestNode_aBusOverTLS(t *testing.T) {
	credentials := newCredentials(t)
	for _, loops := range []int{1, 2} {
		dir := t.TempDir()
		open := func() *node.Node {
			return openNodeWith(t, node.Config{Bus: dir, Backend: "tls", TLS: credentials, Loops: loops})
		}
		p, err := open().NewPublisher(bus.PublisherConfig{Tags: tags.Of(1)})
		if err != nil {
			t.Fatal(err)
		}
		s, err := open().NewSubscriber(bus.SubscriberConfig{})
		if err != nil {
			t.Fatal(err)
		}
		got := make(chan []byte, 100)
		if _, err := s.Subscribe(tags.Of(1), func(m bus.Message) { got <- bytes.Clone(m.Data) }); err != nil {
			t.Fatal(err)
		}
		if err := p.WaitSubscribers(t.Context(), 1, tags.Of(1)); err != nil {
			t.Fatal(err)
		}
		for i, size := range []int{0, 40, 100_000, 1_000_000} {
			want := bytes.Repeat([]byte{byte(i)}, size)
			if err := p.PublishContext(t.Context(), 1, want); err != nil {
				t.Fatal(err)
			}
			p.Flush()
			if m := <-got; !bytes.Equal(m, want) {
				t.Errorf("message of %d bytes with %d loops: got %d that differ", size, loops, len(m))
			}
		}
	}
}

func TestOpen_saysWhatIsWrongWithCertificates(t *testing.T) {
	none := func() (*tls.Config, error) { return nil, errors.New("no certificates in this test") }
	tests := []struct {
		name string
		cfg  node.Config
		is   error
		want string
	}{
		{"tls without certificates", node.Config{Bus: t.TempDir(), Backend: "tls"}, node.ErrNoCredentials, "Config.TLS is nil, and Config.Access has no certificates: want one of them"},
		{"tls with half of them", node.Config{Bus: t.TempDir(), Backend: "tls", TLS: &tcp.TLS{Server: none}}, node.ErrNoCredentials, "TLS.Client is nil"},
		{"tcp with certificates", node.Config{Bus: t.TempDir(), Backend: "tcp", TLS: &tcp.TLS{}}, node.ErrNotSecure, `Backend is "tcp", want tls, or shm,tls`},
		{"tcp with certificates of its own", node.Config{Bus: t.TempDir(), Backend: "tcp", TCP: tcp.Config{TLS: &tcp.TLS{}}}, node.ErrNotSecure, `Backend is "tcp", want tls, or shm,tls`},
		{"certificates for one of two", node.Config{Bus: t.TempDir(), Backend: "shm,tcp", TLS: &tcp.TLS{}}, node.ErrNotSecure, `Backend is "shm,tcp", want tls, or shm,tls`},
		{"tls beside tcp", node.Config{Bus: t.TempDir(), Backend: "tcp,tls", TLS: &tcp.TLS{}}, node.ErrNotSecure, "only tls and shm ask for certificates"},
		{"certificates of shm alone", node.Config{Bus: t.TempDir(), Backend: "shm", SHM: shm.Config{TLS: &shm.TLS{}}}, node.ErrNotSecure, "want them in Config.TLS"},
		{"shm and tls without certificates", node.Config{Bus: t.TempDir(), Backend: "shm,tls"}, node.ErrNoCredentials, "want one of them"},
		{"auto with half of them", node.Config{Bus: t.TempDir(), TLS: &tcp.TLS{Client: none}}, node.ErrNoCredentials, "TLS.Server is nil"},
		{"RDMA with certificates", node.Config{Bus: t.TempDir(), Backend: "rdma", TLS: &tcp.TLS{}}, node.ErrNotSecure, "RDMA moves the data past any encryption"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			n, err := node.Open(test.cfg)
			if err == nil {
				t.Fatal("opened", n.Close())
			}
			if !errors.Is(err, test.is) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %v with %q", err, test.is, test.want)
			}
		})
	}
}
