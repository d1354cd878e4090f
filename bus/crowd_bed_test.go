// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"testing"

	"tagbus/internal/testkit/memnet"
	"tagbus/netio"
	"tagbus/subscription"
)

// crowd is many strangers on one host, of one connection each.
type crowd struct {
	*member
	b     *bed
	t     *testing.T
	hands []*hand
	at    netip.AddrPort // to dial, instead of the publisher's
}

func (b *bed) crowd(t *testing.T) *crowd { return &crowd{member: b.member(), b: b, t: t} }

// come opens a connection that says a good hello, and then what is in more.
func (c *crowd) come(p *publisher, more ...[]byte) (*hand, netio.Endpoint) {
	c.t.Helper()
	h := newHand()
	h.answer = append([][]byte{hello(c.t, subscription.Hello{Instance: fmt.Sprintf("%v-%d", c.host, len(c.hands)), MaxMessageBytes: 1 << 30})}, more...)
	return h, c.dial(p, h)
}

// dial opens a connection for h.
func (c *crowd) dial(p *publisher, h *hand) netio.Endpoint {
	c.t.Helper()
	backend, err := c.b.net.Opener(c.loop, memnet.Config{Host: c.host})(h)
	must(c.t, err)
	if len(c.hands) == 0 {
		c.t.Cleanup(c.loop.Close)
	}
	c.hands = append(c.hands, h)
	c.t.Cleanup(func() { must(c.t, backend.Close()) })
	at := c.at
	if !at.IsValid() {
		at = p.Addr()
	}
	must(c.t, backend.OpenEndpoint(at, netio.Params{}))
	return <-h.eps
}

// open counts the connections that have not been closed.
func (c *crowd) open() (n int) {
	for _, h := range c.hands {
		h.mu.Lock()
		if h.closed == 0 {
			n++
		}
		h.mu.Unlock()
	}
	return n
}

// wantCause fails the test unless a Lost or Refused event has a cause.
func wantCause(t *testing.T, m *member, cause error) {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range m.events {
		if errors.Is(e.Err, cause) {
			return
		}
	}
	t.Errorf("events: got %.2000v, want one with %q", m.events, cause)
}

// endless returns the head of a set of so many ranges, and a part of as many bytes
// of it as a message takes.
func endless(ranges uint64) (head, part []byte) {
	return binary.AppendUvarint([]byte{1}, ranges), make([]byte, 16000)
}

func liveHeap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
