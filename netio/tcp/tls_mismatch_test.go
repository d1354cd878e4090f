// SPDX-License-Identifier: Apache-2.0

package tcp_test

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"regexp"
	"strings"
	"sync"
	"testing"

	"tagbus/internal/testkit/pki"
	"tagbus/netio"
	"tagbus/netio/tcp"
)

// logbook is what a backend logs.
type logbook struct {
	mu   sync.Mutex
	text bytes.Buffer
	line chan struct{}
}

func newLogbook() *logbook { return &logbook{line: make(chan struct{}, 1<<10)} }

func (l *logbook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer func() { l.line <- struct{}{} }()
	return l.text.Write(p)
}

// reason waits for a line, and returns the error in it.
func (l *logbook) reason(t *testing.T) string {
	t.Helper()
	next(t, "a line of the log", l.line)
	l.mu.Lock()
	defer l.mu.Unlock()
	_, reason, _ := strings.Cut(strings.TrimSpace(l.text.String()), " err=")
	return strings.ReplaceAll(strings.Trim(reason, `"`), `\"`, `"`)
}

func (l *logbook) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// strip removes what differs from run to run: addresses and times.
func strip(text string) string {
	text = regexp.MustCompile(`(127\.0\.0\.1|\[::1\]):\d+`).ReplaceAllString(text, "ADDR")
	return regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`).ReplaceAllString(text, "TIME")
}

// TestTLS_bothEndsHearWhyTheyDoNotMatch: the dialler by OnConnectionRefused, and never as a
// connection that is established and then ends; the listener in its log.
func TestTLS_bothEndsHearWhyTheyDoNotMatch(t *testing.T) {
	ca := pki.New(t, "ca")
	good := ca.Issue(t, "good", nil)
	for _, tt := range mismatches(t, ca, good) {
		t.Run(tt.name, func(t *testing.T) {
			log := newLogbook()
			server := serve(t, newWatcher(), tcp.Config{TLS: tlsOf(clientConfig(ca, good), tt.server), Logger: log.logger()}, netio.Params{})
			w := newWatcher()
			client := openBackend(t, w, tcp.Config{TLS: tlsOf(tt.client, serverConfig(ca, good))})
			if err := client.OpenEndpoint(server.l.Addr(), netio.Params{}); err != nil {
				t.Fatalf("OpenEndpoint: got error %v, want none", err)
			}
			err := next(t, "OnConnectionRefused", w.Refused)
			if !errors.Is(err, tcp.ErrHandshake) || tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("dialler: got error %v, want %v and %v", err, tcp.ErrHandshake, tt.is)
			}
			if got := strip(err.Error()); got != tt.dialler {
				t.Errorf("dialler:\n got %s\nwant %s", got, tt.dialler)
			}
			if got := strip(log.reason(t)); got != tt.listener {
				t.Errorf("listener:\n got %s\nwant %s", got, tt.listener)
			}
			if got := len(server.Established) + len(w.Established); got != 0 {
				t.Errorf("OnConnectionEstablished: got %d, want none", got)
			}
			if got := server.b.Stats(); got.AcceptErrors != 1 || got.Accepted != 0 {
				t.Errorf("Stats: got %d accept errors and %d accepted, want 1 and 0", got.AcceptErrors, got.Accepted)
			}
		})
	}
}

// TestTLS_refusesAConfigurationThatVerifiesNothing before anything is sent.
func TestTLS_refusesAConfigurationThatVerifiesNothing(t *testing.T) {
	ca := pki.New(t, "ca")
	good := ca.Issue(t, "good", nil)
	server := serve(t, newWatcher(), tcp.Config{TLS: tlsOf(clientConfig(ca, good), serverConfig(ca, good))}, netio.Params{})
	tests := []struct {
		name   string
		client func() (*tls.Config, error)
		want   string
	}{
		{"InsecureSkipVerify", func() (*tls.Config, error) { return &tls.Config{InsecureSkipVerify: true}, nil }, "InsecureSkipVerify of TLS.Client is true without VerifyConnection"},
		{"the CAs of the system", func() (*tls.Config, error) { return &tls.Config{}, nil }, "RootCAs of TLS.Client is nil"},
		{"no configuration", func() (*tls.Config, error) { return nil, nil }, "TLS.Client has returned nil"},
		{"an error", func() (*tls.Config, error) { return nil, errors.New("no such file") }, "TLS.Client: no such file"},
		{"a panic", func() (*tls.Config, error) { panic("on purpose") }, "panicked: on purpose"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWatcher()
			cfg := tlsOf(nil, nil)
			cfg.Client = tt.client
			client := openBackend(t, w, tcp.Config{TLS: cfg, Logger: slog.New(slog.DiscardHandler)})
			if err := client.OpenEndpoint(server.l.Addr(), netio.Params{}); err != nil {
				t.Fatalf("OpenEndpoint: got error %v, want none", err)
			}
			if err := next(t, "OnConnectionRefused", w.Refused); !errors.Is(err, tcp.ErrHandshake) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got error %v, want %v with %q", err, tcp.ErrHandshake, tt.want)
			}
		})
	}
}

// TestTLS_andPlainTellEachOtherApart in both directions.
func TestTLS_andPlainTellEachOtherApart(t *testing.T) {
	log := newLogbook()
	sealed := withTLS(t, tcp.Config{Logger: log.logger()})
	t.Run("a plain dialler", func(t *testing.T) {
		server := serve(t, newWatcher(), sealed, netio.Params{})
		w := newWatcher()
		client := openBackend(t, w, tcp.Config{})
		if err := client.OpenEndpoint(server.l.Addr(), netio.Params{}); err != nil {
			t.Fatalf("OpenEndpoint: got error %v, want none", err)
		}
		ep := next(t, "OnConnectionEstablished", w.Established) // plain TCP has no handshake
		if err := ep.Send(1, nil, []byte("hello")); err != nil {
			t.Fatalf("Send: got error %v, want none", err)
		}
		cause := next(t, "OnConnectionClosed", w.Closed).Cause
		want := `netio: receive ADDR: tcp: the peer speaks TLS: use the same backend, "tls", at both ends: netio: peer announced an impossible message length: 542329940 bytes, want 1 to 1048576`
		if got := strip(cause.Error()); !errors.Is(cause, tcp.ErrPeerSpeaksTLS) || got != want {
			t.Errorf("dialler:\n got %s\nwant %s", got, want)
		}
		if got, want := log.reason(t), tcp.ErrPeerSpeaksPlain.Error(); got != want {
			t.Errorf("listener: got %s, want %s", got, want)
		}
	})
	t.Run("a plain listener", func(t *testing.T) {
		server := serve(t, newWatcher(), tcp.Config{}, netio.Params{})
		w := newWatcher()
		client := openBackend(t, w, sealed)
		if err := client.OpenEndpoint(server.l.Addr(), netio.Params{}); err != nil {
			t.Fatalf("OpenEndpoint: got error %v, want none", err)
		}
		err := next(t, "OnConnectionRefused", w.Refused)
		want := `netio: open endpoint ADDR: tcp: the TLS handshake failed: remote error: tls: protocol version not supported: the peer speaks plain tcp: use the same backend, "tls", at both ends`
		if got := strip(err.Error()); !errors.Is(err, tcp.ErrPeerSpeaksPlain) || got != want {
			t.Errorf("dialler:\n got %s\nwant %s", got, want)
		}
		cause := next(t, "OnConnectionClosed", server.Closed).Cause
		if !errors.Is(cause, tcp.ErrPeerSpeaksTLS) || !errors.Is(cause, netio.ErrMessageLength) {
			t.Errorf("listener: got %v, want %v and %v", cause, tcp.ErrPeerSpeaksTLS, netio.ErrMessageLength)
		}
	})
	for _, tt := range []struct{ name, says, want string }{
		{"HTTP", "GET / HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.0 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\nThis port speaks tagbus over TLS, not HTTP.\n"},
		{"a person", "x", "TLS only: this port speaks tagbus over TLS, and got plain bytes. Use the backend tls.\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := serve(t, newWatcher(), sealed, netio.Params{})
			c := dialRaw(t, server.l.Addr())
			write(t, c, []byte(tt.says))
			if got, err := io.ReadAll(c); err != nil || string(got) != tt.want {
				t.Errorf("got %q and error %v, want %q", got, err, tt.want)
			}
		})
	}
}

// TestTLS_otherUsers speak another version, or another protocol.
func TestTLS_otherUsers(t *testing.T) {
	ca := pki.New(t, "ca")
	good := ca.Issue(t, "good", nil)
	cfg := tcp.Config{TLS: tlsOf(clientConfig(ca, good), serverConfig(ca, good))}
	tests := []struct {
		name             string
		change           func(*tls.Config)
		dialler, reasons string
	}{
		{"TLS 1.2", func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 }, "remote error: tls: protocol version not supported", "tls: client offered only unsupported versions: [303]"},
		{"another protocol", func(c *tls.Config) { c.NextProtos = []string{"h2"} }, "remote error: tls: no application protocol", `tls: client requested unsupported application protocols (["h2"])`},
		{"no protocol", func(c *tls.Config) { c.NextProtos = nil }, "EOF", "the peer does not speak tagbus/1: it has not asked for this protocol (ALPN)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			log := newLogbook()
			cfg := cfg
			cfg.Logger = log.logger()
			server := serve(t, newWatcher(), cfg, netio.Params{})
			own := clientConfig(ca, good)
			tt.change(own)
			c := tls.Client(dialRaw(t, server.l.Addr()), own)
			if _, err := c.Read(make([]byte, 1)); err == nil || err.Error() != tt.dialler {
				t.Errorf("dialler: got error %v, want %s", err, tt.dialler)
			}
			if got := log.reason(t); !strings.HasPrefix(got, tcp.ErrHandshake.Error()+": ") || !strings.Contains(got, tt.reasons) {
				t.Errorf("listener: got %s, want %s", got, tt.reasons)
			}
		})
	}
	t.Run("a server without the protocol", func(t *testing.T) {
		own := serverConfig(ca, good)
		l, err := tls.Listen("tcp", "127.0.0.1:0", own)
		if err != nil {
			t.Fatalf("listen: got error %v, want none", err)
		}
		defer l.Close()
		served := make(chan struct{})
		go func() {
			defer close(served)
			if c, err := l.Accept(); err == nil {
				_, _ = io.Copy(io.Discard, c)
				_ = c.Close()
			}
		}()
		w := newWatcher()
		client := openBackend(t, w, cfg)
		if err := client.OpenEndpoint(addrOf(t, l.Addr()), netio.Params{}); err != nil {
			t.Fatalf("OpenEndpoint: got error %v, want none", err)
		}
		if err := next(t, "OnConnectionRefused", w.Refused); !errors.Is(err, tcp.ErrNoProtocol) {
			t.Errorf("got error %v, want %v", err, tcp.ErrNoProtocol)
		}
		next(t, "the end of the server", served)
	})
}

// TestTLS_namesAResetInTheHandshake: a peer that closes with bytes unread resets the connection.
func TestTLS_namesAResetInTheHandshake(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen: got error %v, want none", err)
	}
	defer l.Close()
	w := newWatcher()
	client := openBackend(t, w, withTLS(t, tcp.Config{}))
	if err := client.OpenEndpoint(addrOf(t, l.Addr()), netio.Params{}); err != nil {
		t.Fatalf("OpenEndpoint: got error %v, want none", err)
	}
	c, err := l.Accept()
	if err != nil {
		t.Fatalf("accept: got error %v, want none", err)
	}
	wantBytes(t, c, []byte{22, 3, 1}) // the hello has come, and has a rest
	_ = c.Close()
	want := "netio: open endpoint ADDR: tcp: the TLS handshake failed: unexpected EOF: the peer has closed the connection; its log says why"
	if got := strip(next(t, "OnConnectionRefused", w.Refused).Error()); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
