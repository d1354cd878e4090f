// SPDX-License-Identifier: Apache-2.0

package memnet_test

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tagbus/internal/testkit/memnet"
	"tagbus/netio"
)

var (
	hostA   = netip.MustParseAddr("10.0.0.1")
	hostB   = netip.MustParseAddr("10.0.0.2")
	onA     = netip.AddrPortFrom(hostA, 0) // as a pattern: any port of A
	onB     = netip.AddrPortFrom(hostB, 0)
	addrA   = netip.AddrPortFrom(hostA, 1000)
	anybody netip.AddrPort
)

// world is a network with a server on host A and a client on host B.
type world struct {
	*testing.T
	net            *memnet.Network
	loop           *memnet.Loop
	server, client *user
	sb, cb         netio.Backend
}

// inWorld runs f in a bubble. The server listens on addrA; nothing is
// connected yet.
func inWorld(t *testing.T, f func(w *world)) {
	t.Helper()
	inBubble(t, func(t *testing.T, l *memnet.Loop) {
		w := &world{T: t, net: memnet.New(), loop: l, server: &user{}, client: &user{}}
		w.sb = w.open(hostA, w.server)
		w.cb = w.open(hostB, w.client)
		w.listen(w.sb)
		f(w)
	})
}

func (w *world) open(host netip.Addr, h netio.Handler) netio.Backend {
	w.Helper()
	return openBackend(w, w.net.Opener(w.loop, memnet.Config{Host: host}), h)
}

func (w *world) listen(b netio.Backend) {
	w.Helper()
	if _, err := b.OpenListenEndpoint(addrA, netio.Params{}); err != nil {
		w.Fatalf("OpenListenEndpoint: got error %v, want none", err)
	}
}

func (w *world) dial() {
	w.Helper()
	if err := w.cb.OpenEndpoint(addrA, netio.Params{ZeroCopy: netio.ZeroCopyParams{Outstanding: 4}}); err != nil {
		w.Fatalf("OpenEndpoint: got error %v, want none", err)
	}
	synctest.Wait()
}

// sleep lets d pass. The post orders what the test has read before what the
// loop will write, for the race detector.
func (w *world) sleep(d time.Duration) {
	w.loop.Post(func() {})
	sleep(d)
}

// connect connects the client and the server.
func (w *world) connect() {
	w.Helper()
	w.dial()
	if w.client.ep == nil || w.server.ep == nil {
		w.Fatalf("OpenEndpoint: got a connection %v at the client and %v at the server, want both", w.client.ep, w.server.ep)
	}
}

// say sends one message from the client, which must be accepted.
func (w *world) say(text string) {
	w.Helper()
	if err := w.client.send(2, 1, text); err != nil {
		w.Fatalf("send %q: got error %v, want none", text, err)
	}
	synctest.Wait()
}

// heard checks what the server has received in all.
func (w *world) heard(when string, want ...string) {
	w.Helper()
	if diff := cmp.Diff(want, w.server.received); diff != "" {
		w.Errorf("messages received %s (-want +got):\n%s", when, diff)
	}
}
