// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"net/netip"
	"sync/atomic"
	"testing"

	"tagbus/bus/directory"
	"tagbus/netio"
	"tagbus/subscription"
	"tagbus/tags"
)

// postCount counts what is posted to a loop and has not run.
type postCount struct{ waiting, most atomic.Int64 }

// counted returns an opener whose backends count what their user posts.
func (c *postCount) counted(open netio.Opener) netio.Opener {
	return func(h netio.Handler) (netio.Backend, error) {
		b, err := open(h)
		return countedBackend{b, c}, err
	}
}

type countedBackend struct {
	netio.Backend
	count *postCount
}

// Loop implements netio.Backend.
func (b countedBackend) Loop() netio.Loop { return countedLoop{b.Backend.Loop(), b.count} }

type countedLoop struct {
	netio.Loop
	count *postCount
}

// Post implements netio.Loop.
func (l countedLoop) Post(f func()) bool {
	c := l.count
	if n := c.waiting.Add(1); n > c.most.Load() {
		c.most.Store(n)
	}
	return l.Loop.Post(func() {
		c.waiting.Add(-1)
		f()
	})
}

// flood is a stranger that sends its messages as fast as they are taken.
type flood struct {
	stranger
	next func() []byte // nil: no more
}

func (s *flood) OnConnectionEstablished(ep netio.Endpoint) {
	s.stranger.OnConnectionEstablished(ep)
	s.send(ep)
}

func (s *flood) OnSendReady(ep netio.Endpoint)      { s.send(ep) }
func (s *flood) OnSendCompleted(c netio.Completion) { s.send(c.Endpoint) }
func (s *flood) send(ep netio.Endpoint) {
	for s.next != nil {
		data := s.next()
		if data == nil {
			s.next = nil
			return
		}
		if err := ep.SendCopy(0, nil, data); err != nil {
			rest := s.next
			s.next = func() []byte { s.next = rest; return data }
			return
		}
	}
}

// publisherByHand announces x as the publisher "x" of a set, and returns where it
// listens.
func (b *bed) publisherByHand(x netio.Handler, set tags.Set) netip.Addr {
	b.tb.Helper()
	backend, host := b.stranger(x)
	listen, err := backend.OpenListenEndpoint(netip.AddrPortFrom(host, 0), netio.Params{})
	must(b.tb, err)
	_, err = b.dir.Announce(directory.Entry{
		Instance: "x", Backend: backend.Name(), Tags: set,
		Addresses: []netip.AddrPort{listen.Addr()}, PageBytes: 1 << 14, MaxMessageBytes: 1 << 14,
	})
	must(b.tb, err)
	return host
}

// positionsOf lists the tags from 1 to n with a count.
func positionsOf(n, count uint64) (list []byte) {
	for tag := tags.Tag(1); tag <= tags.Tag(n); tag++ {
		list = subscription.AppendPosition(list, tag-1, subscription.Position{Tag: tag, Count: count})
	}
	return list
}

// repeat returns messages one after another, and then all of them again, n in all.
func repeat(n int, messages ...[]byte) func() []byte {
	i := 0
	return func() []byte {
		if i == n {
			return nil
		}
		i++
		return messages[(i-1)%len(messages)]
	}
}

// xHello is the hello of x.
func xHello(t *testing.T, role string, beats int) [][]byte {
	t.Helper()
	return [][]byte{hello(t, subscription.Hello{Instance: "x", Role: role, MaxMessageBytes: 1 << 30, BeatMillis: beats})}
}
