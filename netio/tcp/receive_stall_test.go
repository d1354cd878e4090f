// SPDX-License-Identifier: Apache-2.0

package tcp_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tagbus/internal/testkit/backendtest"
	"tagbus/netio"
	"tagbus/netio/tcp"
)

// wantTimeout asserts that an endpoint ends because its peer has stopped.
func (l *line) wantTimeout(t *testing.T, ep netio.Endpoint) {
	t.Helper()
	end := next(t, "OnConnectionClosed", l.Closed)
	var op *netio.OpError
	if end.Endpoint != ep || !errors.Is(end.Cause, netio.ErrTimeout) || !errors.As(end.Cause, &op) || op.Op != "receive" || op.Addr != ep.Remote() {
		t.Errorf("OnConnectionClosed of %v: got cause %v, want an *OpError about %v that wraps %v", end.Endpoint.Remote(), end.Cause, ep.Remote(), netio.ErrTimeout)
	}
	if stats := l.b.Stats(); stats.Truncated != 1 {
		t.Errorf("Stats.Truncated: got %d, want 1", stats.Truncated)
	}
}

func TestEndpoint_endsAPeerThatStopsInAMessageWhileOthersWait(t *testing.T) {
	l := newLine(t, 5*time.Millisecond, 1)
	l.dial(t, frame([]byte("another")))
	l.wantTimeout(t, l.eps[0])
	l.wantOrder(t, l.eps[1])
}

func TestEndpoint_aPeerThatStopsInAMessageStaysWhileNoneWaits(t *testing.T) {
	l := newLine(t, time.Millisecond, 1)
	l.eps[0].PauseReceive()
	l.join(t, 1) // the alarm is set
	_ = l.eps[1].Close()
	next(t, "OnConnectionClosed", l.Closed)
	l.eps[0].ResumeReceive()
	givenTime()
	if len(l.Closed) != 0 {
		t.Fatalf("OnConnectionClosed: got cause %v, want none while no endpoint waits", (<-l.Closed).Cause)
	}
	l.dial(t, frame([]byte("another")))
	l.wantTimeout(t, l.eps[0])
	l.wantOrder(t, l.eps[2])
}

func TestEndpoint_aNegativePartialTimeoutEndsNoConnection(t *testing.T) {
	l := newLine(t, -1, 1)
	l.join(t, 1)
	givenTime()
	if len(l.Closed) != 0 {
		t.Fatalf("OnConnectionClosed: got cause %v, want none", (<-l.Closed).Cause)
	}
	write(t, l.conns[0], []byte(rest))
	l.wantOrder(t, l.eps...)
}

// TestEndpoint_thatIsPausedIsNotStalled: of two parts in buffers, one is of an endpoint that
// its user has paused. Only the other one is ended.
func TestEndpoint_thatIsPausedIsNotStalled(t *testing.T) {
	l := newLine(t, 5*time.Millisecond, 2)
	l.eps[0].PauseReceive()
	l.dial(t, frame([]byte("another")))
	l.wantTimeout(t, l.eps[1])
	l.waitWaiting(t, 0)
	l.eps[0].ResumeReceive()
	write(t, l.conns[0], []byte(rest))
	l.wantOrder(t, l.eps[2], l.eps[0])
}

// TestEndpoint_aPeerThatGoesOnIsNotStalled: of two parts in buffers, one grows while others wait.
// When the time of the other one is over, its own is not.
func TestEndpoint_aPeerThatGoesOnIsNotStalled(t *testing.T) {
	const timeout = time.Hour
	l := newLine(t, timeout, 2)
	l.join(t, 1)
	before := time.Now()
	write(t, l.conns[0], []byte(rest[:1]))
	waitFor(t, l.b.Loop(), "another byte", func() bool { return tcp.Part(l.eps[0]) == 8 })
	onLoop(t, l.b.Loop(), func() { l.pool.FindStalled(before.Add(timeout)) })
	l.wantTimeout(t, l.eps[1])
	write(t, l.conns[0], []byte(rest[1:]))
	waitFor(t, l.b.Loop(), "both messages", func() bool { return len(l.order) == 2 })
}

// TestEndpoint_aLoopThatWasHeldUpBlamesNoPeer: the time ends when the rest of the message is
// there, but the loop has not come to read it.
func TestEndpoint_aLoopThatWasHeldUpBlamesNoPeer(t *testing.T) {
	const timeout = time.Hour
	l := newLine(t, timeout, 1)
	l.join(t, 1)
	onLoop(t, l.b.Loop(), func() {
		write(t, l.conns[0], []byte(rest))
		for n := 0; n < len(rest); {
			var err error
			if n, err = unix.IoctlGetInt(tcp.FD(l.eps[0]), unix.TIOCINQ); err != nil {
				t.Errorf("TIOCINQ: got error %v, want none", err)
				return
			}
		}
		l.pool.FindStalled(time.Now().Add(2 * timeout))
	})
	l.wantOrder(t, l.eps...)
	if len(l.Closed) != 0 {
		t.Errorf("OnConnectionClosed: got cause %v, want none", (<-l.Closed).Cause)
	}
}

// TestEndpoint_resumedWithWholeMessagesIsNotStalled resumes an endpoint just before
// the alarm of its pool rings: what lies in its buffer is a whole message, for
// which the user, and not the peer, has let the others wait.
func TestEndpoint_resumedWithWholeMessagesIsNotStalled(t *testing.T) {
	const timeout = 100 * time.Millisecond
	w := newWatcher()
	var once sync.Once
	w.AtData = func(ep netio.Endpoint, _ []byte) { once.Do(ep.PauseReceive) }
	cfg := tcp.WithPartialTimeout(shared(1, 5000), timeout)
	b, loop := openBackendLoop(t, w, cfg)
	le, err := b.OpenListenEndpoint(loopback, netio.Params{})
	if err != nil {
		t.Fatalf("OpenListenEndpoint: got error %v, want none", err)
	}
	l := &line{served: &served{w, b, le}, pool: tcp.ReceivePoolOf(b)}
	l.dial(t, append(frame([]byte("first")), frame([]byte("second"))...))
	next(t, "OnData", l.Data)
	l.dial(t, frame([]byte("another")))
	l.waitWaiting(t, 1)

	// An endpoint of another backend resumes it, in the same turn in which the
	// alarm rings, and before.
	resumer := newWatcher()
	resumer.AtData = func(netio.Endpoint, []byte) { l.eps[0].ResumeReceive() }
	other, err := tcp.Opener(loop.EventLoop, tcp.Config{})(resumer)
	if err != nil {
		t.Fatalf("open another backend: got error %v, want none", err)
	}
	defer func() { _ = other.Close() }()
	otherListens, err := other.OpenListenEndpoint(loopback, netio.Params{})
	if err != nil {
		t.Fatalf("OpenListenEndpoint: got error %v, want none", err)
	}
	c := dialRaw(t, otherListens.Addr())
	next(t, "OnConnectionEstablished", resumer.Established)
	onLoop(t, b.Loop(), func() {
		write(t, c, frame([]byte("resume")))
		<-time.After(2 * timeout)
	})
	for _, want := range []string{"second", "another"} {
		select {
		case got := <-l.Data:
			if string(got) != want {
				t.Errorf("message: got %q, want %q", got, want)
			}
		case end := <-l.Closed:
			t.Fatalf("OnConnectionClosed: got cause %v, want none", end.Cause)
		case <-time.After(backendtest.Patience):
			t.Fatalf("OnData: got nothing for %v, want %q", backendtest.Patience, want)
		}
	}
}
