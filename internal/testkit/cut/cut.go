// SPDX-License-Identifier: Apache-2.0

// Package cut is a proxy for tests, whose connections can be cut.
package cut

import (
	"io"
	"net"
	"net/netip"
	"sync"
	"testing"
)

// Proxy passes connections on, until they are cut.
type Proxy struct {
	listener net.Listener

	mu    sync.Mutex
	conns []net.Conn
}

// New returns a proxy that listens, until the test ends.
func New(tb testing.TB) *Proxy {
	tb.Helper()
	l, err := new(net.ListenConfig).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	p := &Proxy{listener: l}
	tb.Cleanup(func() {
		_ = l.Close()
		p.Cut()
	})
	return p
}

// Addr returns where the proxy listens.
func (p *Proxy) Addr() netip.AddrPort { return p.listener.Addr().(*net.TCPAddr).AddrPort() }

// Serve has the proxy pass on what comes to an address, until the test ends.
func (p *Proxy) Serve(to string) {
	go func() {
		for {
			a, err := p.listener.Accept()
			if err != nil {
				return
			}
			b, err := net.Dial("tcp", to) //nolint:noctx // it does not wait on one host
			if err != nil {
				_ = a.Close()
				continue
			}
			p.mu.Lock()
			p.conns = append(p.conns, a, b)
			p.mu.Unlock()
			go pass(a, b)
			go pass(b, a)
		}
	}()
}

func pass(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	_ = to.Close()
	_ = from.Close()
}

// Cut cuts all connections, and reports whether there were some.
func (p *Proxy) Cut() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	some := len(p.conns) > 0
	for _, c := range p.conns {
		_ = c.Close()
	}
	p.conns = nil
	return some
}
