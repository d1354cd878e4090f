// SPDX-License-Identifier: Apache-2.0

package tcp_test

import (
	"errors"
	"io"
	"syscall"
	"testing"

	"tagbus/internal/testkit/backendtest"
	"tagbus/netio"
	"tagbus/netio/internal/spread"
	"tagbus/netio/reactor"
	"tagbus/netio/tcp"
)

// wantEnd reads the end of a connection that is not served.
func wantEnd(t *testing.T, c io.Reader) {
	t.Helper()
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("Read: got error %v, want the end", err)
	}
}

// TestBackend_whatIsHeldBackIsNotLost: unlike what a pause keeps in the system when the
// connection fails.
func TestBackend_whatIsHeldBackIsNotLost(t *testing.T) {
	const messages = 50
	s := serve(t, newWatcher(), tcp.Config{}, netio.Params{})
	c, ep := s.dialRaw(t)
	held := ep.(spread.Inner)
	onLoop(t, s.b.Loop(), held.Suspend)
	for range messages {
		write(t, c, frame(make([]byte, 1000)))
	}
	if err := c.Close(); err != nil {
		t.Fatalf("close: got error %v, want none", err)
	}
	onLoop(t, s.b.Loop(), func() { tcp.SendFailed(ep, syscall.EPIPE) })
	if got := len(s.Data) + len(s.Closed); got != 0 {
		t.Errorf("while held back: got %d callbacks, want none", got)
	}
	held.Resume()
	end := next(t, "OnConnectionClosed", s.Closed)
	if got := len(s.Data); got != messages || end.Cause != io.EOF { //nolint:errorlint // io.EOF is promised unwrapped
		t.Errorf("got %d messages and cause %v, want %d and %v", got, end.Cause, messages, io.EOF)
	}
}

// TestBackend_anEndedConnectionCountsUntilItIsTold: else connections that come and go while
// the user is busy would hold memory without a limit.
func TestBackend_anEndedConnectionCountsUntilItIsTold(t *testing.T) {
	const most = 3
	s := openSpread(t, newWatcher(), backendtest.StartLoops(t, 2), tcp.Config{MaxEndpoints: most})
	begun, done := make(chan struct{}), make(chan struct{})
	s.b.Loop().Post(func() { close(begun); <-done })
	next(t, "posted function", begun)
	for range most {
		c := dialRaw(t, s.l.Addr())
		if err := c.CloseWrite(); err != nil {
			t.Fatalf("CloseWrite: got error %v, want none", err)
		}
		wantEnd(t, c) // the other side has closed, too
	}
	wantEnd(t, dialRaw(t, s.l.Addr()))
	if got := s.b.Stats().AcceptShed; got != 1 {
		t.Errorf("Stats.AcceptShed: got %d, want 1", got)
	}
	close(done)
	for range most {
		next(t, "OnConnectionEstablished", s.Established)
		next(t, "OnConnectionClosed", s.Closed)
	}
	s.dialRaw(t)
}

// TestOpenerOn_aLoopThatHasEnded: the others serve its part.
func TestOpenerOn_aLoopThatHasEnded(t *testing.T) {
	runners := []*backendtest.Runner{backendtest.StartLoop(t, reactor.Config{}), backendtest.StartLoop(t, reactor.Config{})}
	s := openSpread(t, newWatcher(), []*reactor.EventLoop{runners[0].EventLoop, runners[1].EventLoop}, tcp.Config{})
	runners[1].End(t)
	for range 3 {
		s.dialRaw(t)
	}
	if got := tcp.Loads(s.b); got[0] != 3 || got[1] != 0 {
		t.Errorf("endpoints of the loops: got %v, want [3 0]", got)
	}
	other := openSpread(t, newWatcher(), nil, tcp.Config{})
	if err := s.b.OpenEndpoint(other.l.Addr(), netio.Params{}); err != nil {
		t.Errorf("OpenEndpoint: got error %v, want none", err)
	}
	next(t, "OnConnectionEstablished of the dialed", s.Established)
}

// TestOpenerOn_aConnectionToALoopThatNeverRan is closed with the backend.
func TestOpenerOn_aConnectionToALoopThatNeverRan(t *testing.T) {
	never := backendtest.NewRunner(t, reactor.Config{})
	s := openSpread(t, newWatcher(), append(backendtest.StartLoops(t, 1), never.EventLoop), tcp.Config{})
	s.dialRaw(t) // of the first loop
	c := dialRaw(t, s.l.Addr())
	waitFor(t, s.b.Loop(), "the connection is on its way", func() bool { return tcp.Loads(s.b)[1] == 1 })
	if err := s.b.Close(); err != nil {
		t.Errorf("Close: got error %v, want none", err)
	}
	wantEnd(t, c)
}
