// SPDX-License-Identifier: Apache-2.0

package tcp_test

import (
	"bytes"
	"testing"

	"tagbus/internal/tests/pki"
	"tagbus/netio"
	"tagbus/netio/tcp"
)

// TestBytesInTLSWaitForABuffer: what crypto/tls has read is not in the socket any more, and
// makes no event when a receive buffer comes back.
func TestBytesInTLSWaitForABuffer(t *testing.T) {
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
