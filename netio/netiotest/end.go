// SPDX-License-Identifier: Apache-2.0

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

	accepted  []netio.Key // sends that returned nil and were not done, in order
	sent      [][]byte    // the bytes of all that returned nil
	refusals  int         // sends that returned ErrNoResources
	direct    int         // sends that were done, and have no completion
	completed []netio.Key
	cancelled []netio.Key // reported by OnConnectionClosed
	ready     int         // OnSendReady
	received  [][]byte
	parts     int    // messages that came in parts
	offered   []byte // the last of them, if it was not taken and has yet to come whole

	// loose is set by a test that calls without the lock and keeps its own
	// books, because it is about calls at the same time.
	loose bool

	paused  bool // PauseReceive was called on the loop
	closing bool // Close was called on the loop
	closed  bool // OnConnectionClosed was called
	cause   error
}

// way is one of the four ways to send.
type way int

const (
	buffered way = iota
	zeroCopy
	immediate
	direct
)

// String returns the way's name.
func (w way) String() string { return [...]string{"buffered", "zero-copy", "immediate", "direct"}[w] }

// ways returns the ways that e has. The first and the last are ways whose sends are
// completed: direct stands between others.
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
	if e.capabilities.Direct && len(all) > 1 {
		all = slices.Insert(all, 1, direct)
	}
	return all
}

// send sends one message and keeps the books. With buffered the key is the
// buffer's.
func (e *end) send(w way, key netio.Key, header []byte, data ...[]byte) error {
	_, err := e.sendOne(w, key, header, data...)
	return err
}

// sendOne is send, and reports whether the message is done.
func (e *end) sendOne(w way, key netio.Key, header []byte, data ...[]byte) (done bool, err error) {
	e.r.call(func() {
		key, done, err = e.raw(w, key, header, data...)
		switch {
		case done && err != nil:
			e.r.problem("SendDirect: got done and error %v, want one of them", err)
		case err == nil:
			e.sent = append(e.sent, slices.Concat(append([][]byte{header}, data...)...))
			if done {
				e.direct++
			} else {
				e.accepted = append(e.accepted, key)
			}
		case errors.Is(err, netio.ErrNoResources):
			e.refusals++
		}
	})
	return done, err
}

// raw sends one message without books.
func (e *end) raw(w way, key netio.Key, header []byte, data ...[]byte) (_ netio.Key, done bool, err error) {
	switch w {
	case zeroCopy:
		return key, false, e.ep.Send(key, header, data...)
	case immediate:
		return key, false, e.ep.SendCopy(key, header, data...)
	case direct:
		done, err = e.ep.SendDirect(key, header, data...)
		return key, done, err
	default:
		key, err = e.rawBuffered(key, header, data...)
		return key, false, err
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
