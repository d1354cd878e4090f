// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"tagbus/bus/directory/codec"
	"tagbus/bus/directory/directorytest"
	"tagbus/directory/etcd"
	"tagbus/directory/etcd/internal/embedded"
)

// announceAsOther announces an entry as a process does that is killed at once. It returns
// its lease.
func announceAsOther(t *testing.T, s *embedded.Server, instance string) clientv3.LeaseID {
	t.Helper()
	ctx := context.Background()
	client := s.Client()
	lease, err := client.Grant(ctx, int64(expiry.Seconds()))
	if err != nil {
		t.Fatal(err)
	}
	value, err := codec.Append(nil, directorytest.Entry(instance, 1))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Put(ctx, "/tagbus/test/e/"+instance, string(value), clientv3.WithLease(lease.ID)); err != nil {
		t.Fatal(err)
	}
	return lease.ID
}

// proxy stands between a directory and a server.
type proxy struct {
	t        *testing.T
	listener net.Listener
	to       string

	mu      sync.Mutex
	broken  bool
	deaf    bool
	links   map[net.Conn]bool
	running sync.WaitGroup
}

func newProxy(t *testing.T, s *embedded.Server) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{t: t, listener: l, to: strings.TrimPrefix(s.Endpoint(), "unix://"), links: make(map[net.Conn]bool)}
	p.running.Go(p.run)
	t.Cleanup(func() {
		_ = l.Close()
		p.cut()
		p.running.Wait()
	})
	return p
}

// endpoint makes a directory go through the proxy.
func (p *proxy) endpoint(c *etcd.Config) { c.Endpoints = []string{p.listener.Addr().String()} }

func (p *proxy) run() {
	for {
		from, err := p.listener.Accept()
		if err != nil {
			return
		}
		to, err := net.Dial("unix", p.to)
		if err != nil || !p.add(from, to) {
			_ = from.Close()
			if to != nil {
				_ = to.Close()
			}
			continue
		}
		p.running.Go(func() { copyTo(to, from) })
		p.running.Go(func() { copyTo(answers{from, p}, to) })
	}
}

// answers are what goes to a client. A proxy that is deaf loses them.
type answers struct {
	net.Conn
	p *proxy
}

func (a answers) Write(b []byte) (int, error) {
	if a.p.isDeaf() {
		return len(b), nil
	}
	return a.Conn.Write(b)
}

// loseAnswers makes the servers do what they are asked, and the client not learn of it.
func (p *proxy) loseAnswers() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.deaf = true
}

func (p *proxy) isDeaf() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.deaf
}

// copyTo copies until one of both ends, and ends the other.
func copyTo(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	_ = to.Close()
	_ = from.Close()
}

func (p *proxy) add(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.broken {
		return false
	}
	for _, c := range conns {
		p.links[c] = true
	}
	return true
}

// cut ends all connections and lets no new one through.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.broken = true
	for c := range p.links {
		_ = c.Close()
	}
	clear(p.links)
}

// mend lets connections through again.
func (p *proxy) mend() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.broken, p.deaf = false, false
}
