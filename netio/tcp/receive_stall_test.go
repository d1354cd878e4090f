package tcp_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"tagbus/netio"
	"tagbus/netio/tcp"
)

// wantTimeout asserts that an endpoint ends because its peer has stopped.
func (l *line) wantTimeout(t *testing.T, ep netio.Endpoint) {
	t.Helper()
	end := next(t, "OnConnectionClosed", l.closed)
	var op *netio.OpError
	if end.ep != ep || !errors.Is(end.cause, netio.ErrTimeout) || !errors.As(end.cause, &op) || op.Op != "receive" || op.Addr != ep.Remote() {
		t.Errorf("OnConnectionClosed of %v: got cause %v, want an *OpError about %v that wraps %v", end.ep.Remote(), end.cause, ep.Remote(), netio.ErrTimeout)
	}
	if stats := l.b.Stats(); stats.Truncated != 1 {
		t.Errorf("Stats.Truncated: got %d, want 1", stats.Truncated)
	}
}

func TestWhoStopsInAMessageWhileOthersWaitIsEnded(t *testing.T) {
	l := newLine(t, 5*time.Millisecond, 1)
	l.dial(t, frame([]byte("another")))
	l.wantTimeout(t, l.eps[0])
	l.wantOrder(t, l.eps[1])
}

func TestWhoStopsInAMessageIsLeftAloneWhileNobodyWaits(t *testing.T) {
	l := newLine(t, time.Millisecond, 1)
	l.eps[0].PauseReceive()
	l.join(t, 1) // the alarm is set
	_ = l.eps[1].Close()
	next(t, "OnConnectionClosed", l.closed)
	l.eps[0].ResumeReceive()
	givenTime()
	if len(l.closed) != 0 {
		t.Fatalf("OnConnectionClosed: got cause %v, want none while nobody waits", (<-l.closed).cause)
	}
	l.dial(t, frame([]byte("another")))
	l.wantTimeout(t, l.eps[0])
	l.wantOrder(t, l.eps[2])
}

func TestANegativePartialTimeoutEndsNobody(t *testing.T) {
	l := newLine(t, -1, 1)
	l.join(t, 1)
	givenTime()
	if len(l.closed) != 0 {
		t.Fatalf("OnConnectionClosed: got cause %v, want none", (<-l.closed).cause)
	}
	write(t, l.conns[0], []byte(rest))
	l.wantOrder(t, l.eps...)
}

// TestAPausedEndpointIsNotStalled has two parts in buffers, one of an endpoint
// that its user has paused: only the other one is ended.
func TestAPausedEndpointIsNotStalled(t *testing.T) {
	l := newLine(t, 5*time.Millisecond, 2)
	l.eps[0].PauseReceive()
	l.dial(t, frame([]byte("another")))
	l.wantTimeout(t, l.eps[1])
	l.waitWaiting(t, 0)
	l.eps[0].ResumeReceive()
	write(t, l.conns[0], []byte(rest))
	l.wantOrder(t, l.eps[2], l.eps[0])
}

// TestWhoGoesOnIsNotStalled has two parts in buffers. One goes on for half the
// time: when it is over only the other one is ended.
func TestWhoGoesOnIsNotStalled(t *testing.T) {
	const timeout = 600 * time.Millisecond
	cfg := shared(2, 4<<20)
	cfg.PartialTimeout = timeout
	l := &line{served: serve(t, newWatcher(), cfg, netio.Params{})}
	l.pool = tcp.ReceivePoolOf(l.b)
	slow, _ := l.dialRaw(t)
	message := frame(make([]byte, 4<<20))
	write(t, slow, message[:1])
	sent := 1
	stopped, ep := l.dialRaw(t)
	write(t, stopped, message[:1])
	waitFor(t, l.b.Loop(), "parts in both buffers", func() bool { return l.pool.Used() == 2 })
	other, _ := l.dialRaw(t)
	write(t, other, frame([]byte("x")))
	l.waitWaiting(t, 1)
	for began := time.Now(); time.Since(began) < timeout/2; sent++ {
		write(t, slow, message[sent:sent+1])
		onLoop(t, l.b.Loop(), func() {})
	}
	l.wantTimeout(t, ep)
	next(t, "OnData of who waited", l.data)
	write(t, slow, message[sent:])
	if got := next(t, "OnData of who went on", l.data); len(got) != len(message)-4 {
		t.Errorf("message: got %d bytes, want %d", len(got), len(message)-4)
	}
}

// TestALoopThatWasHeldUpBlamesNobody keeps the loop busy while the rest of the
// message comes.
func TestALoopThatWasHeldUpBlamesNobody(t *testing.T) {
	const timeout = 200 * time.Millisecond
	l := newLine(t, timeout, 1)
	l.dial(t, frame([]byte("another")))
	goOn := make(chan struct{})
	waitFor(t, l.b.Loop(), "an endpoint that waits", func() bool {
		if len(l.pool.Waiting()) == 0 {
			return false
		}
		go func() {
			<-time.After(timeout) // the alarm rings before the rest comes
			write(t, l.conns[0], []byte(rest))
			close(goOn)
		}()
		<-goOn
		return true
	})
	l.wantOrder(t, l.eps...)
	if len(l.closed) != 0 {
		t.Errorf("OnConnectionClosed: got cause %v, want none", (<-l.closed).cause)
	}
}

// TestWhoIsResumedWithWholeMessagesIsNotStalled resumes an endpoint just before
// the alarm of its pool rings: what lies in its buffer is a whole message, for
// which the user, and not the peer, has let the others wait.
func TestWhoIsResumedWithWholeMessagesIsNotStalled(t *testing.T) {
	const timeout = 100 * time.Millisecond
	w := newWatcher()
	var once sync.Once
	w.onData = func(ep netio.Endpoint, _ []byte) { once.Do(ep.PauseReceive) }
	cfg := shared(1, 5000)
	cfg.PartialTimeout = timeout
	b, loop := openBackendLoop(t, w, cfg)
	le, err := b.OpenListenEndpoint(loopback, netio.Params{})
	if err != nil {
		t.Fatalf("OpenListenEndpoint: got error %v, want none", err)
	}
	l := &line{served: &served{w, b, le}, pool: tcp.ReceivePoolOf(b)}
	l.dial(t, append(frame([]byte("first")), frame([]byte("second"))...))
	next(t, "OnData", l.data)
	l.dial(t, frame([]byte("another")))
	l.waitWaiting(t, 1)

	// An endpoint of another backend resumes it, in the same turn in which the
	// alarm rings, and before.
	resumer := newWatcher()
	resumer.onData = func(netio.Endpoint, []byte) { l.eps[0].ResumeReceive() }
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
	next(t, "OnConnectionEstablished", resumer.established)
	onLoop(t, b.Loop(), func() {
		write(t, c, frame([]byte("resume")))
		<-time.After(2 * timeout)
	})
	for _, want := range []string{"second", "another"} {
		select {
		case got := <-l.data:
			if string(got) != want {
				t.Errorf("message: got %q, want %q", got, want)
			}
		case end := <-l.closed:
			t.Fatalf("OnConnectionClosed: got cause %v, want none", end.cause)
		case <-time.After(patience):
			t.Fatalf("OnData: got nothing for %v, want %q", patience, want)
		}
	}
}
