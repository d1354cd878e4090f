// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shm_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"testing"

	"tagbus/internal/testkit/backendtest"
	"tagbus/internal/testkit/pki"
	"tagbus/netio"
	"tagbus/netio/netiotest"
	"tagbus/netio/reactor"
	"tagbus/netio/shm"
)

// tlsOf returns a TLS of a peer that shows c and takes what ca has issued. Its handshakes have more
// time than usual: a busy machine may need seconds for each of a hundred.
func tlsOf(ca *pki.Authority, c tls.Certificate) *shm.TLS {
	verify := func(s tls.ConnectionState) error {
		between := x509.NewCertPool()
		for _, c := range s.PeerCertificates[1:] {
			between.AddCert(c)
		}
		_, err := s.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: ca.Pool, Intermediates: between})
		return err
	}
	return &shm.TLS{
		HandshakeTimeout: backendtest.Patience,
		Server: func() (*tls.Config, error) {
			return &tls.Config{Certificates: []tls.Certificate{c}, ClientCAs: ca.Pool}, nil
		},
		Client: func() (*tls.Config, error) {
			return &tls.Config{Certificates: []tls.Certificate{c}, InsecureSkipVerify: true, VerifyConnection: verify}, nil
		},
	}
}

// withTLS returns cfg with TLS, where both sides have a certificate of one CA. What follows a handshake
// has more time than usual, too.
func withTLS(tb testing.TB, cfg shm.Config) shm.Config {
	tb.Helper()
	ca := pki.New(tb, "ca")
	cfg.TLS = tlsOf(ca, ca.Issue(tb, "peer", nil))
	return shm.WithGreetingTimeout(cfg, backendtest.Patience)
}

// dialWith opens a backend that dials s with another configuration, and returns what it hears.
func (s *served) dialWith(t *testing.T, cfg shm.Config) (*backendtest.Watcher, netio.Backend) {
	t.Helper()
	cfg.Folder = s.folder
	w := newWatcher()
	b, _ := backendtest.Open(t, reactor.Config{}, w, opener(cfg))
	if err := b.OpenEndpoint(s.l.Addr(), netio.Params{}); err != nil {
		t.Fatalf("OpenEndpoint: got error %v, want none", err)
	}
	return w, b
}

// TestTLS_bothSidesKnowEachOther by the chains of their certificates; messages go both ways.
func TestTLS_bothSidesKnowEachOther(t *testing.T) {
	netiotest.CheckLeaks(t)
	ca := pki.New(t, "root").Below(t, "between")
	s := serve(t, shm.Config{TLS: tlsOf(ca, ca.Issue(t, "publisher", nil))}, netio.Params{})
	w, _ := s.dialWith(t, shm.Config{TLS: tlsOf(ca, ca.Issue(t, "subscriber", nil))})
	dialled, accepted := next(t, "OnConnectionEstablished", w.Established), next(t, "OnConnectionEstablished", s.Established)
	for _, end := range []struct {
		ep   netio.Endpoint
		want string
	}{{dialled, "spiffe://test/publisher"}, {accepted, "spiffe://test/subscriber"}} {
		peers := end.ep.(netio.Authenticated).PeerCertificates()
		if len(peers) < 2 || peers[0].URIs[0].String() != end.want {
			t.Errorf("PeerCertificates: got %d, want the chain of %s", len(peers), end.want)
		}
	}
	for _, size := range []int{1, 40, 16384, 1_000_000} {
		message := string(make([]byte, size-1)) + "x"
		if err := dialled.SendCopy(1, nil, []byte(message)); err != nil {
			t.Fatalf("SendCopy: got error %v, want none", err)
		}
		if got := next(t, "OnData", s.Data); string(got) != message {
			t.Errorf("message of %d bytes: got %d that differ", size, len(got))
		}
		if err := accepted.SendCopy(1, nil, []byte(message)); err != nil {
			t.Fatalf("SendCopy: got error %v, want none", err)
		}
		if got := next(t, "OnData", w.Data); string(got) != message {
			t.Errorf("answer of %d bytes: got %d that differ", size, len(got))
		}
	}
}

// TestTLS_whoIsNotLetIn, and what the side that dials is told: nothing is established, and no memory mapped.
func TestTLS_whoIsNotLetIn(t *testing.T) {
	netiotest.CheckLeaks(t)
	ca, other := pki.New(t, "ca"), pki.New(t, "other")
	good := tlsOf(ca, ca.Issue(t, "good", nil))
	mixed := tlsOf(ca, other.Issue(t, "stranger", nil)) // it takes the listener's
	const byMemory = "a listener with other memory"     // which knows nothing of it
	for _, tt := range []struct {
		name          string
		listens, dial shm.Config
		want          error
	}{
		{"no certificate", shm.Config{TLS: good}, shm.Config{}, shm.ErrPeerSpeaksTLS},
		{"no certificate at the side that listens", shm.Config{}, shm.Config{TLS: good}, shm.ErrPeerSpeaksPlain},
		{"a certificate of another CA", shm.Config{TLS: good}, shm.Config{TLS: mixed}, shm.ErrCertificateRefused},
		{"a listener of another CA", shm.Config{TLS: mixed}, shm.Config{TLS: good}, x509.UnknownAuthorityError{}},
		{"another user says that it is this one", shm.WithClaim(shm.Config{TLS: good}, shm.OfUser(4711)), shm.Config{TLS: good}, shm.ErrOtherProcess},
		{"it says that it is another user", shm.Config{TLS: good}, shm.WithClaim(shm.Config{TLS: good}, shm.OfUser(4711)), shm.ErrOtherProcess},
		{"a listener in another user namespace", shm.WithClaim(shm.Config{TLS: good}, shm.InSpace(1)), shm.Config{TLS: good}, shm.ErrUserNamespace},
		{"in another user namespace", shm.Config{TLS: good}, shm.WithClaim(shm.Config{TLS: good}, shm.InSpace(1)), shm.ErrUserNamespace},
		{"in an unknown user namespace", shm.Config{TLS: good}, shm.WithClaim(shm.Config{TLS: good}, shm.InSpace(0)), shm.ErrUserNamespace},
		{byMemory, shm.WithClaim(shm.Config{TLS: good}, shm.WithOtherMemory), shm.Config{TLS: good}, shm.ErrOtherProcess},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t, tt.listens, netio.Params{})
			w, _ := s.dialWith(t, tt.dial)
			refused := next(t, "OnConnectionRefused", w.Refused)
			wanted := errors.Is(refused, tt.want)
			if unknown := (x509.UnknownAuthorityError{}); tt.want == unknown { //nolint:errorlint // it is compared with a case
				wanted = errors.As(refused, &unknown)
			}
			if !wanted || !errors.Is(refused, shm.ErrHandshake) {
				t.Errorf("got %v, want it to wrap %v and %v", refused, shm.ErrHandshake, tt.want)
			}
			t.Log(refused)
			if len(w.Established) > 0 || len(s.Established) > 0 && tt.name != byMemory {
				t.Errorf("a connection was established, want none")
			}
		})
	}
}
