// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"crypto/tls"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"tagbus/bus"
	"tagbus/bus/state"
	"tagbus/internal/testkit/backendtest"
	"tagbus/internal/testkit/pki"
	"tagbus/netio"
	"tagbus/netio/reactor"
	"tagbus/netio/shm"
	"tagbus/node"
	"tagbus/tags"
)

// chooses is the configuration of nodes of these tests that are to choose.
func chooses(t *testing.T) node.Config {
	t.Helper()
	return node.Config{Bus: t.TempDir(), SHM: shm.Config{Folder: shortFolder(t)}}
}

// heard are the events of an instance, by kind.
type heard chan bus.Event

func (h heard) note(e bus.Event) {
	select {
	case h <- e:
	default:
	}
}

// await returns the next event of a kind.
func (h heard) await(t *testing.T, kind bus.EventKind) bus.Event {
	t.Helper()
	patience := time.After(30 * time.Second)
	for {
		select {
		case e := <-h:
			if e.Kind == kind {
				return e
			}
		case <-patience:
			t.Fatalf("got no event %v", kind)
		}
	}
}

// subscribe opens a subscriber to a tag, and returns what it gets and hears.
func subscribe(t *testing.T, n *node.Node, tag tags.Tag) (s *bus.Subscriber, got chan string, events heard) {
	t.Helper()
	events, got = make(heard, 1000), make(chan string, 1000)
	s, err := n.NewSubscriber(bus.SubscriberConfig{Common: bus.Common{OnEvent: events.note}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Subscribe(tags.Of(tag), func(m bus.Message) { got <- string(m.Data) }); err != nil {
		t.Fatal(err)
	}
	return s, got, events
}

// publisherOf opens a publisher of tags 1 and 2.
func publisherOf(t *testing.T, n *node.Node) (*bus.Publisher, heard) {
	t.Helper()
	events := make(heard, 1000)
	p, err := n.NewPublisher(bus.PublisherConfig{Tags: tags.Of(1, 2), Common: bus.Common{OnEvent: events.note}})
	if err != nil {
		t.Fatal(err)
	}
	return p, events
}

const bothTags = `{"rules":[{"who":"uri:spiffe://x/daq","publish":"1-2"},{"who":"uri:spiffe://x/dcs","subscribe":"1"}]}`

// TestNode_aPolicyAloneWithinTheHost: peers are anonymous, as over TCP, and get by shared memory what these may have.
func TestNode_aPolicyAloneWithinTheHost(t *testing.T) {
	cfg, policy := chooses(t), `{"rules":[{"who":"anonymous","publish":"1-2","subscribe":"1"}]}`
	n, _ := processBy(t, cfg, nil, "", policy)
	p, refusals := publisherOf(t, n)
	open := func() *node.Node {
		n, _ := processBy(t, cfg, nil, "", policy)
		return n
	}
	_, got, events := subscribe(t, open(), 1)
	if by := events.await(t, bus.Connected).Peer.Backend; by != "shm" {
		t.Errorf("got a connection by %s, want shm", by)
	}
	if err := p.WaitSubscribers(t.Context(), 1, tags.Of(1)); err != nil {
		t.Fatal(err)
	}
	subscribe(t, openNodeWith(t, cfg), 2) // its own policy would not ask
	if err := refusals.await(t, bus.Refused).Err; !errors.Is(err, bus.ErrNotAllowed) {
		t.Errorf("got %v, want ErrNotAllowed", err)
	}
	for _, tag := range []tags.Tag{2, 1} {
		if err := p.Publish(tag, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	if p.Flush(); <-got != "x" {
		t.Error("got another message, want that of tag 1")
	}
}

// TestNode_aPolicyThatChangesWithinTheHost: a subscriber ends what it may no longer have, and gets nothing of
// what is published until it may have it again.
func TestNode_aPolicyThatChangesWithinTheHost(t *testing.T) {
	cfg, ca := chooses(t), pki.NewCA(t, "cn:site")
	n, files := processBy(t, cfg, ca, "uri:spiffe://x/daq", bothTags)
	p, _ := publisherOf(t, n)
	n, _ = processBy(t, cfg, ca, "uri:spiffe://x/dcs", bothTags)
	_, got, events := subscribe(t, n, 1)
	if by := events.await(t, bus.Connected).Peer.Backend; by != "shm" {
		t.Fatalf("got a connection by %s, want shm", by)
	}
	if err := p.WaitSubscribers(t.Context(), 1, tags.Of(1)); err != nil {
		t.Fatal(err)
	}
	files.write(t, "policy.json", []byte(`{"rules":[{"who":"uri:spiffe://x/daq","publish":"1-2"}]}`))
	events.await(t, bus.Refused)
	for end := time.Now().Add(30 * time.Second); slices.ContainsFunc(p.Stats().Subscribers, func(s bus.SubscriberState) bool { return s.Parts > 0 }); {
		if time.Now().After(end) {
			t.Fatalf("got %+v, want no subscription that may not be", p.Stats().Subscribers)
		}
		<-time.After(time.Millisecond)
	}
	if err := p.Publish(1, []byte("secret")); err != nil {
		t.Fatal(err)
	}
	files.write(t, "policy.json", []byte(bothTags))
	if err := p.WaitSubscribers(t.Context(), 1, tags.Of(1)); err != nil {
		t.Fatal(err)
	}
	if err := p.Publish(1, []byte("allowed")); err != nil {
		t.Fatal(err)
	}
	p.Flush()
	if m := <-got; m != "allowed" {
		t.Errorf("got %q, want what was published when it had the right", m)
	}
}

// TestNode_aCertificateIsRevokedWithinTheHost while its process is connected: the connection ends.
func TestNode_aCertificateIsRevokedWithinTheHost(t *testing.T) {
	cfg, ca := chooses(t), pki.NewCA(t, "cn:site")
	n, files := processBy(t, cfg, ca, "uri:spiffe://x/daq", bothTags)
	p, _ := publisherOf(t, n)
	n, theirs := processBy(t, cfg, ca, "uri:spiffe://x/dcs", bothTags)
	_, _, events := subscribe(t, n, 1)
	if by := events.await(t, bus.Connected).Peer.Backend; by != "shm" {
		t.Fatalf("got a connection by %s, want shm", by)
	}
	if err := p.WaitSubscribers(t.Context(), 1, tags.Of(1)); err != nil {
		t.Fatal(err)
	}
	files.write(t, "ca.crl", ca.Revoke(t, time.Now().Add(time.Hour), theirs.own))
	events.await(t, bus.Lost)
	if err := events.await(t, bus.Refused).Err; !errors.Is(err, node.ErrCertificateRefused) {
		t.Errorf("got %v, want ErrCertificateRefused", err)
	}
}

// TestNode_withoutACertificateWithinTheHost: the one side that has none is told what to do, by the transport that both
// have, and the message names those that they do not have in common.
func TestNode_withoutACertificateWithinTheHost(t *testing.T) {
	cfg, ca := chooses(t), pki.NewCA(t, "cn:site")
	n, _ := processBy(t, cfg, ca, "uri:spiffe://x/daq", bothTags)
	publisherOf(t, n)
	_, _, events := subscribe(t, openNodeWith(t, cfg), 1)
	err := events.await(t, bus.Refused).Err
	if other := (*bus.BackendError)(nil); !errors.As(err, &other) || other.Theirs != "shm,tls" || !errors.Is(err, shm.ErrPeerSpeaksTLS) {
		t.Errorf("got %v, want a BackendError that wraps %v", err, shm.ErrPeerSpeaksTLS)
	}
	t.Log(err)
}

// TestNode_certificatesInAnotherFolder: processes that share no folder use TLS, and say why.
func TestNode_certificatesInAnotherFolder(t *testing.T) {
	cfg, ca := chooses(t), pki.NewCA(t, "cn:site")
	n, _ := processBy(t, cfg, ca, "uri:spiffe://x/daq", bothTags)
	publisherOf(t, n)
	cfg.SHM.Folder = shortFolder(t)
	n, _ = processBy(t, cfg, ca, "uri:spiffe://x/dcs", bothTags)
	s, _, events := subscribe(t, n, 1)
	if by := events.await(t, bus.Connected).Peer.Backend; by != "tls" {
		t.Errorf("got a connection by %s, want tls", by)
	}
	st, err := s.State(t.Context(), state.Question{Peers: 1})
	if err != nil || len(st.Peers) != 1 || len(st.Peers[0].Passed) != 1 || st.Peers[0].Passed[0].Backend != "shm" {
		t.Errorf("got %+v, %v, want that shm was passed by", st.Peers, err)
	}
}

// dialAs dials a publisher by shared memory with a certificate, and returns why it is not let in.
func dialAs(t *testing.T, folder string, p *bus.Publisher, own *pki.Issued) error {
	t.Helper()
	c := tls.Certificate{Certificate: [][]byte{own.Raw}, PrivateKey: own.Key}
	cfg := shm.Config{Folder: folder, TLS: &shm.TLS{
		Server: func() (*tls.Config, error) { return nil, errors.New("nothing is accepted") },
		Client: func() (*tls.Config, error) {
			return &tls.Config{
				InsecureSkipVerify:   true,
				GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &c, nil },
				VerifyConnection:     func(tls.ConnectionState) error { return nil },
			}, nil
		},
	}}
	w := backendtest.NewWatcher()
	b, _ := backendtest.Open(t, reactor.Config{}, w, func(loop *reactor.EventLoop) netio.Opener { return shm.Opener(loop, cfg) })
	if err := b.OpenEndpoint(p.Addr(), netio.Params{}); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-w.Refused:
		return err
	case <-w.Established:
		return nil
	}
}

// TestNode_oddCertificatesWithinTheHost: one of another CA, and a certificate whose time is over: neither is let in.
func TestNode_oddCertificatesWithinTheHost(t *testing.T) {
	cfg, ca := chooses(t), pki.NewCA(t, "cn:site")
	cfg.Backend = "shm"
	n, _ := processBy(t, cfg, ca, "uri:spiffe://x/daq", bothTags)
	p, _ := publisherOf(t, n)
	past := pki.Valid(time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour))
	for name, is := range map[string]func() error{
		"another CA": func() error {
			return dialAs(t, cfg.SHM.Folder, p, pki.NewCA(t, "cn:other").Issue(t, "uri:spiffe://x/dcs"))
		},
		"expired": func() error { return dialAs(t, cfg.SHM.Folder, p, ca.Issue(t, "uri:spiffe://x/dcs", past)) },
	} {
		if err := is(); !errors.Is(err, node.ErrCertificateRefused) || !strings.Contains(err.Error(), "tls: ") {
			t.Errorf("%s: got %v, want ErrCertificateRefused", name, err)
		}
	}
	if err := dialAs(t, cfg.SHM.Folder, p, ca.Issue(t, "uri:spiffe://x/dcs")); err != nil {
		t.Errorf("in order: got %v, want none", err)
	}
}
