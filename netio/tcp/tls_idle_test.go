// SPDX-License-Identifier: Apache-2.0

package tcp_test

import (
	"bytes"
	"errors"
	"testing"

	"tagbus/internal/testkit/pki"
	"tagbus/netio"
	"tagbus/netio/tcp"
)

// forgers returns a server that tells w, and a function that connects a forger to it.
func forgers(t *testing.T, w *watcher, cfg tcp.Config) (*served, func() (*forger, netio.Endpoint)) {
	t.Helper()
	ca := pki.New(t, "ca")
	good := ca.Issue(t, "good", nil)
	cfg.TLS, cfg.Logger = tlsOf(clientConfig(ca, good), serverConfig(ca, good)), quiet
	server := serve(t, w, cfg, netio.Params{})
	return server, func() (*forger, netio.Endpoint) { return dialForger(t, server, ca, good) }
}

// TestTLS_aPeerMayUpdateItsKey now and then, before and behind data.
func TestTLS_aPeerMayUpdateItsKey(t *testing.T) {
	server, dial := forgers(t, newWatcher(), tcp.Config{})
	f, _ := dial()
	large := bytes.Repeat([]byte("x"), 16<<10-8)
	for i := range 3 {
		write(t, f, f.updates(2, byte(i%2), []byte("first")))
		if got := next(t, "OnData", server.Data); string(got) != "first" {
			t.Fatalf("OnData: got %q, want first", got)
		}
	}
	for range 5 { // each 1.25 MiB of data allow one more
		for range 82 {
			write(t, f, f.record(typeData, frame(large)))
			next(t, "OnData", server.Data)
		}
		write(t, f, f.updates(1, 0, []byte("next")))
		next(t, "OnData", server.Data)
	}
	if got := len(server.Closed); got != 0 {
		t.Errorf("OnConnectionClosed: got %d, want none", got)
	}
}

// TestTLS_recordsWithoutDataHaveALimit, whatever they are: a peer that sends more of them than any
// program needs costs the loop more than its data.
func TestTLS_recordsWithoutDataHaveALimit(t *testing.T) {
	fragment := append([]byte{4, 0, 0xff, 0xff}, make([]byte, 1<<12)...) // a session ticket
	for name, send := range map[string]func(f *forger, i int) []byte{
		"KeyUpdates before a message":    func(f *forger, _ int) []byte { return f.updates(16, 0, []byte("x")) },
		"KeyUpdates that want an answer": func(f *forger, _ int) []byte { return f.updates(16, 1, []byte("x")) },
		"parts of a message of one byte": func(f *forger, i int) []byte { return f.record(typeHandshake, fragment[i:i+1]) },
		"warnings before a message": func(f *forger, _ int) []byte {
			return append(f.record(typeAlert, []byte{1, 90}), f.record(typeData, frame([]byte("x")))...)
		},
		"data that are padded, in records": func(f *forger, _ int) []byte {
			return f.record(0, append(append(frame([]byte("x")), typeData), make([]byte, 100)...))
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWatcher()
			w.AtData = func(netio.Endpoint, []byte) { <-w.Data }
			server, dial := forgers(t, w, tcp.Config{})
			f, _ := dial()
			sent := 0
			for ; sent < 2000 && len(server.Closed) == 0; sent++ {
				if _, err := f.Write(send(f, sent)); err != nil {
					break
				}
			}
			end := next(t, "OnConnectionClosed", server.Closed)
			want := "netio: receive ADDR: tcp: TLS failed: tcp: too much in records of TLS that is not data: the peer updates its key, or pads its records, again and again"
			if !errors.Is(end.Cause, tcp.ErrIdleRecords) || strip(end.Cause.Error()) != want {
				t.Errorf("cause:\n got %v\nwant %s", end.Cause, want)
			}
		})
	}
}

// TestTLS_namesAnUnreadAnswer: a peer that asks for answers and does not read them is told to be
// that, though crypto/tls calls its next record damaged. An answer to each KeyUpdate has
// no room behind data that the peer does not read.
func TestTLS_namesAnUnreadAnswer(t *testing.T) {
	server, dial := forgers(t, newWatcher(), tcp.Config{SendBufferBytes: 1})
	f, ep := dial()
	if err := f.SetReadBuffer(1); err != nil {
		t.Fatalf("SetReadBuffer: got error %v, want none", err)
	}
	for i := 0; ; i++ {
		if err := ep.Send(netio.Key(i), nil, pattern(100_000, i)); errors.Is(err, netio.ErrNoResources) {
			break
		} else if err != nil {
			t.Fatalf("Send: got error %v, want none", err)
		}
	}
	for tcp.SealedBytes(ep) < tcp.SealBytes/2 {
		onLoop(t, server.b.Loop(), func() {})
	}
	onLoop(t, server.b.Loop(), func() {
		for tcp.Answer(ep, 50) == nil { // the room for answers
		}
	})
	_, _ = f.Write(f.updates(2, 1, []byte("x"))) // the connection may be gone
	cause := next(t, "OnConnectionClosed", server.Closed).Cause
	if want := "ADDR: tcp: TLS failed: the peer asks for more answers of TLS than it reads"; !errors.Is(cause, tcp.ErrTLS) || !bytes.HasSuffix([]byte(strip(cause.Error())), []byte(want)) {
		t.Errorf("cause:\n got %v\nwant … %s", cause, want)
	}
}
