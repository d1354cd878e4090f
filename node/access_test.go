// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"tagbus/access"
	"tagbus/bus"
	"tagbus/identity"
	"tagbus/identity/identitytest"
	"tagbus/node"
	"tagbus/tags"
)

// process returns a node of a process with a certificate.
func process(t *testing.T, bed string, ca *identitytest.Issued, name, policy string) *node.Node {
	t.Helper()
	dir := t.TempDir()
	own := ca.Issue(t, name)
	file := ""
	if policy != "" {
		file = identitytest.Write(t, dir, "policy.json", []byte(policy))
	}
	a, err := access.Open(access.Config{
		Identity: identity.Config{
			Certificate: identitytest.Write(t, dir, "own.pem", identitytest.PEM(own)),
			Key:         identitytest.Write(t, dir, "own.key", own.KeyPEM(t)),
			CA:          identitytest.Write(t, dir, "ca.pem", identitytest.PEM(ca)),
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

// TestAccessOverTLS: one process may publish, one may have half of it, one nothing.
func TestAccessOverTLS(t *testing.T) {
	const policy = `{"rules":[{"who":"uri:spiffe://x/daq","publish":"1-2"},{"who":"uri:spiffe://x/dcs","subscribe":"1"}]}`
	bed, ca := t.TempDir(), identitytest.NewCA(t, "cn:site")
	refused := make(chan error, 100)
	note := func(e bus.Event) {
		if e.Kind == bus.Refused {
			select {
			case refused <- e.Err:
			default:
			}
		}
	}
	p, err := process(t, bed, ca, "uri:spiffe://x/daq", policy).NewPublisher(bus.PublisherConfig{Tags: tags.Of(1, 2), OnEvent: note})
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

func TestAccessNeedsAPolicyOrCertificates(t *testing.T) {
	if _, err := access.Open(access.Config{}); !errors.Is(err, access.ErrInvalidConfig) {
		t.Errorf("got %v, want ErrInvalidConfig", err)
	}
}
