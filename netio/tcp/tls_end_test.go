// SPDX-License-Identifier: Apache-2.0

package tcp_test

import (
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"

	"tagbus/internal/testkit/pki"
	"tagbus/netio"
	"tagbus/netio/tcp"
)

// meddler is a peer in the middle that passes bytes on, and changes one when told.
type meddler struct {
	l      net.Listener
	flip   atomic.Bool
	cut    chan struct{} // closed: both connections end, each behind what was passed on
	passed atomic.Int64  // bytes to the server
	done   chan struct{}
}

func newMeddler(t *testing.T, s *served) *meddler {
	t.Helper()
	m := &meddler{cut: make(chan struct{}), done: make(chan struct{})}
	var err error
	if m.l, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatalf("listen: got error %v, want none", err)
	}
	go func() {
		defer close(m.done)
		in, err := m.l.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", s.l.Addr().String())
		if err != nil {
			_ = in.Close()
			return
		}
		back := make(chan struct{})
		go func() { defer close(back); _, _ = io.Copy(in, out) }()
		forth := make(chan struct{})
		go func() { defer close(forth); m.pass(out, in) }()
		select {
		case <-m.cut:
		case <-forth:
		case <-back:
		}
		_, _ = in.Close(), out.Close()
		<-back
		<-forth
	}()
	t.Cleanup(func() { _ = m.l.Close(); <-m.done })
	return m
}

func (m *meddler) pass(to io.Writer, from io.Reader) {
	for mem := make([]byte, 64<<10); ; {
		n, err := from.Read(mem)
		if err != nil {
			return
		}
		if m.flip.Load() {
			mem[n-1] ^= 1
		}
		if _, err := to.Write(mem[:n]); err != nil {
			return
		}
		m.passed.Add(int64(n))
	}
}

// through connects a backend to s through m.
func (m *meddler) through(t *testing.T, cfg tcp.Config) (*watcher, netio.Endpoint) {
	t.Helper()
	w := newWatcher()
	client := openBackend(t, w, cfg)
	if err := client.OpenEndpoint(addrOf(t, m.l.Addr()), netio.Params{}); err != nil {
		t.Fatalf("OpenEndpoint: got error %v, want none", err)
	}
	return w, next(t, "OnConnectionEstablished", w.Established)
}

// TestTLS_aStreamThatIsCutIsNoEnd: a third party can end a TCP connection between two
// messages, and both sides must know.
func TestTLS_aStreamThatIsCutIsNoEnd(t *testing.T) {
	cfg := withTLS(t, tcp.Config{})
	server := serve(t, newWatcher(), cfg, netio.Params{})
	m := newMeddler(t, server)
	w, ep := m.through(t, cfg)
	if err := ep.Send(1, nil, []byte("whole")); err != nil {
		t.Fatalf("Send: got error %v, want none", err)
	}
	next(t, "OnData", server.Data)
	close(m.cut)
	for _, end := range []*watcher{w, server.watcher} {
		cause := next(t, "OnConnectionClosed", end.Closed).Cause
		want := "netio: receive ADDR: connection ended in the middle of a message: the connection has ended without a close_notify of TLS"
		if !errors.Is(cause, netio.ErrTruncated) || strip(cause.Error()) != want {
			t.Errorf("cause:\n got %v\nwant %v", cause, want)
		}
	}
	if got := server.b.Stats().Truncated; got != 1 {
		t.Errorf("Stats.Truncated: got %d, want 1", got)
	}
}

// TestTLS_aChangedByteEndsTheConnection at both ends, and nothing of it is delivered.
func TestTLS_aChangedByteEndsTheConnection(t *testing.T) {
	cfg := withTLS(t, tcp.Config{})
	server := serve(t, newWatcher(), cfg, netio.Params{})
	m := newMeddler(t, server)
	w, ep := m.through(t, cfg)
	m.flip.Store(true)
	if err := ep.Send(1, nil, []byte("to be changed")); err != nil {
		t.Fatalf("Send: got error %v, want none", err)
	}
	for _, end := range []struct {
		w    *watcher
		want string
	}{
		{server.watcher, "netio: receive ADDR: tcp: TLS failed: local error: tls: bad record MAC"},
		{w, "netio: receive ADDR: tcp: TLS failed: remote error: tls: bad record MAC"},
	} {
		cause := next(t, "OnConnectionClosed", end.w.Closed).Cause
		if !errors.Is(cause, tcp.ErrTLS) || strip(cause.Error()) != end.want {
			t.Errorf("cause:\n got %v\nwant %v", cause, end.want)
		}
	}
	if got := len(server.Data); got != 0 {
		t.Errorf("OnData: got %d messages, want none", got)
	}
}

// TestTLS_otherProgramsEndInOrder with a close_notify, as crypto/tls sends it and wants it.
func TestTLS_otherProgramsEndInOrder(t *testing.T) {
	ca := pki.New(t, "ca")
	good := ca.Issue(t, "good", nil)
	server := serve(t, newWatcher(), tcp.Config{TLS: tlsOf(clientConfig(ca, good), serverConfig(ca, good))}, netio.Params{})
	c, _ := dialTLS(t, server, ca, good)
	write(t, c, frame([]byte("hello")))
	if got := next(t, "OnData", server.Data); string(got) != "hello" {
		t.Errorf("OnData: got %q, want hello", got)
	}
	if err := c.Close(); err != nil {
		t.Errorf("close: got error %v, want none", err)
	}
	if end := next(t, "OnConnectionClosed", server.Closed); end.Cause != io.EOF { //nolint:errorlint // the contract says bare
		t.Errorf("cause: got %v, want io.EOF", end.Cause)
	}
	c, ep := dialTLS(t, server, ca, good)
	sendDirect(t, ep, 1, true, []byte("last"))
	if err := ep.Close(); err != nil {
		t.Errorf("Close: got error %v, want none", err)
	}
	if got, err := io.ReadAll(c); err != nil || string(got) != string(frame([]byte("last"))) {
		t.Errorf("read: got %q and error %v, want the last message and the end in order", got, err)
	}
}

// TestTLS_aKeyHasALimit: behind the message that reaches it the endpoint ends in order, and
// what was completed has arrived.
func TestTLS_aKeyHasALimit(t *testing.T) {
	for way, most := range map[string]int{"send": 25, "direct": 25, "large": 1} { // messages in 10 records, and in those of a turn
		t.Run(way, func(t *testing.T) {
			cfg := withTLS(t, tcp.Config{})
			server := serve(t, newWatcher(), cfg, netio.Params{})
			limited := cfg
			limits := *cfg.TLS
			limited.TLS, limits.MaxRecords = &limits, 10
			w, ep := dialSecure(t, limited, server)
			size, sent := 10_000, 0
			if way == "large" {
				size = 300_000
			}
			for err := error(nil); ; sent++ {
				done := false
				if way == "direct" {
					done, err = ep.SendDirect(netio.Key(sent), nil, pattern(size, sent))
				} else {
					err = ep.Send(netio.Key(sent), nil, pattern(size, sent))
				}
				if errors.Is(err, netio.ErrNoResources) {
					sent--
					next(t, "OnSendReady, or the end", either(w.Ready, w.Closed))
				} else if err != nil {
					break
				}
				if done {
					w.Completed <- netio.Key(sent)
				}
			}
			end := next(t, "OnConnectionClosed", w.Closed)
			if !errors.Is(end.Cause, tcp.ErrKeyLimit) {
				t.Errorf("cause: got %v, want %v", end.Cause, tcp.ErrKeyLimit)
			}
			if got := next(t, "OnConnectionClosed", server.Closed).Cause; got != io.EOF { //nolint:errorlint // the contract says bare
				t.Errorf("cause at the other end: got %v, want io.EOF", got)
			}
			if got, want := len(server.Data), len(w.Completed); got != want || want == 0 || want+len(end.Keys) != sent {
				t.Errorf("got %d messages, %d completions and %d keys of %d sends, want as many messages as completions, at least one, and all sends", got, want, len(end.Keys), sent)
			}
			if got := len(server.Data); got > most {
				t.Errorf("messages: got %d, want at most %d", got, most)
			}
			for i := range len(server.Data) {
				if got := <-server.Data; string(got) != string(pattern(size, i)) {
					t.Fatalf("message %d: got %d bytes that differ", i, len(got))
				}
			}
		})
	}
}

// either returns what is closed when one of two channels has something.
func either[A, B any](a chan A, b chan B) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-a:
		case v := <-b:
			b <- v
		}
	}()
	return done
}

// stuck returns the end of a connection whose peer does not read, and that has no room
// for more.
func stuck(t *testing.T) (client netio.Backend, w *watcher, ep netio.Endpoint) {
	t.Helper()
	cfg := withTLS(t, tcp.Config{SendBufferBytes: 1})
	server := serve(t, newWatcher(), cfg, netio.Params{})
	w = newWatcher()
	client = openBackend(t, w, cfg)
	if err := client.OpenEndpoint(server.l.Addr(), netio.Params{}); err != nil {
		t.Fatalf("OpenEndpoint: got error %v, want none", err)
	}
	ep = next(t, "OnConnectionEstablished", w.Established)
	next(t, "OnConnectionEstablished", server.Established).PauseReceive()
	for i := 0; ; i++ {
		err := ep.Send(netio.Key(i), nil, pattern(100_000, i))
		if errors.Is(err, netio.ErrNoResources) {
			break
		} else if err != nil {
			t.Fatalf("Send: got error %v, want none", err)
		}
	}
	for range 2 { // the second turn follows the work of the first
		onLoop(t, client.Loop(), func() {})
	}
	return client, w, ep
}

// TestTLS_sealedCopiesAreFew however much is queued for a peer that does not read.
func TestTLS_sealedCopiesAreFew(t *testing.T) {
	client, _, ep := stuck(t)
	if got, most := tcp.SealedBytes(ep), tcp.SealBytes+4<<10; got == 0 || got > most {
		t.Errorf("sealed: got %d bytes, want 1 to %d", got, most)
	}
	if used, _ := tcp.BackendBytes(client); used > 80<<10 {
		t.Errorf("memory: got %d bytes, want those for what is sealed", used)
	}
}

// TestTLS_aPeerThatAsksAndDoesNotRead makes crypto/tls answer, with an update of its key for
// instance, until there is no room for the answers: then the connection ends.
func TestTLS_aPeerThatAsksAndDoesNotRead(t *testing.T) {
	client, w, ep := stuck(t)
	answers := 0
	onLoop(t, client.Loop(), func() {
		for tcp.Answer(ep, 50) == nil {
			answers++
		}
	})
	if answers == 0 || answers > 1000 {
		t.Errorf("answers: got %d, want a few", answers)
	}
	tcp.FlushLater(ep) // as receiving does that finds an answer
	cause := next(t, "OnConnectionClosed", w.Closed).Cause
	if want := "netio: send ADDR: tcp: TLS failed: the peer asks for more answers of TLS than it reads"; strip(cause.Error()) != want {
		t.Errorf("cause:\n got %v\nwant %v", cause, want)
	}
}
