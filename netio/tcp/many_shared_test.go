// SPDX-License-Identifier: Apache-2.0

package tcp_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"net/netip"
	"runtime/debug"
	"slices"
	"testing"

	"tagbus/internal/testkit"
	"tagbus/netio"
	"tagbus/netio/netiotest"
	"tagbus/netio/tcp"
)

// Of TestBackend_thousandConnectionsWithSharedBuffers.
const (
	sharedConnections  = 1_000
	sharedMessages     = 20 // of each end
	sharedSendBuffers  = 32
	sharedSendBytes    = 16 << 10
	sharedReceives     = 8
	sharedReceiveBytes = 64 << 10

	// sharedBytesEach is how much the process may grow by with each connection,
	// for both of its endpoints and what the test keeps of them: 13 KiB as
	// measured. Send buffers of their own alone would make it more than 64 KiB.
	sharedBytesEach = 32 << 10
)

// sharer is the handler of a backend whose endpoints share buffers. At each end
// of each connection it sends messages that name the connection, the direction
// and their place, and checks those that come. The accepting end learns its
// number from the first message. Fields are used on the loop.
type sharer struct {
	tb    testing.TB
	b     netio.Backend
	opens bool // the end that dials

	ends    []netio.Endpoint
	left    int // ends that have not sent or received all
	closed  int
	refused int // sends, for want of a buffer
	done    chan struct{}
}

// sharing is what a sharer knows of an endpoint, its Context.
type sharing struct {
	number                    int // -1: not known yet
	sent, completed, received int
	over                      bool
}

// sharedPattern is what the messages are cut from.
var sharedPattern = func() []byte {
	pattern := make([]byte, 2*sharedSendBytes)
	rand.NewChaCha8([32]byte{}).Read(pattern) //nolint:errcheck // never fails
	return pattern
}()

// sharedMessage returns message i of an end in two parts, together up to 16 KiB
// and different from all others.
func sharedMessage(number, i int, opens bool) (head uint64, rest []byte) {
	head = uint64(number)<<16 | uint64(i)<<1
	if opens {
		head |= 1
	}
	from := (number*31 + i*7) % sharedSendBytes
	size := (number*7919 + i*104729) % (sharedSendBytes - 8)
	return head, sharedPattern[from : from+size]
}

func (s *sharer) OnConnectionEstablished(ep netio.Endpoint) {
	state := &sharing{number: -1}
	s.ends = append(s.ends, ep)
	if number, ok := ep.Context().(int); ok {
		state.number = number
	}
	ep.SetContext(state)
	s.pump(ep, state)
}

// pump sends until there is no buffer, and goes on at the next readiness.
func (s *sharer) pump(ep netio.Endpoint, state *sharing) {
	for state.number >= 0 && state.sent < sharedMessages {
		b, err := ep.Buffer()
		if err == nil {
			head, rest := sharedMessage(state.number, state.sent, s.opens)
			if err = errors.Join(b.WriteUint64(head), writeAll(b, rest)); err == nil {
				err = ep.SendBuffer(b)
			}
			if err != nil {
				b.Release()
			}
		}
		switch {
		case errors.Is(err, netio.ErrNoResources):
			s.refused++
			return
		case err != nil:
			s.tb.Errorf("connection %d: send: got error %v, want none", state.number, err)
			return
		}
		state.sent++
	}
}

func writeAll(b *netio.Buffer, data []byte) error {
	_, err := b.Write(data)
	return err
}

func (s *sharer) OnData(ep netio.Endpoint, data []byte) {
	state := ep.Context().(*sharing)
	if len(data) < 8 {
		s.tb.Errorf("connection %d: message %d: got %d bytes, want 8 or more", state.number, state.received, len(data))
		return
	}
	got := binary.LittleEndian.Uint64(data)
	if state.number < 0 {
		state.number = int(got >> 16)
		s.pump(ep, state)
	}
	if head, rest := sharedMessage(state.number, state.received, !s.opens); got != head || !bytes.Equal(data[8:], rest) {
		s.tb.Errorf("connection %d: message %d: got %#x and %d bytes, want %#x and %d bytes, all equal",
			state.number, state.received, got, len(data)-8, head, len(rest))
	}
	state.received++
	s.check(state)
}

func (s *sharer) OnSendCompleted(c netio.Completion) {
	state := c.Endpoint.Context().(*sharing)
	state.completed++
	s.check(state)
}

func (s *sharer) OnSendReady(ep netio.Endpoint) { s.pump(ep, ep.Context().(*sharing)) }

// check signals when all ends have sent and received all.
func (s *sharer) check(state *sharing) {
	if !state.over && state.completed == sharedMessages && state.received == sharedMessages {
		state.over = true
		if s.left--; s.left == 0 {
			s.done <- struct{}{}
		}
	}
}

func (s *sharer) OnConnectionRefused(addr netip.AddrPort, err error) {
	s.tb.Errorf("OnConnectionRefused: got one for %v (%v), want none", addr, err)
}

func (s *sharer) OnConnectionClosed(ep netio.Endpoint, keys []netio.Key, cause error) {
	if state := ep.Context().(*sharing); !state.over || len(keys) > 0 {
		s.tb.Errorf("connection %d: got closed (%v) with %+v and keys %v, want all sent and received before", state.number, cause, *state, keys)
	}
	if s.closed++; s.closed == len(s.ends) {
		s.ends, s.closed = nil, 0
		s.done <- struct{}{}
	}
}

// sharingPair is two sharers and where one listens.
type sharingPair struct {
	server, client *sharer
	port           uint16
}

func newSharingPair(t *testing.T) *sharingPair {
	t.Helper()
	cfg := tcp.Config{Config: netio.Config{
		SharedReceive: netio.SharedBuffers{Buffers: sharedReceives, BufferBytes: sharedReceiveBytes},
		SharedSend:    netio.SharedBuffers{Buffers: sharedSendBuffers, BufferBytes: sharedSendBytes},
	}}
	p := &sharingPair{}
	for i, s := range []**sharer{&p.server, &p.client} {
		*s = &sharer{tb: t, opens: i == 1, done: make(chan struct{}, 1)}
		(*s).b = openBackend(t, *s, cfg)
	}
	l, err := p.server.b.OpenListenEndpoint(netip.MustParseAddrPort("0.0.0.0:0"), netio.Params{})
	if err != nil {
		t.Fatalf("OpenListenEndpoint: got error %v, want none", err)
	}
	p.port = l.Addr().Port()
	return p
}

// run sends and receives on n connections at the same time, and measures while they are
// all open, before it closes them.
func (p *sharingPair) run(t *testing.T, n int) (resident int64) {
	t.Helper()
	both := []*sharer{p.server, p.client}
	for _, s := range both {
		onLoop(t, s.b.Loop(), func() { s.left, s.ends = n, make([]netio.Endpoint, 0, n) })
	}
	for number := range n {
		addr := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 64, byte(number >> 8), byte(number)}), p.port)
		if err := p.client.b.OpenEndpoint(addr, netio.Params{Context: number}); err != nil {
			t.Fatalf("OpenEndpoint of connection %d: got error %v, want none", number, err)
		}
	}
	for _, s := range both {
		next(t, "the messages of all connections", s.done)
	}
	debug.FreeOSMemory() // what the heap has only left over
	resident = processBytes(t)
	for _, s := range both {
		onLoop(t, s.b.Loop(), func() {
			room := s.ends[0].Room()
			if room.Buffers != sharedSendBuffers {
				t.Errorf("free send buffers when all is sent: got %d, want %d", room.Buffers, sharedSendBuffers)
			}
			if n >= sharedConnections && (room.MinBuffers != 0 || s.refused == 0) {
				t.Errorf("with %d connections: got at least %d of %d send buffers free and %d sends refused, want some to wait",
					n, room.MinBuffers, sharedSendBuffers, s.refused)
			}
		})
	}
	onLoop(t, p.client.b.Loop(), func() {
		for _, ep := range slices.Clone(p.client.ends) {
			if err := ep.Close(); err != nil {
				t.Errorf("Close: got error %v, want none", err)
			}
		}
	})
	for _, s := range both {
		next(t, "the end of all connections", s.done)
	}
	return resident
}

// TestBackend_thousandConnectionsWithSharedBuffers: 1,000 connections of one process send and
// receive at the same time, in both directions and each byte verified, with send and
// receive buffers that they share. The memory that the process has meanwhile is that of
// 10 connections, except the endpoints themselves.
func TestBackend_thousandConnectionsWithSharedBuffers(t *testing.T) {
	netiotest.CheckLeaks(t)
	p := newSharingPair(t)
	few := p.run(t, 10)
	many := p.run(t, sharedConnections)
	t.Logf("resident bytes: %d with 10 connections, %d with %d: %d for each", few, many, sharedConnections, (many-few)/sharedConnections)
	if testkit.Race {
		return // the detector has a memory of its own
	}
	if bound := int64(sharedConnections * sharedBytesEach); many > few+bound {
		t.Errorf("resident bytes with %d connections: got %d, want at most %d more than the %d with 10", sharedConnections, many, bound, few)
	}
	for _, s := range []*sharer{p.server, p.client} {
		if used, _ := tcp.BackendBytes(s.b); used != 0 {
			t.Errorf("bytes in use when all connections have ended: got %d, want 0", used)
		}
	}
}
