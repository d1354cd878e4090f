// SPDX-License-Identifier: Apache-2.0

package tcp_test

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tagbus/netio"
	"tagbus/netio/tcp"
)

// TestEndpoint_streamOfBytes reads with a plain socket what an endpoint sends, slowly
// enough that nearly every write is short.
func TestEndpoint_streamOfBytes(t *testing.T) {
	w := newWatcher()
	s := serve(t, w, tcp.Config{SendBufferBytes: 1}, netio.Params{
		Buffered: netio.BufferedParams{Buffers: 4, BufferBytes: 200_000},
		ZeroCopy: netio.ZeroCopyParams{Outstanding: 100},
	})
	c, ep := s.dialRaw(t)
	var want []byte
	must := func(err error) {
		if err != nil {
			t.Fatalf("send: got error %v, want none", err)
		}
	}
	sent := 0
	add := func(message ...[]byte) {
		want = append(want, frame(slices.Concat(message...))...)
		sent++
	}
	header := []byte("0123456789abcdef")
	var pieces [][]byte
	for i := range 5000 {
		pieces = append(pieces, pattern(1+i%50, i))
	}
	for i, n := range []int{1, 255, 256, 257, 5000, 70_000, 1 << 20} {
		must(ep.Send(netio.Key(sent), header, pattern(n, i)))
		add(header, pattern(n, i))
		must(ep.SendCopy(netio.Key(sent), nil, pattern(n, i), header))
		add(pattern(n, i), header)
		must(ep.Send(netio.Key(sent), header[:3], pieces...))
		add(append([][]byte{header[:3]}, pieces...)...)
	}
	b, err := ep.Buffer()
	must(err)
	copy(b.Extend(150_000), pattern(150_000, 9))
	must(ep.SendBuffer(b))
	add(pattern(150_000, 9))

	got := make([]byte, len(want))
	for at := 0; at < len(got); { // small reads, so that the window stays small
		n, err := c.Read(got[at:min(at+3000, len(got))])
		if err != nil {
			t.Fatalf("read: got error %v, want none", err)
		}
		at += n
	}
	if !bytes.Equal(got, want) {
		t.Errorf("stream: got %d bytes that differ from the frames of the messages", len(got))
	}
	for i := range sent - 1 {
		if key := next(t, "OnSendCompleted", s.Completed); key != netio.Key(i) {
			t.Fatalf("completion %d: got key %d, want %d", i, key, i)
		}
	}
	if key := next(t, "OnSendCompleted", s.Completed); key != 0 {
		t.Errorf("completion of the first buffer: got key %d, want 0", key)
	}
	if used, _ := tcp.BackendBytes(s.b); used != 0 {
		onLoop(t, s.b.Loop(), func() {}) // the turn gives back the last block at its end
		if used, _ = tcp.BackendBytes(s.b); used != 0 {
			t.Errorf("memory when all is sent: got %d bytes, want none", used)
		}
	}
}

// TestEndpoint_lastWordsAreHeard closes a peer that is being sent to: what it said
// before arrives, though sending fails first.
func TestEndpoint_lastWordsAreHeard(t *testing.T) {
	w := newWatcher()
	s := serve(t, w, tcp.Config{}, netio.Params{})
	c, ep := s.dialRaw(t)
	var loopErr error
	onLoop(t, s.b.Loop(), func() {
		write(t, c, frame([]byte("goodbye")))
		loopErr = c.CloseWrite()
		tcp.SendFailed(ep, unix.EPIPE) // before the loop has seen any of it
	})
	if loopErr != nil {
		t.Fatalf("CloseWrite: got error %v, want none", loopErr)
	}
	if got := next(t, "OnData", s.Data); string(got) != "goodbye" {
		t.Errorf("last message: got %q, want it", got)
	}
	if end := next(t, "OnConnectionClosed", s.Closed); end.Cause != io.EOF { //nolint:errorlint // io.EOF is promised unwrapped
		t.Errorf("cause: got %v, want %v", end.Cause, io.EOF)
	}
}

func TestEndpoint_Send_isTriedAgainWhenMemoryIsShort(t *testing.T) {
	s := serve(t, newWatcher(), tcp.Config{}, netio.Params{})
	c, ep := s.dialRaw(t)
	onLoop(t, s.b.Loop(), func() { tcp.SendFailed(ep, unix.ENOBUFS) })
	if err := ep.SendCopy(5, nil, []byte("later")); err != nil {
		t.Fatalf("SendCopy: got error %v, want none", err)
	}
	got := make([]byte, 9)
	if _, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, frame([]byte("later"))) {
		t.Errorf("read: got %q and error %v, want the message", got, err)
	}
	if key := next(t, "OnSendCompleted", s.Completed); key != 5 {
		t.Errorf("completion: got key %d, want 5", key)
	}
}

func TestEndpoint_Send_toAPeerThatIsGoneEnds(t *testing.T) {
	s := serve(t, newWatcher(), tcp.Config{}, netio.Params{ZeroCopy: netio.ZeroCopyParams{Outstanding: 8}})
	c, ep := s.dialRaw(t)
	ep.PauseReceive() // so that only sending can notice
	if err := c.Close(); err != nil {
		t.Fatalf("close: got error %v, want none", err)
	}
	accepted := 0
	for {
		err := ep.Send(netio.Key(accepted), nil, make([]byte, 1000))
		if errors.Is(err, netio.ErrClosed) {
			break
		}
		if err == nil {
			accepted++
		}
		onLoop(t, s.b.Loop(), func() {})
	}
	end := next(t, "OnConnectionClosed", s.Closed)
	if end.Cause == nil {
		t.Errorf("cause: got nil, want the reason")
	}
	if got := len(s.Completed) + len(end.Keys); got != accepted {
		t.Errorf("keys reported: got %d, want %d", got, accepted)
	}
}

func TestEndpoint_givesUpAPeerThatTakesNothing(t *testing.T) {
	w := newWatcher()
	s := serve(t, w, tcp.Config{UserTimeout: 200 * time.Millisecond}, netio.Params{})
	_, ep := s.dialRaw(t)
	data := make([]byte, 1<<20)
	accepted := 0
	for ep.Send(1, nil, data) == nil {
		accepted++
	}
	end := next(t, "OnConnectionClosed", w.Closed)
	var op *netio.OpError
	if !errors.Is(end.Cause, syscall.ETIMEDOUT) || !errors.As(end.Cause, &op) || op.Op != "send" {
		t.Errorf("cause: got %v, want an *OpError that wraps %v", end.Cause, syscall.ETIMEDOUT)
	}
	if got := len(w.Completed) + len(end.Keys); got < accepted {
		t.Errorf("keys reported: got %d, want at least the %d accepted by then", got, accepted)
	}
}

// TestEndpoint_Send_manyAtOnce gives the end of a turn more to do than it takes on, and
// makes it even more in the meantime.
func TestEndpoint_Send_manyAtOnce(t *testing.T) {
	const endpoints, rounds = 30, 3
	w := newWatcher()
	left := endpoints * rounds
	data := make([]byte, 1<<20)
	w.AtCompleted = func(c netio.Completion) {
		if left--; left >= endpoints {
			if err := c.Endpoint.Send(1, nil, data); err != nil {
				t.Errorf("Send: got error %v, want none", err)
			}
		}
	}
	s := serve(t, w, tcp.Config{}, netio.Params{})
	var eps []netio.Endpoint
	for range endpoints {
		c, ep := s.dialRaw(t)
		eps = append(eps, ep)
		go func() { _, _ = io.Copy(io.Discard, c) }()
	}
	onLoop(t, s.b.Loop(), func() {
		for _, ep := range eps {
			if err := ep.Send(1, nil, data); err != nil {
				t.Errorf("Send: got error %v, want none", err)
			}
		}
	})
	for range endpoints * rounds {
		next(t, "OnSendCompleted", w.Completed)
	}
	if err := s.b.Close(); err != nil { // ends the copying
		t.Errorf("Backend.Close: got error %v, want none", err)
	}
}

// TestEndpoint_Send_inEachCompletionLeavesOthersTheirTurn sends one byte, and
// another one in each completion, and asserts that the loop does other things too.
func TestEndpoint_Send_inEachCompletionLeavesOthersTheirTurn(t *testing.T) {
	const many = 10_000
	w := newWatcher()
	var s *served
	completed := 0 // the loop only
	other := make(chan int, 1)
	w.AtCompleted = func(c netio.Completion) {
		completed++
		if completed == 1 {
			s.b.Loop().Post(func() { other <- completed })
		}
		if completed < many {
			if err := c.Endpoint.SendCopy(0, nil, []byte{1}); err != nil {
				t.Errorf("SendCopy: got error %v, want none", err)
			}
		}
	}
	s = serve(t, w, tcp.Config{}, netio.Params{})
	c, ep := s.dialRaw(t)
	received := make(chan error, 1)
	go func() {
		_, err := io.CopyN(io.Discard, c, many*5)
		received <- err
	}()
	if err := ep.SendCopy(0, nil, []byte{1}); err != nil {
		t.Fatalf("SendCopy: got error %v, want none", err)
	}
	if got := next(t, "the posted function", other); got > many/10 {
		t.Errorf("completions before the posted function: got %d, want at most %d", got, many/10)
	}
	if err := next(t, "all bytes", received); err != nil {
		t.Errorf("read: got error %v, want none", err)
	}
}

// A vector that was full in the middle of a message lost the piece that did not
// fit, if the next one lay behind the one before in memory.
func TestEndpoint_aVectorThatIsFullInAMessageLosesNothing(t *testing.T) {
	s := serve(t, newWatcher(), tcp.Config{}, netio.Params{ZeroCopy: netio.ZeroCopyParams{Outstanding: 1024}})
	c, ep := s.dialRaw(t)
	var want []byte
	frame := func(pieces ...[]byte) {
		n := 0
		for _, p := range pieces {
			n += len(p)
		}
		want = append(want, byte(n), byte(n>>8), byte(n>>16), byte(n>>24))
		for _, p := range pieces {
			want = append(want, p...)
		}
	}
	filler := bytes.Repeat([]byte{'f'}, 300)
	page := bytes.Repeat([]byte{'A'}, 24) // two record headers, one behind the other
	copy(page[12:], bytes.Repeat([]byte{'B'}, 12))
	x := bytes.Repeat([]byte{'X'}, 400)
	y := bytes.Repeat([]byte{'Y'}, 400)
	onLoop(t, s.b.Loop(), func() {
		for i := range 511 { // of 1,024 pieces that one system call takes, 1,022
			if err := ep.Send(netio.Key(i), nil, filler); err != nil {
				t.Errorf("Send %d: got error %v, want none", i, err)
			}
			frame(filler)
		}
		if err := ep.Send(999, nil, page[:12], x, page[12:], y); err != nil {
			t.Errorf("Send: got error %v, want none", err)
		}
		frame(page[:12], x, page[12:], y)
	})
	got := make([]byte, len(want))
	if _, err := io.ReadFull(c, got); err != nil {
		t.Fatalf("read: got error %v, want none", err)
	}
	if !bytes.Equal(got, want) {
		t.Error("the stream differs from what was sent")
	}
}
