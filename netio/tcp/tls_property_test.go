// SPDX-License-Identifier: Apache-2.0

package tcp_test

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"tagbus/internal/testkit"
	"tagbus/internal/testkit/pki"
	"tagbus/netio/netiotest"
)

// The loop leans on a property of crypto/tls that its documentation does not promise: a
// Read that has failed with a temporary net.Error goes on where it was. These tests hold
// crypto/tls to it, without anything of this package.

// later is a temporary net.Error.
type later struct{}

func (later) Error() string   { return "later" }
func (later) Timeout() bool   { return true }
func (later) Temporary() bool { return true }

// stream is one direction of a connection, of any length.
type stream struct {
	mu     sync.Mutex
	grown  *sync.Cond
	bytes  []byte
	closed bool
}

func newStream() *stream {
	s := &stream{}
	s.grown = sync.NewCond(&s.mu)
	return s
}

// drop is an end of a connection. Its reads wait, until drip makes them return one byte
// at a time, and later before each.
type drop struct {
	net.Conn // nil: a tls.Conn uses what is below only
	in, out  *stream
	drip     bool
	due      bool // the next read returns a byte
	laters   int
}

func (d *drop) Read(p []byte) (int, error) {
	d.in.mu.Lock()
	defer d.in.mu.Unlock()
	if d.drip {
		if d.due = !d.due; d.due {
			d.laters++
			return 0, later{}
		}
		p = p[:1]
	}
	for len(d.in.bytes) == 0 {
		if d.drip || d.in.closed {
			return 0, io.ErrUnexpectedEOF // the test reads too far
		}
		d.in.grown.Wait()
	}
	n := copy(p, d.in.bytes)
	d.in.bytes = d.in.bytes[n:]
	return n, nil
}

func (d *drop) Write(p []byte) (int, error) {
	d.out.mu.Lock()
	defer d.out.mu.Unlock()
	d.out.bytes = append(d.out.bytes, p...)
	d.out.grown.Signal()
	return len(p), nil
}

func (d *drop) RemoteAddr() net.Addr { return &net.TCPAddr{} }

func (d *drop) SetWriteDeadline(time.Time) error { return nil }

func (d *drop) Close() error {
	for _, s := range []*stream{d.in, d.out} {
		s.mu.Lock()
		s.closed = true
		s.grown.Signal()
		s.mu.Unlock()
	}
	return nil
}

// end is a tls.Conn and what is below it.
type end struct {
	*tls.Conn
	drop *drop
}

// newEnds returns both ends of a connection, with session tickets.
func newEnds(t *testing.T) (client, server end) {
	t.Helper()
	ca := pki.New(t, "ca")
	c := ca.Issue(t, "peer", nil)
	clientConfig, serverConfig := clientConfig(ca, c), serverConfig(ca, c)
	clientConfig.ClientSessionCache = tls.NewLRUClientSessionCache(1)
	serverConfig.ClientAuth = tls.RequireAndVerifyClientCert
	there, back := newStream(), newStream()
	below := []*drop{{in: back, out: there}, {in: there, out: back}}
	return end{tls.Client(below[0], clientConfig), below[0]}, end{tls.Server(below[1], serverConfig), below[1]}
}

// shake makes the handshake, without interruptions.
func shake(t *testing.T, client, server end) {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- server.Handshake() }()
	if err := errors.Join(client.Handshake(), <-done); err != nil {
		t.Fatalf("handshake: got error %v, want none", err)
	}
}

// TestTLS_readsResume interrupts before every byte of the wire, in both directions: the
// session tickets, records of all sizes, and the close_notify.
func TestTLS_readsResume(t *testing.T) {
	client, server := newEnds(t)
	shake(t, client, server)
	tickets := len(client.drop.in.bytes)
	if tickets == 0 {
		t.Error("session tickets: got none on the wire, want at least one")
	}
	interrupted := 0
	for _, way := range []struct{ from, to end }{{server, client}, {client, server}} {
		var want []byte
		for i := range testkit.Fewer(40) {
			message := pattern(1+i*i*i%40_000, i)
			write(t, way.from, message)
			want = append(want, message...)
		}
		if err := way.from.CloseWrite(); err != nil {
			t.Fatalf("CloseWrite: got error %v, want none", err)
		}
		way.to.drop.drip = true
		wire := len(way.to.drop.in.bytes)
		var got []byte
		var err error
		for mem := make([]byte, 5000); ; {
			n := 0
			n, err = way.to.Read(mem)
			if got = append(got, mem[:n]...); err != nil && !errors.Is(err, error(later{})) {
				break
			}
		}
		if err != io.EOF { //nolint:errorlint // bare, as it is compared
			t.Errorf("the end: got error %v, want io.EOF", err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("got %d bytes that differ, want %d", len(got), len(want))
		}
		if way.to.drop.laters < wire {
			t.Errorf("interruptions: got %d, want one before each of %d bytes", way.to.drop.laters, wire)
		}
		interrupted += way.to.drop.laters
	}
	t.Logf("%d interruptions, %d bytes of tickets", interrupted, tickets)
}

// TestTLS_handshakesDoNotResume: this is why they have goroutines.
func TestTLS_handshakesDoNotResume(t *testing.T) {
	client, server := newEnds(t)
	client.drop.drip = true
	for range 2 {
		if err := client.Handshake(); !errors.Is(err, error(later{})) {
			t.Errorf("an interrupted handshake: got error %v, want %v again and again", err, later{})
		}
	}
	_ = server.drop.Close()
}

// TestTLS_writesAreWhole: what a Write passes on is whole records, each in one call.
func TestTLS_writesAreWhole(t *testing.T) {
	client, server := newEnds(t)
	shake(t, client, server)
	client.drop.out.bytes = nil
	for i := range netiotest.Few(30, 10) {
		before := len(client.drop.out.bytes)
		write(t, client, pattern(1+i*1500, i))
		for record := client.drop.out.bytes[before:]; len(record) > 0; {
			size := 5 + int(record[3])<<8 + int(record[4])
			if record[0] != 23 || size > len(record) {
				t.Fatalf("a write of %d bytes: got a record of type %d with %d bytes of %d, want a whole one", 1+i*1500, record[0], len(record), size)
			}
			record = record[size:]
		}
	}
}
