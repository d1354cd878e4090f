// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"net/netip"
	"sync"
	"testing"

	"tagbus/internal/testkit/memnet"
	"tagbus/netio"
	"tagbus/subscription"
)

// stranger is a peer made by hand. It sends what it is told to, and records what it
// gets, except beats.
type stranger struct {
	netio.NopHandler
	answer [][]byte        // sent when a connection is established
	reply  map[byte][]byte // sent when a message with this first byte comes

	mu     sync.Mutex
	ep     netio.Endpoint // the last
	got    [][]byte
	closed int
	cause  error
}

func (s *stranger) OnConnectionEstablished(ep netio.Endpoint) {
	s.mu.Lock()
	s.ep = ep
	s.mu.Unlock()
	for _, data := range s.answer {
		_ = ep.SendCopy(0, nil, data)
	}
}

func (s *stranger) OnData(ep netio.Endpoint, data []byte) {
	if reply := s.reply[data[0]]; reply != nil {
		_ = ep.SendCopy(0, nil, reply)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if data[0] == byte(subscription.KindBeat) {
		return
	}
	s.got = append(s.got, append([]byte(nil), data...))
}

func (s *stranger) OnConnectionClosed(_ netio.Endpoint, _ []netio.Key, cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed++
	s.cause = cause
}

// send sends messages on the connection.
func (s *stranger) send(messages ...[]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, data := range messages {
		_ = s.ep.SendCopy(0, nil, data)
	}
}

// ended reports whether its connection has ended.
func (s *stranger) ended() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed > 0
}

// answers returns how many messages it got.
func (s *stranger) answers() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.got)
}

// stranger opens a backend for s on a host of its own.
func (b *bed) stranger(s netio.Handler) (netio.Backend, netip.Addr) {
	m := b.member()
	backend, err := b.net.Opener(m.loop, memnet.Config{Host: m.host, Certificates: b.shows})(s)
	must(b.tb, err)
	b.tb.Cleanup(func() {
		must(b.tb, backend.Close())
		m.loop.Close()
	})
	return backend, m.host
}

func hello(t *testing.T, h subscription.Hello) []byte {
	t.Helper()
	b, err := subscription.AppendHello(nil, h)
	must(t, err)
	return b
}

func control(t *testing.T, m subscription.Message) []byte {
	t.Helper()
	b, err := subscription.Append(nil, m)
	must(t, err)
	return b
}

func otherVersion(b []byte) []byte {
	b = append([]byte(nil), b...)
	b[6]++
	return b
}

// atMostOne stands for the answer of a publisher that may close before its
// hello is sent.
const atMostOne = -1
