package netiotest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"tagbus/netio"
)

// end is one endpoint as its recorder knows it: what was asked of it and what
// was reported. The fields are guarded by the recorder's lock.
type end struct {
	r            *recorder
	ep           netio.Endpoint
	capabilities netio.Capabilities
	context      any // when established

	accepted  []netio.Key // sends that returned nil, in order
	sent      [][]byte    // their bytes
	refusals  int         // sends that returned ErrNoResources
	completed []netio.Key
	cancelled []netio.Key // reported by OnConnectionClosed
	ready     int         // OnSendReady
	received  [][]byte

	// loose is set by a test that calls without the lock and keeps its own
	// books, because it is about calls at the same time.
	loose bool

	paused  bool // PauseReceive was called on the loop
	closing bool // Close was called on the loop
	closed  bool // OnConnectionClosed was called
	cause   error
}

// way is one of the three ways to send.
type way int

const (
	buffered way = iota
	zeroCopy
	immediate
)

// String returns the way's name.
func (w way) String() string { return [...]string{"buffered", "zero-copy", "immediate"}[w] }

// ways returns the ways that e has.
func (e *end) ways() []way {
	var all []way
	if e.capabilities.Buffered {
		all = append(all, buffered)
	}
	if e.capabilities.ZeroCopy {
		all = append(all, zeroCopy)
	}
	if e.capabilities.Immediate {
		all = append(all, immediate)
	}
	return all
}

// send sends one message and keeps the books. With buffered the key is the
// buffer's.
func (e *end) send(w way, key netio.Key, header []byte, data ...[]byte) (err error) {
	e.r.call(func() {
		key, err = e.raw(w, key, header, data...)
		switch {
		case err == nil:
			e.accepted = append(e.accepted, key)
			e.sent = append(e.sent, slices.Concat(append([][]byte{header}, data...)...))
		case errors.Is(err, netio.ErrNoResources):
			e.refusals++
		}
	})
	return err
}

// raw sends one message without books.
func (e *end) raw(w way, key netio.Key, header []byte, data ...[]byte) (netio.Key, error) {
	switch w {
	case zeroCopy:
		return key, e.ep.Send(key, header, data...)
	case immediate:
		return key, e.ep.SendCopy(key, header, data...)
	default:
		return e.rawBuffered(key, header, data...)
	}
}

func (e *end) rawBuffered(key netio.Key, header []byte, data ...[]byte) (netio.Key, error) {
	b, err := e.ep.Buffer()
	if err != nil {
		return key, err
	}
	if _, err = b.WriteVector(append([][]byte{header}, data...)...); err == nil {
		err = e.ep.SendBuffer(b)
	}
	if err != nil {
		e.r.release(b)
	}
	return b.Key(), err
}

// sendAll sends one message, waiting whenever there is no room.
func (e *end) sendAll(t TB, w way, key netio.Key, header []byte, data ...[]byte) {
	t.Helper()
	for {
		err := e.send(w, key, header, data...)
		if err == nil {
			return
		}
		if !errors.Is(err, netio.ErrNoResources) {
			t.Fatalf("%s: send %s of key %d: got error %v, want none", e.r.name, w, key, err)
		}
		e.r.wait(t, "OnSendReady after ErrNoResources", func() bool { return e.ready == e.refusals || e.closed })
	}
}

// complete needs the recorder's lock.
func (e *end) complete(key netio.Key) {
	e.completed = append(e.completed, key)
	if e.loose {
		return
	}
	n := len(e.completed)
	if n > len(e.accepted) {
		e.r.problem("OnSendCompleted came %d times for %d sends, last with key %d", n, len(e.accepted), key)
	} else if want := e.accepted[n-1]; key != want {
		e.r.problem("completion %d: got key %d, want %d", n, key, want)
	}
}

// end needs the recorder's lock.
func (e *end) end(keys []netio.Key, cause error) {
	e.closed = true
	e.cause = cause
	e.cancelled = slices.Clone(keys)
}

// settle notes a problem unless every accepted key was reported exactly once,
// in order. It needs the recorder's lock.
func (e *end) settle() {
	if e.loose {
		return
	}
	if got := slices.Concat(e.completed, e.cancelled); !slices.Equal(got, e.accepted) {
		e.r.problem("reported keys: got %v completed and %v by OnConnectionClosed, want all of %v in order",
			shortList(e.completed), shortList(e.cancelled), shortList(e.accepted))
	}
}

// shortList leaves out the middle of a long list.
func shortList(keys []netio.Key) string {
	if len(keys) <= 20 {
		return fmt.Sprint(keys)
	}
	return fmt.Sprintf("[%d keys: %v … %v]", len(keys), keys[:8], keys[len(keys)-8:])
}

// waitIdle waits until all sends of e are complete.
func (e *end) waitIdle(t TB) {
	t.Helper()
	e.r.wait(t, "the completion of every send", func() bool { return len(e.completed) == len(e.accepted) })
}

// waitClosed waits for OnConnectionClosed.
func (e *end) waitClosed(t TB) {
	t.Helper()
	e.r.wait(t, "OnConnectionClosed", func() bool { return e.closed })
}

// waitCause waits for OnConnectionClosed and returns its cause.
func (e *end) waitCause(t TB) error {
	t.Helper()
	e.waitClosed(t)
	return e.cause
}

// waitReceived waits for n messages in all.
func (e *end) waitReceived(t TB, n int) {
	t.Helper()
	e.r.wait(t, fmt.Sprintf("%d messages", n), func() bool { return len(e.received) >= n })
}

// checkReceived compares what to received with the beginning of what from
// sent, and unless cut is set with all of it.
func checkReceived(t TB, from, to *end, cut bool) {
	t.Helper()
	var sent, received [][]byte
	from.r.locked(func() { sent = slices.Clone(from.sent) })
	to.r.locked(func() { received = slices.Clone(to.received) })
	if len(received) > len(sent) || (!cut && len(received) < len(sent)) {
		t.Errorf("%s: got %d messages, want %d", to.r.name, len(received), len(sent))
	}
	for i := range min(len(sent), len(received)) {
		if !bytes.Equal(sent[i], received[i]) {
			t.Errorf("%s: message %d: got %s, want %s", to.r.name, i, shortBytes(received[i]), shortBytes(sent[i]))
			return
		}
	}
}

// shortBytes leaves out most of a long message.
func shortBytes(b []byte) string {
	return fmt.Sprintf("%d bytes %x…", len(b), b[:min(len(b), 24)])
}
