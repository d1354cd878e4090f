// SPDX-License-Identifier: Apache-2.0

package tcp_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"slices"
	"syscall"
	"testing"
	"time"

	"tagbus/netio"
	"tagbus/netio/tcp"
)

// line is a backend with receive buffers, in each of which lies a part of a
// message, and further endpoints that wait with a message each.
type line struct {
	*served
	pool  tcp.ReceivePool
	conns []*net.TCPConn
	eps   []netio.Endpoint
	order []netio.Endpoint // of the messages; the loop only
}

// rest completes a part.
const rest = "st"

// newLine returns a backend whose buffers have parts in them.
func newLine(t *testing.T, timeout time.Duration, buffers int) *line {
	t.Helper()
	cfg := tcp.WithPartialTimeout(tcp.WithReadBudget(shared(buffers, 5000), 4<<10), timeout)
	l := &line{}
	w := newWatcher()
	w.AtData = func(ep netio.Endpoint, _ []byte) { l.order = append(l.order, ep) }
	l.served = serve(t, w, cfg, netio.Params{})
	l.pool = tcp.ReceivePoolOf(l.b)
	for i := range buffers {
		l.dial(t, frame([]byte("first"))[:7])
		waitFor(t, l.b.Loop(), "a part in a buffer", func() bool { return l.pool.Used() == i+1 })
	}
	return l
}

// dial adds a connection, whose peer sends something.
func (l *line) dial(t *testing.T, sent []byte) {
	t.Helper()
	c, ep := l.dialRaw(t)
	l.conns, l.eps = append(l.conns, c), append(l.eps, ep)
	write(t, c, sent)
}

// join adds endpoints that wait, one after the other.
func (l *line) join(t *testing.T, n int) {
	t.Helper()
	for i := range n {
		l.dial(t, frame([]byte("another")))
		l.waitWaiting(t, i+1)
	}
}

// waitWaiting waits until n endpoints wait.
func (l *line) waitWaiting(t *testing.T, n int) {
	t.Helper()
	waitFor(t, l.b.Loop(), "endpoints that wait", func() bool { return len(l.pool.Waiting()) == n })
}

// wantOrder asserts whose messages come next.
func (l *line) wantOrder(t *testing.T, want ...netio.Endpoint) {
	t.Helper()
	for range want {
		next(t, "OnData", l.Data)
	}
	onLoop(t, l.b.Loop(), func() {
		if !slices.Equal(l.order, want) {
			t.Errorf("messages: got the order %v, want %v", addrs(l.order), addrs(want))
		}
		l.order = nil
	})
	waitFor(t, l.b.Loop(), "the buffer", func() bool { return l.pool.Used() == 0 && len(l.pool.Waiting()) == 0 })
}

func addrs(eps []netio.Endpoint) (all []string) {
	for _, ep := range eps {
		all = append(all, ep.Remote().String())
	}
	return all
}

func TestEndpoint_theFirstToWaitReadsFirst(t *testing.T) {
	l := newLine(t, -1, 1)
	l.join(t, 5)
	write(t, l.conns[0], []byte(rest))
	l.wantOrder(t, l.eps...)
}

func TestEndpoint_theBufferOfAnEndedOneGoesToTheNext(t *testing.T) {
	tests := []struct {
		name string
		end  func(l *line)
	}{
		{"closed", func(l *line) { _ = l.eps[0].Close() }},
		{"the peer has closed", func(l *line) { _ = l.conns[0].Close() }},
		{"the peer has reset", func(l *line) { _ = errors.Join(l.conns[0].SetLinger(0), l.conns[0].Close()) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := newLine(t, -1, 1)
			l.join(t, 2)
			tt.end(l)
			next(t, "OnConnectionClosed", l.Closed)
			l.wantOrder(t, l.eps[1:]...)
		})
	}
}

func TestEndpoint_Close_whileItWaits(t *testing.T) {
	l := newLine(t, -1, 1)
	l.join(t, 3)
	_ = l.eps[2].Close()
	if end := next(t, "OnConnectionClosed", l.Closed); end.Endpoint != l.eps[2] || end.Cause != nil {
		t.Errorf("OnConnectionClosed: got cause %v, want none, and the endpoint that was closed", end.Cause)
	}
	l.waitWaiting(t, 2)
	write(t, l.conns[0], []byte(rest))
	l.wantOrder(t, l.eps[0], l.eps[1], l.eps[3])
}

func TestEndpoint_thatIsPausedDoesNotWait(t *testing.T) {
	l := newLine(t, -1, 1)
	l.join(t, 3)
	l.eps[1].PauseReceive()
	write(t, l.conns[0], []byte(rest))
	l.wantOrder(t, l.eps[0], l.eps[2], l.eps[3])
	l.eps[1].ResumeReceive()
	l.wantOrder(t, l.eps[1])
}

// TestEndpoint_theEndOfAWaitingConnection ends a connection while its endpoint waits: the
// message of before is delivered if the buffer comes.
func TestEndpoint_theEndOfAWaitingConnection(t *testing.T) {
	tests := []struct {
		name  string
		end   func(l *line) error
		cause error
	}{
		{"in order", func(l *line) error { return l.conns[1].Close() }, io.EOF},
		{"by a reset", func(l *line) error { return errors.Join(l.conns[1].SetLinger(0), l.conns[1].Close()) }, syscall.ECONNRESET},
		{"by a send that failed", func(l *line) error {
			onLoop(t, l.b.Loop(), func() { tcp.SendFailed(l.eps[1], syscall.EPIPE) })
			return nil
		}, syscall.EPIPE},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := newLine(t, time.Hour, 1)
			l.join(t, 2)
			if err := tt.end(l); err != nil {
				t.Fatalf("end: got error %v, want none", err)
			}
			for range 3 { // turns in which the end would show
				onLoop(t, l.b.Loop(), func() {})
			}
			if len(l.Closed) != 0 {
				t.Fatal("OnConnectionClosed before the message was delivered: got one, want none")
			}
			write(t, l.conns[0], []byte(rest))
			if end := next(t, "OnConnectionClosed", l.Closed); end.Endpoint != l.eps[1] || !errors.Is(end.Cause, tt.cause) {
				t.Errorf("OnConnectionClosed: got cause %v, want %v", end.Cause, tt.cause)
			}
			l.wantOrder(t, l.eps...)
		})
	}
}

// TestEndpoint_noticesAResetThoughNoBufferComes resets a connection whose endpoint waits
// for a buffer that a paused one keeps.
func TestEndpoint_noticesAResetThoughNoBufferComes(t *testing.T) {
	for name, timeout := range map[string]time.Duration{"after a time": 5 * time.Millisecond, "at once": -1} {
		t.Run(name, func(t *testing.T) {
			l := newLine(t, timeout, 1)
			l.eps[0].PauseReceive()
			l.join(t, 2)
			if err := errors.Join(l.conns[1].SetLinger(0), l.conns[1].Close()); err != nil {
				t.Fatalf("reset: got error %v, want none", err)
			}
			if end := next(t, "OnConnectionClosed", l.Closed); end.Endpoint != l.eps[1] || !errors.Is(end.Cause, syscall.ECONNRESET) {
				t.Errorf("OnConnectionClosed: got cause %v, want %v", end.Cause, syscall.ECONNRESET)
			}
			l.waitWaiting(t, 1)
		})
	}
}

// TestEndpoint_theEndWithoutAMessageNeedsNoBuffer ends connections that have sent nothing
// while the only buffer is taken.
func TestEndpoint_theEndWithoutAMessageNeedsNoBuffer(t *testing.T) {
	l := newLine(t, -1, 1)
	l.join(t, 1)
	c, ep := l.dialRaw(t)
	if err := c.Close(); err != nil {
		t.Fatalf("close: got error %v, want none", err)
	}
	if end := next(t, "OnConnectionClosed", l.Closed); end.Endpoint != ep || end.Cause != io.EOF { //nolint:errorlint // io.EOF is promised unwrapped
		t.Errorf("OnConnectionClosed: got cause %v, want %v", end.Cause, io.EOF)
	}
}

// TestEndpoint_aFirehoseMakesWay: one peer sends without end, and the others get the buffer in
// between.
func TestEndpoint_aFirehoseMakesWay(t *testing.T) {
	l := newLine(t, -1, 1)
	l.join(t, 3)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		// Each write ends in a message, so that there is always a part.
		part := frame([]byte("first"))
		stream := slices.Concat([]byte(rest), bytes.Repeat(frame(make([]byte, 4000)), 10), part[:len(part)-len(rest)])
		for {
			select {
			case <-stop:
				return
			default:
			}
			if _, err := l.conns[0].Write(stream); err != nil {
				t.Errorf("write: got error %v, want none", err)
				return
			}
		}
	}()
	defer func() { <-stopped }()
	defer close(stop)
	for range 20 {
		waiting := map[netio.Endpoint]bool{l.eps[1]: true, l.eps[2]: true, l.eps[3]: true}
		waitFor(t, l.b.Loop(), "a message of each", func() bool {
			for _, ep := range l.order {
				delete(waiting, ep)
			}
			l.order = l.order[:0]
			for len(l.Data) > 0 {
				<-l.Data
			}
			return len(waiting) == 0
		})
		for _, c := range l.conns[1:] {
			write(t, c, frame([]byte("another")))
		}
	}
}
