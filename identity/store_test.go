// SPDX-License-Identifier: Apache-2.0

package identity_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tagbus/identity"
	"tagbus/internal/testkit/pki"
)

// handshake connects two sides, lets a byte pass each way, and returns what each of them says.
func handshake(t *testing.T, server, client *tls.Config) (serverErr, clientErr error) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer listener.Close()
	b, err := net.Dial("tcp", listener.Addr().String())
	must(t, err)
	a, err := listener.Accept()
	must(t, err)
	use := func(c *tls.Conn, write bool) error {
		defer c.NetConn().Close()
		must(t, c.SetDeadline(time.Now().Add(10*time.Second)))
		if err := c.Handshake(); err != nil {
			return err
		}
		if write {
			if _, err := c.Write([]byte{1}); err != nil {
				return err
			}
			_, err := io.ReadFull(c, make([]byte, 1))
			return err
		}
		if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
			return err
		}
		_, err := c.Write([]byte{2})
		return err
	}
	done := make(chan error)
	go func() { done <- use(tls.Server(a, server), true) }()
	clientErr = use(tls.Client(b, client), false)
	return <-done, clientErr
}

// config returns what a Store makes for a side of a connection.
func config(t *testing.T, side func() (*tls.Config, error)) *tls.Config {
	t.Helper()
	c, err := side()
	must(t, err)
	return c
}

func TestStore_serverAndClient(t *testing.T) {
	b := newBed(t)
	s := b.open()
	if server, client := handshake(t, config(t, s.Server), config(t, s.Client)); server != nil || client != nil {
		t.Errorf("got %v and %v, want that both are content", server, client)
	}
	if s.Principal().String() != "uri:spiffe://a/own" || !s.Certificate().Equal(b.own.Certificate) {
		t.Errorf("got %v, want the own names", s.Principal())
	}
	other := newBed(t).open()
	server, client := handshake(t, config(t, s.Server), config(t, other.Client))
	if !errors.Is(client, identity.ErrUnknownCA) || server == nil || !strings.Contains(server.Error(), "bad certificate") {
		t.Errorf("another CA of the server: got %v and %v, want an alert and ErrUnknownCA", server, client)
	}
	altered := config(t, other.Client)
	altered.VerifyConnection = nil // one that takes every server
	server, client = handshake(t, config(t, s.Server), altered)
	if !errors.Is(server, identity.ErrUnknownCA) || client == nil || !strings.Contains(client.Error(), "bad certificate") {
		t.Errorf("another CA of the client: got %v and %v, want ErrUnknownCA and an alert", server, client)
	}
	altered.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return new(tls.Certificate), nil }
	server, client = handshake(t, config(t, s.Server), altered)
	if server == nil || client == nil || !strings.Contains(client.Error(), "certificate required") {
		t.Errorf("no certificate: got %v and %v, want that one is required", server, client)
	}
	altered = config(t, s.Client)
	altered.MinVersion, altered.MaxVersion = tls.VersionTLS12, tls.VersionTLS12
	if server, client = handshake(t, config(t, s.Server), altered); server == nil || client == nil || !strings.Contains(client.Error(), "protocol version") {
		t.Errorf("TLS 1.2: got %v and %v, want that it is refused", server, client)
	}
}

// TestStore_theCAIsReplaced: no handshake fails on the way from one CA to another, whatever peer is ahead.
func TestStore_theCAIsReplaced(t *testing.T) {
	first, second := newBed(t), newBed(t)
	next := pki.NewCA(t, "next CA")
	second.ca, second.own = first.ca, first.ca.Issue(t, "dns:second")
	second.write("own.pem", pki.PEM(second.own))
	second.write("own.key", second.own.KeyPEM(t))
	second.write("ca.pem", pki.PEM(first.ca))
	a, b := first.open(), second.open()
	configs := [...]*tls.Config{config(t, a.Server), config(t, b.Client), config(t, b.Server), config(t, a.Client)} // made once
	step := func(name string, change func(b *bed)) {
		for i, bed := range []*bed{first, second} {
			change(bed)
			must(t, []*identity.Store{a, b}[i].Reload())
			for j := 0; j < 4; j += 2 {
				if server, client := handshake(t, configs[j], configs[j+1]); server != nil || client != nil {
					t.Errorf("%s: got %v and %v", name, server, client)
				}
			}
		}
	}
	step("both CAs", func(b *bed) { b.write("ca.pem", pki.PEM(first.ca, next)) })
	step("new certificates", func(b *bed) {
		own := next.Issue(t, "dns:renewed")
		b.write("own.key", own.KeyPEM(t))
		b.write("own.pem", pki.PEM(own))
	})
	step("the new CA alone", func(b *bed) { b.write("ca.pem", pki.PEM(next)) })
	if a.Principal().String() != "dns:renewed" {
		t.Errorf("got %v, want the new name", a.Principal())
	}
}

// TestStore_filesThatCannotBeUsed are refused when a store opens, and kept out when it reloads.
func TestStore_filesThatCannotBeUsed(t *testing.T) {
	now := time.Now()
	other := pki.NewCA(t, "CA") // the same name
	tests := []struct {
		name string
		err  error
		says string
		make func(b *bed)
	}{
		{"a key of another certificate", identity.ErrOtherKey, "own.key", func(b *bed) { b.write("own.key", other.KeyPEM(b)) }},
		{"an expired certificate", identity.ErrExpired, "issue a new one", func(b *bed) {
			b.pair(b.ca.Issue(b, "dns:a", pki.Valid(now.Add(-2*time.Hour), now.Add(-time.Hour))))
		}},
		{"a certificate of tomorrow", identity.ErrNotYetValid, "clock", func(b *bed) {
			b.pair(b.ca.Issue(b, "dns:a", pki.Valid(now.Add(24*time.Hour), now.Add(48*time.Hour))))
		}},
		{"a certificate without a name", identity.ErrNoName, "own.pem", func(b *bed) { b.pair(b.ca.Issue(b, "")) }},
		{"no certificate", identity.ErrNoCertificate, "own.pem", func(b *bed) { b.write("own.pem", []byte("hello\n")) }},
		{"no CA", identity.ErrNoCertificate, "ca.pem", func(b *bed) { b.write("ca.pem", nil) }},
		{"half a CA", nil, "not whole", func(b *bed) {
			both := pki.PEM(b.ca, other)
			b.write("ca.pem", both[:len(both)-100])
		}},
		{"a CA that is damaged", nil, "certificate 2", func(b *bed) {
			bad := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: b.ca.Raw[:100]})
			b.write("ca.pem", append(pki.PEM(b.ca), bad...))
		}},
		{"no key", identity.ErrNoKey, "own.key", func(b *bed) { b.write("own.key", pki.PEM(b.own)) }},
		{"half a key", identity.ErrCutOff, "copy the file again", func(b *bed) { b.write("own.key", b.own.KeyPEM(b)[:100]) }},
		{"a key that is damaged", identity.ErrNoKey, "copy", func(b *bed) {
			b.write("own.key", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("x")}))
		}},
		{"an encrypted key", identity.ErrNoKey, "decrypt", func(b *bed) {
			b.write("own.key", pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED PRIVATE KEY", Bytes: []byte("x")}))
		}},
		{"a file that is gone", fs.ErrNotExist, "own.key", func(b *bed) { must(b, os.Remove(filepath.Join(b.dir, "own.key"))) }},
		{"a file of another kind", nil, "more than", func(b *bed) { b.write("ca.pem", bytes.Repeat([]byte("x"), 17<<20)) }},
		{"no list", identity.ErrNoList, "ca.crl", func(b *bed) { b.write("ca.crl", []byte("x")) }},
		{"a list that the CA has not signed", identity.ErrNoList, "signature", func(b *bed) { b.write("ca.crl", other.Revoke(b, now.Add(time.Hour))) }},
		{"half a list", nil, "not whole", func(b *bed) {
			list := b.ca.Revoke(b, now.Add(time.Hour))
			b.write("ca.crl", append(list, list[:len(list)-40]...))
		}},
		{"half a list before a whole one", identity.ErrCutOff, "block 1", func(b *bed) { // which would revoke less, and in silence
			list := b.ca.Revoke(b, now.Add(time.Hour))
			b.write("ca.crl", append(list[:len(list)-40:len(list)-40], "\n"+string(list)...))
		}},
		{"a CA that is indented", identity.ErrCutOff, "block 1", func(b *bed) { b.write("ca.pem", append([]byte("  "), pki.PEM(b.ca, other)...)) }},
		{"a certificate in UTF-16", identity.ErrUTF16, "UTF-8", func(b *bed) {
			text := []byte{0xff, 0xfe}
			for _, c := range pki.PEM(b.own) {
				text = append(text, c, 0)
			}
			b.write("own.pem", text)
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := newBed(t)
			b.revoke(now.Add(10 * 24 * time.Hour))
			s := b.open()
			before := s.Certificate()
			test.make(b)
			for range 2 {
				err := s.Reload()
				var file *identity.FileError
				if !errors.Is(err, test.err) && test.err != nil || !errors.As(err, &file) {
					t.Fatalf("got %v, want a FileError with %v", err, test.err)
				}
				if !strings.Contains(err.Error(), test.says) || !strings.Contains(err.Error(), b.dir) {
					t.Errorf("got %v, want the file and %q in it", err, test.says)
				}
			}
			if len(b.reports) != 2 || b.reports[1].Err == nil || b.reports[1].Loaded {
				t.Errorf("got %+v, want one report of the failure", b.reports)
			}
			if server, client := handshake(t, config(t, s.Server), config(t, s.Client)); server != nil || client != nil || s.Certificate() != before {
				t.Errorf("got %v and %v, want that the old files stay in use", server, client)
			}
			if _, err := identity.Open(b.config); err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("Open: got %v, want %q in it", err, test.says)
			}
		})
	}
}

// TestStore_aMarkOfAnEditor in front of a text does not hide its first certificate, key or list.
func TestStore_aMarkOfAnEditor(t *testing.T) {
	b := newBed(t)
	b.revoke(time.Now().Add(10 * 24 * time.Hour))
	for _, name := range []string{"own.pem", "own.key", "ca.pem", "ca.crl"} {
		text, err := os.ReadFile(filepath.Join(b.dir, name))
		must(t, err)
		b.write(name, append([]byte("\ufeff"), text...))
	}
	s := b.open()
	if server, client := handshake(t, config(t, s.Server), config(t, s.Client)); server != nil || client != nil {
		t.Errorf("got %v and %v, want a connection", server, client)
	}
}

// pair writes the files of a certificate.
func (b *bed) pair(c *pki.Issued) {
	b.Helper()
	b.write("own.pem", pki.PEM(c))
	b.write("own.key", c.KeyPEM(b))
}

func TestStore_warnings(t *testing.T) {
	now := time.Now()
	tests := []struct {
		name string
		err  error
		says string
		make func(b *bed)
	}{
		{"a key that others can read", identity.ErrOpenKey, "own.key", func(b *bed) { must(b, os.Chmod(b.config.Key, 0o644)) }},
		{"a key that the group can replace", identity.ErrOpenKey, "0620", func(b *bed) { must(b, os.Chmod(b.config.Key, 0o620)) }},
		{"a certificate that ends soon", identity.ErrEndsSoon, "own.pem", func(b *bed) {
			b.pair(b.ca.Issue(b, "dns:a", pki.Valid(now.Add(-10*time.Hour), now.Add(time.Hour))))
		}},
		{"a CA that ends soon", identity.ErrEndsSoon, "both in the file", func(b *bed) {
			old := pki.NewCA(b, "old", pki.Valid(now.Add(-10*time.Hour), now.Add(time.Hour)))
			b.write("ca.pem", pki.PEM(b.ca, old))
		}},
		{"a CA that has expired", identity.ErrExpired, "ca.pem", func(b *bed) {
			old := pki.NewCA(b, "old", pki.Valid(now.Add(-10*time.Hour), now.Add(-time.Hour)))
			b.write("ca.pem", pki.PEM(b.ca, old))
		}},
		{"a list that ends soon", identity.ErrEndsSoon, "--renew", func(b *bed) { b.revoke(now.Add(10 * time.Second)) }},
		{"a certificate of a CA that is not in the file", identity.ErrUnknownCA, "peers", func(b *bed) {
			b.pair(pki.NewCA(b, "other").Issue(b, "dns:a"))
		}},
		{"a certificate that is revoked", identity.ErrRevoked, "peers", func(b *bed) { b.revoke(now.Add(24*time.Hour), b.own) }},
		{"a certificate for servers only", identity.ErrUsage, "peers", func(b *bed) {
			b.pair(b.ca.Issue(b, "dns:a", func(c *x509.Certificate) { c.ExtKeyUsage = c.ExtKeyUsage[:1] }))
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := newBed(t)
			test.make(b)
			s := b.open()
			must(t, s.Reload())
			if len(b.reports) != 1 || !b.reports[0].Loaded || len(b.reports[0].Warnings) != 1 {
				t.Fatalf("got %+v, want one report with one warning", b.reports)
			}
			if w := b.reports[0].Warnings[0]; !errors.Is(w, test.err) || !strings.Contains(w.Error(), test.says) {
				t.Errorf("got %v, want %v with %q in it", w, test.err, test.says)
			}
		})
	}
}

func TestOpen_invalidConfig(t *testing.T) {
	for i, c := range []identity.Config{
		{}, {Certificate: "a", Key: "b"}, {Certificate: "a", Key: "b", CA: "c", MaxChain: -1}, {Certificate: "a", Key: "b", CA: "c", Every: -1},
	} {
		if _, err := identity.Open(c); !errors.Is(err, identity.ErrInvalidConfig) {
			t.Errorf("%d: got %v, want ErrInvalidConfig", i, err)
		}
	}
}

func TestStore_keysOfOtherForms(t *testing.T) {
	b := newBed(t)
	der, err := x509.MarshalECPrivateKey(b.own.Key)
	must(t, err)
	// As openssl writes it, with the parameters in front.
	file := append([]byte("-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n"),
		pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})...)
	b.write("own.key", file)
	b.open()
	if len(b.reports) != 1 || len(b.reports[0].Warnings) > 0 {
		t.Errorf("got %v, want no warning", fmt.Sprint(b.reports))
	}
}
