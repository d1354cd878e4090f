// SPDX-License-Identifier: Apache-2.0

package tcp_test

import (
	"errors"
	"testing"

	"tagbus/internal/testkit/backendtest"
	"tagbus/internal/testkit/extremes"
	"tagbus/netio"
	"tagbus/netio/reactor"
	"tagbus/netio/tcp"
)

// TestConfig_atTheEdgesOfItsTypes: a backend with a number or time near the largest
// or smallest of its type refuses it by name, or a message arrives.
func TestConfig_atTheEdgesOfItsTypes(t *testing.T) {
	t.Run("tcp", func(t *testing.T) {
		extremes.Each(t, tcp.Config{}, func(t *testing.T, config any) error {
			return exchange(t, config.(tcp.Config), netio.Params{})
		})
	})
	t.Run("tls", func(t *testing.T) {
		cfg := withTLS(t, tcp.Config{})
		extremes.Each(t, *cfg.TLS, func(t *testing.T, config any) error {
			own := config.(tcp.TLS)
			return exchange(t, tcp.Config{TLS: &own}, netio.Params{})
		})
	})
	t.Run("parameters", func(t *testing.T) {
		extremes.Each(t, netio.Params{}, func(t *testing.T, config any) error {
			return exchange(t, tcp.Config{}, config.(netio.Params))
		})
	})
}

// exchange sends a message from a backend to another one, or returns why that is refused.
func exchange(t *testing.T, cfg tcp.Config, p netio.Params) error {
	t.Helper()
	server, client := newWatcher(), newWatcher()
	var backends []netio.Backend
	for _, w := range []*watcher{server, client} {
		b, err := tcp.Opener(backendtest.StartLoop(t, reactor.Config{}).EventLoop, cfg)(w)
		if errors.Is(err, netio.ErrInvalidConfig) {
			return err
		}
		if err != nil {
			t.Fatalf("open backend: got error %v, want none or %v", err, netio.ErrInvalidConfig)
		}
		t.Cleanup(func() { _ = b.Close() })
		backends = append(backends, b)
	}
	l, err := backends[0].OpenListenEndpoint(loopback, p)
	if errors.Is(err, netio.ErrInvalidParams) || errors.Is(err, netio.ErrNoMemory) {
		return refusedParams(err)
	}
	if err != nil {
		t.Fatalf("OpenListenEndpoint: got error %v, want none", err)
	}
	if err := backends[1].OpenEndpoint(l.Addr(), p); err != nil {
		return refusedParams(err)
	}
	next(t, "OnConnectionEstablished", server.Established)
	ep := next(t, "OnConnectionEstablished", client.Established)
	onLoop(t, backends[1].Loop(), func() { err = ep.Send(1, nil, []byte("x")) })
	if err != nil {
		t.Fatalf("Send: got error %v, want none", err)
	}
	if got := next(t, "OnData", server.Data); string(got) != "x" {
		t.Errorf("OnData: got %q, want %q", got, "x")
	}
	return nil
}

// refusedParams returns nil if the memory is what is missing.
func refusedParams(err error) error {
	if errors.Is(err, netio.ErrNoMemory) {
		return nil
	}
	return err
}
