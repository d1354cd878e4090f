// SPDX-License-Identifier: Apache-2.0

package tcp_test

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"tagbus/internal/invariants"
	"tagbus/internal/testkit"
	"tagbus/internal/testkit/backendtest"
	"tagbus/netio"
	"tagbus/netio/netiotest"
	"tagbus/netio/reactor"
	"tagbus/netio/tcp"
)

// holdLoop keeps a loop busy until release is called.
func holdLoop(t *testing.T, l netio.Loop) (release func()) {
	t.Helper()
	begun, done := make(chan struct{}), make(chan struct{})
	if !l.Post(func() { close(begun); <-done }) {
		t.Fatal("Post: got false, want true")
	}
	next(t, "the posted function", begun)
	return func() { close(done) }
}

// sendDirect sends directly, which has to succeed.
func sendDirect(t *testing.T, ep netio.Endpoint, key netio.Key, want bool, data ...[]byte) {
	t.Helper()
	if done, err := ep.SendDirect(key, nil, data...); err != nil || done != want {
		t.Fatalf("SendDirect: got %v and error %v, want %v and none", done, err, want)
	}
}

// wantBytes reads what is to come next from a connection.
func wantBytes(t *testing.T, c io.Reader, want []byte) {
	t.Helper()
	got := make([]byte, len(want))
	if _, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, want) {
		t.Fatalf("read: got %d bytes that differ and error %v, want %d bytes", len(got), err, len(want))
	}
}

func TestEndpoint_directSendsNeedNoLoop(t *testing.T) {
	s := serve(t, newWatcher(), tcp.Config{}, netio.Params{})
	c, ep := s.dialRaw(t)
	defer holdLoop(t, s.b.Loop())()
	for i := range tcp.DirectPieces + 1 {
		var pieces [][]byte
		for j := range i {
			pieces = append(pieces, pattern(j*100, j)) // the first is empty
		}
		message := append([]byte("header"), slices.Concat(pieces...)...)
		if done, err := ep.SendDirect(1, []byte("header"), pieces...); err != nil || !done {
			t.Fatalf("SendDirect of %d pieces: got %v and error %v, want true and none", i, done, err)
		}
		wantBytes(t, c, frame(message))
		stats := s.b.Stats()
		if want := uint64(i) + 1; stats.MessagesDirect != want || stats.MessagesSent != want {
			t.Errorf("Stats: got %d messages sent and %d of them directly, want %d", stats.MessagesSent, stats.MessagesDirect, want)
		}
	}
}

// TestEndpoint_aMessageOfManyPiecesIsLeftToTheLoop, and what follows too, in order.
func TestEndpoint_aMessageOfManyPiecesIsLeftToTheLoop(t *testing.T) {
	s := serve(t, newWatcher(), tcp.Config{}, netio.Params{})
	c, ep := s.dialRaw(t)
	release := holdLoop(t, s.b.Loop())
	var pieces [][]byte
	for j := range tcp.DirectPieces + 1 {
		pieces = append(pieces, pattern(100, j))
	}
	sendDirect(t, ep, 1, false, pieces...)
	sendDirect(t, ep, 2, false, []byte("behind it"))
	release()
	wantBytes(t, c, slices.Concat(frame(slices.Concat(pieces...)), frame([]byte("behind it"))))
	for key := range netio.Key(2) {
		if got := next(t, "OnSendCompleted", s.Completed); got != key+1 {
			t.Errorf("completion: got key %d, want %d", got, key+1)
		}
	}
	onLoop(t, s.b.Loop(), func() {}) // until the last callback has ended
	sendDirect(t, ep, 3, true, []byte("idle again"))
	wantBytes(t, c, frame([]byte("idle again")))
	if got := s.b.Stats(); got.MessagesSent != 3 || got.MessagesDirect != 1 {
		t.Errorf("Stats: got %d messages sent and %d of them directly, want 3 and 1", got.MessagesSent, got.MessagesDirect)
	}
}

// TestEndpoint_directStreamOfBytes reads with a plain socket what is sent in all ways, slowly
// enough that nearly every direct send is short.
func TestEndpoint_directStreamOfBytes(t *testing.T) {
	s := serve(t, newWatcher(), tcp.Config{SendBufferBytes: 1}, netio.Params{ZeroCopy: netio.ZeroCopyParams{Outstanding: 3}})
	c, ep := s.dialRaw(t)
	read := make(chan []byte, 1)
	go func() {
		var all []byte
		for mem := make([]byte, 3000); ; { // small reads, so that the window stays small
			n, err := c.Read(mem)
			if all = append(all, mem[:n]...); err != nil {
				read <- all
				return
			}
		}
	}()
	var want []byte
	var keys []netio.Key
	short := 0
	for i := range netio.Key(netiotest.Few(600, 150)) {
		message := pattern(1+int(i*i*131)%40_000, int(i))
		for {
			done, err := false, error(nil)
			switch i % 5 {
			case 3:
				err = ep.Send(i, message[:1], message[1:])
			case 4:
				err = ep.SendCopy(i, message[:1], message[1:])
			default:
				done, err = ep.SendDirect(i, message[:1], message[1:])
			}
			if errors.Is(err, netio.ErrNoResources) {
				next(t, "OnSendReady", s.Ready)
				continue
			}
			if err != nil {
				t.Fatalf("send: got error %v, want none", err)
			}
			if !done {
				keys = append(keys, i)
				short++
			}
			break
		}
		want = append(want, frame(message)...)
	}
	for i, key := range keys {
		if got := next(t, "OnSendCompleted", s.Completed); got != key {
			t.Fatalf("completion %d: got key %d, want %d", i, got, key)
		}
	}
	if err := ep.Close(); err != nil {
		t.Errorf("Close: got error %v, want none", err)
	}
	if got := next(t, "the end of the stream", read); !bytes.Equal(got, want) {
		t.Errorf("stream: got %d bytes, want the %d of the frames", len(got), len(want))
	}
	if got := s.b.Stats().MessagesDirect; short == 0 || got == 0 {
		t.Errorf("got %d messages sent directly and %d not, want some of both", got, short)
	}
}

// TestEndpoint_directSendOfAPartGoesOn: the loop finds by itself that the socket is full, and
// goes on when there is room.
func TestEndpoint_directSendOfAPartGoesOn(t *testing.T) {
	s := serve(t, newWatcher(), tcp.Config{}, netio.Params{Receive: netio.ReceiveParams{MaxMessageBytes: 1 << 30}})
	c, ep := s.dialRaw(t)
	large := pattern(32<<20, 1)
	sendDirect(t, ep, 7, false, large[:10], large[10:])
	sendDirect(t, ep, 8, false, []byte("behind it"))
	onLoop(t, s.b.Loop(), func() {})
	if got := len(s.Completed); got != 0 {
		t.Errorf("completions while the peer reads nothing: got %d, want none", got)
	}
	wantBytes(t, c, slices.Concat(frame(large), frame([]byte("behind it"))))
	for _, key := range []netio.Key{7, 8} {
		if got := next(t, "OnSendCompleted", s.Completed); got != key {
			t.Errorf("completion: got key %d, want %d", got, key)
		}
	}
}

// TestEndpoint_directSendWithoutRoomIsTriedByTheLoop: what a sender finds passes, as a full
// socket does.
func TestEndpoint_directSendWithoutRoomIsTriedByTheLoop(t *testing.T) {
	s := serve(t, newWatcher(), tcp.Config{}, netio.Params{})
	c, ep := s.dialRaw(t)
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatalf("socketpair: got error %v, want none", err)
	}
	for _, fd := range pair {
		defer func() { _ = unix.Close(fd) }()
	}
	for err == nil {
		err = unix.Sendto(pair[0], make([]byte, 4096), unix.MSG_DONTWAIT, nil)
	}
	// The descriptor is a blocking one: SendDirect must not wait all the same.
	undo := tcp.DivertDirect(ep, pair[0])
	sendDirect(t, ep, 7, false, []byte("found no room"))
	undo()
	wantBytes(t, c, frame([]byte("found no room")))
	if got := next(t, "OnSendCompleted", s.Completed); got != 7 {
		t.Errorf("completion: got key %d, want 7", got)
	}
}

// TestEndpoint_directSendBeforeTheConnectionIsReported leaves it to the loop.
func TestEndpoint_directSendBeforeTheConnectionIsReported(t *testing.T) {
	r := backendtest.NewRunner(t, reactor.Config{})
	w := newWatcher()
	b, err := tcp.Opener(r.EventLoop, tcp.Config{})(w)
	if err != nil {
		t.Fatalf("open: got error %v, want none", err)
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatalf("socketpair: got error %v, want none", err)
	}
	defer func() { _ = unix.Close(pair[1]) }()
	ep, err := tcp.AddEndpoint(b, pair[0], netio.Params{})
	if err != nil {
		t.Fatalf("AddEndpoint: got error %v, want none", err)
	}
	sendDirect(t, ep, 7, false, []byte("early"))
	if len(w.Completed) != 0 {
		t.Error("completion before the turn of the loop: got one, want none")
	}
	tcp.EndTurn(b)
	if got := next(t, "OnSendCompleted", w.Completed); got != 7 {
		t.Errorf("completion: got key %d, want 7", got)
	}
	got := make([]byte, 100)
	if n, err := unix.Read(pair[1], got); err != nil || !bytes.Equal(got[:n], frame([]byte("early"))) {
		t.Errorf("read: got %q and error %v, want the message", got[:n], err)
	}
	if err := errors.Join(b.Close(), r.Close()); err != nil {
		t.Errorf("Close: got error %v, want none", err)
	}
}

func TestEndpoint_directSendsAllocateNothing(t *testing.T) {
	if testkit.Race {
		t.Skip("the race detector allocates")
	}
	if invariants.Enabled {
		t.Skip("the checks of a build with invariants allocate")
	}
	s := serve(t, newWatcher(), tcp.Config{}, netio.Params{})
	c, ep := s.dialRaw(t)
	header, data := make([]byte, netio.MaxHeaderBytes), [][]byte{make([]byte, 10), make([]byte, 3000)}
	mem := make([]byte, len(frame(slices.Concat(header, data[0], data[1]))))
	got := testing.AllocsPerRun(1000, func() {
		if done, err := ep.SendDirect(1, header, data...); err != nil || !done {
			t.Errorf("SendDirect: got %v and error %v, want true and none", done, err)
		}
		if _, err := io.ReadFull(c, mem); err != nil {
			t.Errorf("read: got error %v, want none", err)
		}
	})
	if got != 0 {
		t.Errorf("allocations of a direct send: got %v, want none", got)
	}
}
