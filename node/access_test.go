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
	"tagbus/netio/shm"
	"tagbus/node"
	"tagbus/tags"
)

// process returns a node of a process with a certificate.
func process(t *testing.T, bed string, ca *pki.Issued, name, policy string) *node.Node {
	t.Helper()
	n, _ := processBy(t, node.Config{Bus: bed, Backend: "tls"}, ca, name, policy)
	return n
}

// processBy returns a node of a process with a certificate and a configuration, and its files. An empty
// name is a process without a certificate.
func processBy(tb testing.TB, cfg node.Config, ca *pki.Issued, name, policy string) (*node.Node, *ownFiles) {
	tb.Helper()
	f := newAccess(tb, ca, name, policy)
	cfg.Access = f.access
	return openNodeWith(tb, cfg), f
}

// newAccess returns the Access of such a process.
func newAccess(tb testing.TB, ca *pki.Issued, name, policy string) *ownFiles {
	tb.Helper()
	f := &ownFiles{dir: tb.TempDir()}
	var c access.Config
	if policy != "" {
		c.Policy = pki.Write(tb, f.dir, "policy.json", []byte(policy))
	}
	if name != "" {
		own := ca.Issue(tb, name)
		f.own = own
		c.Identity = identity.Config{
			Certificate: pki.Write(tb, f.dir, "own.pem", pki.PEM(own)),
			Key:         pki.Write(tb, f.dir, "own.key", own.KeyPEM(tb)),
			CA:          pki.Write(tb, f.dir, "ca.pem", pki.PEM(ca)),
			Revoked:     []string{pki.Write(tb, f.dir, "ca.crl", ca.Revoke(tb, time.Now().Add(time.Hour)))},
		}
	}
	a, err := access.Open(c)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(a.Close)
	f.access = a
	return f
}

// ownFiles are those of a process.
type ownFiles struct {
	dir    string
	access *access.Access
	own    *pki.Issued // nil: without a certificate
}

// write replaces a file, and makes the process read all again.
func (f *ownFiles) write(t *testing.T, name string, data []byte) {
	t.Helper()
	pki.Write(t, f.dir, name, data)
	if err := f.access.Reload(); err != nil {
		t.Fatal(err)
	}
}

// TestNode_access: one process may publish, one may have half of it, one nothing. That is so over TLS, by shared
// memory, and where a process chooses.
func TestNode_access(t *testing.T) {
	for backend, want := range map[string]string{"tls": "tls", "shm": "shm", "shm,tls": "shm", "auto": "shm"} {
		t.Run(backend, func(t *testing.T) { accessBy(t, backend, want) })
	}
}

func accessBy(t *testing.T, backend, want string) {
	t.Helper()
	const policy = `{"rules":[{"who":"uri:spiffe://x/daq","publish":"1-2"},{"who":"uri:spiffe://x/dcs","subscribe":"1"}]}`
	cfg, ca := node.Config{Bus: t.TempDir(), Backend: backend, SHM: shm.Config{Folder: shortFolder(t)}}, pki.NewCA(t, "cn:site")
	process := func(name string) *node.Node {
		n, _ := processBy(t, cfg, ca, name, policy)
		return n
	}
	refused := make(chan error, 100)
	note := func(e bus.Event) {
		if e.Kind == bus.Refused {
			select {
			case refused <- e.Err:
			default:
			}
		}
	}
	p, err := process("uri:spiffe://x/daq").NewPublisher(bus.PublisherConfig{Tags: tags.Of(1, 2), Common: bus.Common{OnEvent: note}})
	if err != nil {
		t.Fatal(err)
	}
	half, err := process("uri:spiffe://x/dcs").NewSubscriber(bus.SubscriberConfig{Common: bus.Common{OnEvent: func(e bus.Event) {
		if e.Kind == bus.Connected && e.Peer.Backend != want {
			t.Errorf("got a connection by %s, want %s", e.Peer.Backend, want)
		}
	}}})
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan tags.Tag, 100)
	if _, err := half.Subscribe(tags.Of(1, 2), func(m bus.Message) { got <- m.Tag }); err != nil {
		t.Fatal(err)
	}
	none, err := process("uri:spiffe://x/none").NewSubscriber(bus.SubscriberConfig{})
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
