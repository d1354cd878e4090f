// SPDX-License-Identifier: Apache-2.0

package tcp_test

import (
	"bytes"
	"testing"

	"tagbus/internal/testkit/pki"
	"tagbus/netio"
	"tagbus/netio/tcp"
)

// TestTLS_bytesInItWaitForABuffer: what crypto/tls has read is not in the socket any more, and
// makes no event when a receive buffer comes back.
func TestTLS_bytesInItWaitForABuffer(t *testing.T) {
	ca := pki.New(t, "ca")
	good := ca.Issue(t, "good", nil)
	cfg := tcp.WithReadBudget(tcp.Config{
		Config: netio.Config{SharedReceive: netio.SharedBuffers{Buffers: 1, BufferBytes: 4092}},
		TLS:    tlsOf(clientConfig(ca, good), serverConfig(ca, good)),
	}, 4<<10)
	server := serve(t, newWatcher(), cfg, netio.Params{})
	many, _ := dialTLS(t, server, ca, good)
	part, partEnd := dialTLS(t, server, ca, good)
	release := holdLoop(t, server.b.Loop())
	message := frame(pattern(1020, 1))
	write(t, many, bytes.Repeat(message, 12)) // a record, of which a turn delivers a third
	whole := frame(pattern(3000, 2))
	write(t, part, whole[:1000])
	release()
	for range 4 { // the buffer goes to the other one, which keeps it
		next(t, "OnData", server.Data)
	}
	for held := false; !held; {
		onLoop(t, server.b.Loop(), func() { held = tcp.Part(partEnd) == 1000 })
	}
	write(t, part, whole[1000:])
	for range 9 {
		next(t, "OnData", server.Data)
	}
}

// TestTLS_tinyRecordsDoNotHoldTheLoop: a record costs the same however little is in it.
func TestTLS_tinyRecordsDoNotHoldTheLoop(t *testing.T) {
	ca := pki.New(t, "ca")
	good := ca.Issue(t, "good", nil)
	server := serve(t, newWatcher(), tcp.Config{TLS: tlsOf(clientConfig(ca, good), serverConfig(ca, good))}, netio.Params{})
	c, _ := dialTLS(t, server, ca, good)
	const records, most = 2000, 640 // 256 KiB at 512 each, and those of one look
	before := make(chan int, 1)     // messages before another function has its turn
	got := 0
	server.AtData = func(netio.Endpoint, []byte) {
		if got++; got == 1 {
			server.b.Loop().Post(func() { before <- got })
		}
	}
	for range 2 { // what the handshake has left for the next turn is done before
		onLoop(t, server.b.Loop(), func() {})
	}
	release := holdLoop(t, server.b.Loop())
	for range records {
		write(t, c, frame([]byte("x")))
	}
	release()
	if got := next(t, "the posted function", before); got > most {
		t.Errorf("messages in one turn, each in a record of its own: got %d of %d, want at most %d", got, records, most)
	}
	for range records {
		next(t, "OnData", server.Data)
	}
}
