// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"bytes"
	"crypto/tls"
	"testing"

	"tagbus/bus"
	"tagbus/internal/tests/pki"
	"tagbus/netio/tcp"
	"tagbus/node"
	"tagbus/tags"
)

// TestABusOverTLS carries messages between two nodes, with one loop and with several.
func TestABusOverTLS(t *testing.T) {
	ca := pki.New(t, "ca")
	c := ca.Issue(t, "peer", nil)
	credentials := &tcp.TLS{
		Server: func() (*tls.Config, error) {
			return &tls.Config{Certificates: []tls.Certificate{c}, ClientCAs: ca.Pool}, nil
		},
		Client: func() (*tls.Config, error) {
			return &tls.Config{Certificates: []tls.Certificate{c}, RootCAs: ca.Pool, ServerName: "127.0.0.1"}, nil
		},
	}
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
