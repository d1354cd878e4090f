// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"tagbus/access"
	"tagbus/bus"
	"tagbus/bus/directory/directorytest"
	"tagbus/bus/directory/file"
	"tagbus/bus/directory/signed"
	"tagbus/identity"
	"tagbus/internal/testkit/pki"
	"tagbus/node"
	"tagbus/tags"
)

// process returns a node of a process with a certificate.
func process(t *testing.T, bed string, ca *pki.Issued, name, policy string) *node.Node {
	t.Helper()
	dir := t.TempDir()
	own := ca.Issue(t, name)
	file := ""
	if policy != "" {
		file = pki.Write(t, dir, "policy.json", []byte(policy))
	}
	a, err := access.Open(access.Config{
		Identity: identity.Config{
			Certificate: pki.Write(t, dir, "own.pem", pki.PEM(own)),
			Key:         pki.Write(t, dir, "own.key", own.KeyPEM(t)),
			CA:          pki.Write(t, dir, "ca.pem", pki.PEM(ca)),
		},
		Policy: file,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	n, err := node.Open(node.Config{Bus: bed, Backend: "tls", Access: a})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	return n
}

// TestNode_accessOverTLS: one process may publish, one may have half of it, one nothing.
func TestNode_accessOverTLS(t *testing.T) {
	const policy = `{"rules":[{"who":"uri:spiffe://x/daq","publish":"1-2"},{"who":"uri:spiffe://x/dcs","subscribe":"1"}]}`
	bed, ca := t.TempDir(), pki.NewCA(t, "cn:site")
	refused := make(chan error, 100)
	note := func(e bus.Event) {
		if e.Kind == bus.Refused {
			select {
			case refused <- e.Err:
			default:
			}
		}
	}
	p, err := process(t, bed, ca, "uri:spiffe://x/daq", policy).NewPublisher(bus.PublisherConfig{Tags: tags.Of(1, 2), Common: bus.Common{OnEvent: note}})
	if err != nil {
		t.Fatal(err)
	}
	half, err := process(t, bed, ca, "uri:spiffe://x/dcs", policy).NewSubscriber(bus.SubscriberConfig{})
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan tags.Tag, 100)
	if _, err := half.Subscribe(tags.Of(1, 2), func(m bus.Message) { got <- m.Tag }); err != nil {
		t.Fatal(err)
	}
	none, err := process(t, bed, ca, "uri:spiffe://x/none", policy).NewSubscriber(bus.SubscriberConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := none.Subscribe(tags.Of(1, 2), func(m bus.Message) { t.Errorf("got %v, want nothing", m) }); err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{"x/none": false, "x/dcs": false}
	patience := time.After(20 * time.Second)
	for done := false; !done; {
		select {
		case err := <-refused:
			if !errors.Is(err, bus.ErrNotAllowed) {
				t.Errorf("got %v, want ErrNotAllowed", err)
			}
			done = true
			for name := range names {
				names[name] = names[name] || strings.Contains(err.Error(), name)
				done = done && names[name]
			}
		case <-patience:
			t.Fatalf("got refusals of %v, want of both", names)
		}
	}
	for _, tag := range []tags.Tag{2, 1} {
		if err := p.Publish(tag, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case tag := <-got:
		if tag != 1 {
			t.Errorf("got tag %v, want 1", tag)
		}
	case <-patience:
		t.Error("got no message, want one")
	}
}

// TestNode_unsignedEntriesAreNotUsed on a node with certificates.
func TestNode_unsignedEntriesAreNotUsed(t *testing.T) {
	bed, ca := t.TempDir(), pki.NewCA(t, "cn:site")
	folder, err := file.Open(bed, file.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = folder.Close() }()
	e := directorytest.Entry("unsigned", 1)
	e.Backend = "tls"
	if _, err := folder.Announce(e); err != nil {
		t.Fatal(err)
	}
	n := process(t, bed, ca, "uri:spiffe://x/dcs", "")
	problems, connected := make(chan error, 100), make(chan *bus.Peer, 100)
	s, err := n.NewSubscriber(bus.SubscriberConfig{Common: bus.Common{OnEvent: func(e bus.Event) {
		switch e.Kind {
		case bus.Problem:
			problems <- e.Err
		case bus.Connected:
			connected <- e.Peer
		default:
		}
	}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Subscribe(tags.Of(1), func(bus.Message) {}); err != nil {
		t.Fatal(err)
	}
	p, err := process(t, bed, ca, "uri:spiffe://x/daq", "").NewPublisher(bus.PublisherConfig{Tags: tags.Of(1)})
	if err != nil {
		t.Fatal(err)
	}
	patience := time.After(20 * time.Second)
	select {
	case err := <-problems:
		if !errors.Is(err, signed.ErrUnsigned) {
			t.Errorf("got %v, want ErrUnsigned", err)
		}
	case <-patience:
		t.Error("got no problem, want one about the entry without a signature")
	}
	select {
	case peer := <-connected:
		if peer.Instance != p.Instance() {
			t.Errorf("got %v, want the publisher that signs", peer)
		}
	case <-patience:
		t.Error("got no connection, want that of the publisher that signs")
	}
	entries, err := n.Directory().List()
	if len(entries) != 1 || entries[0].Signer != "uri:spiffe://x/daq" || !errors.Is(err, signed.ErrUnsigned) {
		t.Errorf("got %v, %v, want the entry that is signed", entries, err)
	}
}

func TestOpen_accessNeedsAPolicyOrCertificates(t *testing.T) {
	if _, err := access.Open(access.Config{}); !errors.Is(err, access.ErrInvalidConfig) {
		t.Errorf("got %v, want ErrInvalidConfig", err)
	}
}
