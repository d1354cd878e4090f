// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"tagbus/bus"
	"tagbus/internal/testkit/pki"
	"tagbus/netio/netiotest"
	"tagbus/subscription"
	"tagbus/tags"
)

const attackPolicy = `{"rules":[{"who":"uri:spiffe://x/daq","publish":"1-2"},{"who":"uri:spiffe://x/dcs","subscribe":"1"}]}`

// attacked returns a publisher over TLS.
func attacked(t *testing.T, bed string, ca *pki.Issued) *bus.Publisher {
	t.Helper()
	p, err := process(t, bed, ca, "uri:spiffe://x/daq", attackPolicy).NewPublisher(bus.PublisherConfig{Common: bus.Common{Name: "hidden-name"}, Tags: tags.Of(1, 2)})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// byHand does a handshake, says hello, and returns all that comes until the end, or until
// patience is over, and how it ended.
func byHand(t *testing.T, to netip.AddrPort, patience time.Duration, chain ...*pki.Issued) (got []byte, err error) {
	t.Helper()
	raw, err := net.Dial("tcp", to.String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = raw.Close() }()
	if err := raw.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	cfg := &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"tagbus/1"}, MinVersion: tls.VersionTLS13}
	if len(chain) > 0 {
		c := tls.Certificate{PrivateKey: chain[0].Key}
		for _, i := range chain {
			c.Certificate = append(c.Certificate, i.Raw)
		}
		cfg.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &c, nil }
	}
	conn := tls.Client(raw, cfg)
	if err := conn.Handshake(); err != nil {
		return nil, err
	}
	h, err := subscription.AppendHello(nil, subscription.Hello{Instance: "x", MaxMessageBytes: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write(append(binary.LittleEndian.AppendUint32(nil, uint32(len(h))), h...)); err != nil {
		return nil, err
	}
	return io.ReadAll(conn)
}

// TestNode_refusesOddCertificates: through a handshake, with a reason, and without a word
// about the publisher.
func TestNode_refusesOddCertificates(t *testing.T) {
	bed, ca := t.TempDir(), pki.NewCA(t, "cn:site")
	p := attacked(t, bed, ca)
	other := pki.NewCA(t, "cn:other")
	nameless := func(c *x509.Certificate) { c.Subject, c.URIs, c.DNSNames = pkix.Name{}, nil, nil }
	many := func(c *x509.Certificate) {
		for i := range 3000 {
			c.DNSNames = append(c.DNSNames, fmt.Sprintf("host-%d.x", i))
		}
	}
	huge := func(c *x509.Certificate) { c.URIs, c.DNSNames = nil, []string{strings.Repeat("a", 40_000)} }
	deep := []*pki.Issued{ca}
	for i := range 12 {
		deep = append([]*pki.Issued{deep[0].Issue(t, fmt.Sprint("cn:between-", i), pki.Intermediate)}, deep...)
	}
	leaf := deep[0].Issue(t, "uri:spiffe://x/dcs")
	for name, chain := range map[string][]*pki.Issued{
		"no certificate":      nil,
		"no names":            {ca.Issue(t, "cn:x", nameless)},
		"a huge name":         {ca.Issue(t, "cn:x", huge)},
		"3,000 names":         {ca.Issue(t, "cn:x", many)},
		"a deep chain":        append([]*pki.Issued{leaf}, deep[:12]...),
		"another CA":          {other.Issue(t, "uri:spiffe://x/dcs")},
		"a name without rule": {ca.Issue(t, "uri:spiffe://x/none")},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := byHand(t, p.Addr(), 20*time.Second, chain...)
			if err == nil && !strings.Contains(string(got), "may not subscribe") {
				t.Errorf("got %q and no error, want a reason", got)
			}
			if strings.Contains(string(got), "hidden-name") || strings.Contains(string(got), p.Instance()) || len(got) > 1<<10 {
				t.Errorf("got %q, want nothing of the publisher", got)
			}
			t.Logf("%v; %q", err, got)
		})
	}
	got, err := byHand(t, p.Addr(), 3*time.Second, ca.Issue(t, "uri:spiffe://x/dcs"))
	if !strings.Contains(string(got), "hidden-name") {
		t.Errorf("got %q, %v with the right certificate, want a hello", got, err)
	}
}

// TestNode_honestPeersGetInBesideStrangers: connections that say nothing, say half of a
// handshake, or finish it and say nothing.
func TestNode_honestPeersGetInBesideStrangers(t *testing.T) {
	bed, ca := t.TempDir(), pki.NewCA(t, "cn:site")
	p := attacked(t, bed, ca)
	for i := range netiotest.Few(1000, 200) {
		c, err := net.Dial("tcp", p.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		if i%2 == 0 {
			_, _ = c.Write([]byte{0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3}) // a ClientHello begins
		}
	}
	s, err := process(t, bed, ca, "uri:spiffe://x/dcs", attackPolicy).NewSubscriber(bus.SubscriberConfig{})
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	sub, err := s.Subscribe(tags.Of(1), func(bus.Message) {})
	if err != nil {
		t.Fatal(err)
	}
	if err := sub.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	const most = 10 * time.Second // with those of all the others in front, 15 s or more than a minute
	if took := time.Since(begun); took > most {
		t.Errorf("the honest one got in after %v, want at most %v", took, most)
	}
}
