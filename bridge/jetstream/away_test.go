// SPDX-License-Identifier: Apache-2.0

package jetstream_test

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"tagbus/bridge/durable"
	"tagbus/bridge/internal/natsserver"
	"tagbus/bridge/jetstream"
	"tagbus/internal/testkit/pki"
)

// TestAway is true of what may go by itself.
func TestAway(t *testing.T) {
	for _, test := range []struct {
		name string
		err  error
		want bool
	}{
		{"nothing", nil, false},
		{"no server listens", nats.ErrNoServers, true},
		{"no answer", nats.ErrTimeout, true},
		{"no answer of the system", &net.OpError{Op: "dial", Err: syscall.ETIMEDOUT}, true},
		{"a network that is not up yet", &net.OpError{Op: "dial", Err: syscall.ENETUNREACH}, true},
		{"a name that is not known yet", &net.OpError{Op: "dial", Err: &net.DNSError{IsNotFound: true}}, true},
		{"a connection that is closed at once", io.EOF, true},
		{"one that breaks", syscall.ECONNRESET, true},
		{"too many connections", nats.ErrMaxConnectionsExceeded, true},
		{"a handshake that does not end", fmt.Errorf("%w: %w", nats.ErrTLS, context.DeadlineExceeded), true},
		{"time that is over", context.DeadlineExceeded, true},
		{"JetStream that is not ready", &natsjs.APIError{Code: 503, ErrorCode: 10008}, true},
		{"JetStream that fails", &natsjs.APIError{Code: 500}, true},
		{"a question that makes no sense", &natsjs.APIError{Code: 400}, false},
		{"what is refused", fmt.Errorf("x: %w: y", durable.ErrRefused), false},
		{"a log that was closed", durable.ErrClosed, false},
		{"a configuration", fmt.Errorf("%w: URL", jetstream.ErrInvalidConfig), false},
		{"the end", context.Canceled, false},
		{"a file", fmt.Errorf("x: %w", &fs.PathError{Op: "open", Path: "f", Err: fs.ErrNotExist}), false},
		{"a certificate", &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}, false},
		{"an alert of TLS", &net.OpError{Op: "remote error", Err: tls.AlertError(42)}, false},
		{"a port that is none", &net.OpError{Op: "dial", Err: &net.AddrError{Err: "invalid port", Addr: "99999"}}, false},
	} {
		for _, err := range []error{test.err, fmt.Errorf("bridge/jetstream: connect to x: %w", test.err)} {
			if got := test.err != nil && jetstream.Away(err); got != test.want {
				t.Errorf("%s: got %t for %v, want %t", test.name, got, err, test.want)
			}
		}
	}
}

// listen listens, and serves each connection.
func listen(t *testing.T, serve func(net.Conn)) (url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	if serve != nil {
		go func() {
			for c, err := l.Accept(); err == nil; c, err = l.Accept() {
				serve(c)
			}
		}()
	}
	return "nats://" + l.Addr().String()
}

// TestOpen_ofServersThatAreNotThere: a program that is started before them waits, and one that can never reach them ends.
func TestOpen_ofServersThatAreNotThere(t *testing.T) {
	t.Parallel()
	server := pki.NewCA(t, "theirs").Issue(t, "dns:host")
	dir := t.TempDir()
	cert, key := pki.Write(t, dir, "cert", pki.PEM(server)), pki.Write(t, dir, "key", server.KeyPEM(t))
	secure := natsserver.Start(t, fmt.Sprintf("tls { cert_file: %q, key_file: %q }", cert, key))
	plain := natsserver.Start(t)
	missing := filepath.Join(dir, "missing")
	for _, test := range []struct {
		name string
		cfg  jetstream.Config
		away bool
		text string
	}{
		{"that hang", jetstream.Config{URL: listen(t, nil), AckTimeout: time.Second}, true, "timeout"},
		{"that end each connection", jetstream.Config{URL: listen(t, func(c net.Conn) { _ = c.Close() })}, true, ""},
		{"that do not listen, with one that hangs", jetstream.Config{URL: "nats://127.0.0.1:1," + listen(t, nil), AckTimeout: time.Second}, true, ""},
		{"of another CA", jetstream.Config{URL: secure.URL}, false, "name the CA that has signed"},
		{"without TLS", jetstream.Config{URL: strings.Replace(plain.URL, "nats://", "tls://", 1)}, false, "have no TLS"},
		{"with credentials that are missing", jetstream.Config{URL: plain.URL, Credentials: missing}, false, missing},
		{"with a seed that is missing", jetstream.Config{URL: plain.URL, NKey: missing}, false, missing},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.cfg.Stream, test.cfg.AckTimeout = "TAGBUS", cmp.Or(test.cfg.AckTimeout, patience)
			log, err := jetstream.Open(t.Context(), test.cfg)
			if err == nil {
				_ = log.Close()
				t.Fatal("got no error")
			}
			if jetstream.Away(err) != test.away || errors.Is(err, durable.ErrRefused) == test.away || !strings.Contains(err.Error(), test.text) {
				t.Errorf("got %v, which may go: %t, want %t, and %q", err, jetstream.Away(err), test.away, test.text)
			}
		})
	}
}
