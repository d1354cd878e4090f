// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shm_test

import (
	"errors"
	"io"
	"net/netip"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"tagbus/internal/testkit/backendtest"
	"tagbus/netio"
	"tagbus/netio/netiotest"
	"tagbus/netio/reactor"
	"tagbus/netio/shm"
)

// What the tests use most, by short names.
var (
	newWatcher = backendtest.NewWatcher
	onLoop     = backendtest.OnLoop
)

func next[T any](tb testing.TB, what string, events <-chan T) T {
	tb.Helper()
	return backendtest.Next(tb, what, events)
}

// served is a backend that listens, and what it hears.
type served struct {
	*backendtest.Watcher
	b      netio.Backend
	l      netio.ListenEndpoint
	folder string
}

func serve(tb testing.TB, cfg shm.Config, p netio.Params) *served {
	tb.Helper()
	w := newWatcher()
	return serveTo(tb, w, w, cfg, p)
}

// serveTo is serve for a handler that tells w.
func serveTo(tb testing.TB, h netio.Handler, w *backendtest.Watcher, cfg shm.Config, p netio.Params) *served {
	tb.Helper()
	if cfg.Folder == "" {
		cfg.Folder = folder(tb)
	}
	b, _ := backendtest.Open(tb, reactor.Config{}, h, opener(cfg))
	l, err := b.OpenListenEndpoint(netip.MustParseAddrPort("127.0.0.1:0"), p)
	if err != nil {
		tb.Fatalf("OpenListenEndpoint: got error %v, want none", err)
	}
	return &served{Watcher: w, b: b, l: l, folder: cfg.Folder}
}

// connect returns a peer that has said nothing.
func (s *served) connect(tb testing.TB) *shm.Peer {
	tb.Helper()
	p, err := shm.Connect(s.folder, s.l.Addr())
	if err != nil {
		tb.Fatalf("connect: got error %v, want none", err)
	}
	tb.Cleanup(p.Close)
	return p
}

// greet returns a peer that is connected.
func (s *served) greet(tb testing.TB) (*shm.Peer, netio.Endpoint) {
	tb.Helper()
	p := s.connect(tb)
	if err := p.Greet(); err != nil {
		tb.Fatalf("greet: got error %v, want none", err)
	}
	return p, next(tb, "OnConnectionEstablished", s.Established)
}

// inline returns a message that stands in its descriptor.
func inline(text string) shm.Piece {
	p := shm.Piece{Size: uint32(len(text)), Inline: uint8(len(text))}
	copy(p.Bytes[:], text)
	return p
}

// breaches are what a peer can do wrong, and how its connection ends then. Messages have up to
// 1,000 bytes.
var breaches = []struct {
	name string
	do   func(p *shm.Peer)
	want error
}{
	{"a message of no bytes", func(p *shm.Peer) { p.Put(shm.Piece{}) }, netio.ErrMessageLength},
	{"a message over the limit", func(p *shm.Peer) { p.Put(shm.Piece{Size: 1001, N: 10, Place: 1}) }, netio.ErrMessageLength},
	{"a message of all bits", func(p *shm.Peer) {
		p.Put(shm.Piece{Size: ^uint32(0), N: ^uint32(0), Offset: ^uint64(0), Place: 255, Inline: 255})
	}, netio.ErrMessageLength},
	{"an empty piece", func(p *shm.Peer) { p.Put(shm.Piece{Size: 10, Place: 1}) }, shm.ErrProtocol},
	{"a piece of unknown memory", func(p *shm.Peer) { p.Put(shm.Piece{Size: 10, N: 10, Place: 3}) }, shm.ErrProtocol},
	{"a piece of no memory", func(p *shm.Peer) { p.Put(shm.Piece{Size: 10, N: 10}) }, shm.ErrProtocol},
	{"a region that there is not", func(p *shm.Peer) { p.Put(shm.Piece{Size: 10, N: 10, Place: 2}) }, shm.ErrProtocol},
	{"more inline than there is room for", func(p *shm.Peer) { p.Put(shm.Piece{Size: 100, Inline: 41}) }, shm.ErrProtocol},
	{"more than the message has", func(p *shm.Peer) { p.Put(shm.Piece{Size: 10, N: 11, Place: 1}) }, shm.ErrProtocol},
	{"behind the arena", func(p *shm.Peer) { p.Put(shm.Piece{Size: 10, N: 10, Place: 1, Offset: 16<<10 - 9}) }, shm.ErrProtocol},
	{"an offset that wraps", func(p *shm.Peer) { p.Put(shm.Piece{Size: 10, N: 10, Place: 1, Offset: ^uint64(0) - 4}) }, shm.ErrProtocol},
	{"a message within another", func(p *shm.Peer) {
		p.Put(shm.Piece{Size: 100, N: 10, Place: 1})
		p.Put(shm.Piece{Size: 90, N: 10, Place: 1})
	}, shm.ErrProtocol},
	{"more descriptors than the ring has", func(p *shm.Peer) { p.Publish(17) }, shm.ErrProtocol},
	{"all descriptors of all time", func(p *shm.Peer) { p.Publish(^uint64(0)) }, shm.ErrProtocol},
	{"a position that was not published", func(p *shm.Peer) { p.Read(1) }, shm.ErrProtocol},
	{"the last position of all", func(p *shm.Peer) { p.Read(^uint64(0)) }, shm.ErrProtocol},
	{"the end in the middle of a message", func(p *shm.Peer) {
		p.Put(shm.Piece{Size: 100, N: 10, Place: 1})
		p.Final(1)
	}, netio.ErrTruncated},
	{"the end of its process", (*shm.Peer).Close, unix.ECONNRESET},
	{"the end of its process in the middle of a message", func(p *shm.Peer) {
		p.Put(shm.Piece{Size: 100, N: 10, Place: 1})
		p.Close()
	}, netio.ErrTruncated},
}

func TestPeerThatBreaksTheProtocol(t *testing.T) {
	netiotest.CheckLeaks(t)
	s := serve(t, shm.Config{}, netio.Params{Receive: netio.ReceiveParams{MaxMessageBytes: 1000}})
	for _, tt := range breaches {
		t.Run(tt.name, func(t *testing.T) {
			p, ep := s.greet(t)
			tt.do(p)
			end := next(t, "OnConnectionClosed", s.Closed)
			var op *netio.OpError
			if end.Endpoint != ep || !errors.As(end.Cause, &op) || !errors.Is(end.Cause, tt.want) {
				t.Errorf("cause: got %v, want an *OpError with %v", end.Cause, tt.want)
			}
		})
	}
	s.isWell(t)
	if n := len(s.Data); n != 0 {
		t.Errorf("messages: got %d, want none", n)
	}
}

// isWell checks that s still serves others.
func (s *served) isWell(t *testing.T) {
	t.Helper()
	p, _ := s.greet(t)
	p.Put(inline("all is well"))
	if got := string(next(t, "OnData", s.Data)); got != "all is well" {
		t.Errorf("message: got %q, want that of a peer that is in order", got)
	}
	p.Final(1)
	if end := next(t, "OnConnectionClosed", s.Closed); end.Cause != io.EOF { //nolint:errorlint // io.EOF is promised unwrapped
		t.Errorf("cause: got %v, want %v", end.Cause, io.EOF)
	}
}

// TestPositionsOfThePeerGoBack: what was read once is not read again, and what was not
// read is not taken for read.
func TestPositionsOfThePeerGoBack(t *testing.T) {
	for _, what := range []string{"published", "read"} {
		s := serve(t, shm.Config{}, netio.Params{})
		p, ep := s.greet(t)
		p.Put(inline("one"))
		next(t, "OnData", s.Data)
		if what == "published" {
			p.Publish(0)
		} else {
			for range 2 {
				if err := ep.SendCopy(1, nil, []byte("x")); err != nil {
					t.Fatalf("SendCopy: got error %v, want none", err)
				}
				next(t, "OnSendCompleted", s.Completed)
			}
			p.Read(2)
			onLoop(t, s.b.Loop(), func() {})
			p.Put(inline("so that it looks"))
			next(t, "OnData", s.Data)
			p.Read(1)
		}
		if end := next(t, "OnConnectionClosed", s.Closed); !errors.Is(end.Cause, shm.ErrProtocol) {
			t.Errorf("%s: cause: got %v, want %v", what, end.Cause, shm.ErrProtocol)
		}
	}
}

// TestPeerThatWakesAllTheTime costs only itself: another connection works.
func TestPeerThatWakesAllTheTime(t *testing.T) {
	s := serve(t, shm.Config{}, netio.Params{})
	loud, ep := s.greet(t)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
				loud.Wake()
			}
		}
	}()
	for range 100 {
		s.isWell(t)
	}
	close(stop)
	<-done
	_ = ep.Close()
	next(t, "OnConnectionClosed", s.Closed)
}

// TestErrorsSayWhatIsWrong: with the words of the protocol.
func TestErrorsSayWhatIsWrong(t *testing.T) {
	s := serve(t, shm.Config{}, netio.Params{})
	p, _ := s.greet(t)
	p.Put(shm.Piece{Size: 10, N: 10, Place: 1, Offset: 1 << 20})
	if got := next(t, "OnConnectionClosed", s.Closed).Cause.Error(); !strings.Contains(got, "10 bytes at offset 1048576 of 16384") {
		t.Errorf("cause: got %q, want it to name the piece", got)
	}
}
