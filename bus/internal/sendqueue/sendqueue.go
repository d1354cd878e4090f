// SPDX-License-Identifier: Apache-2.0

// Package sendqueue holds the messages to one peer that the transport has not taken yet.
//
// A peer may ask faster than it reads the answers. While too many bytes wait, nothing is
// read from it, so its own socket slows it, and it cannot take any amount of memory.
package sendqueue

import (
	"tagbus/bus/internal/ring"
	"tagbus/netio"
)

const (
	// Most is how many bytes may wait. With more, nothing is read from the peer. The
	// answers to one message may exceed the limit.
	Most = 256 << 10

	// MessageBytes is what a message counts beyond its bytes.
	MessageBytes = 64
)

// Queue holds messages in their order, until they are sent.
type Queue struct {
	pause, resume func()

	waiting ring.Ring[[]byte]
	bytes   int  // of those
	unread  bool // too many bytes wait
	sending int  // given to the transport and not completed

	sent  bool // one was given since the last Sent
	moved bool // one was completed since the last Moves
}

// New returns an empty queue.
//
//   - pause, resume: end and go on with reading from the peer, in turn.
func New(pause, resume func()) Queue { return Queue{pause: pause, resume: resume} }

// Push adds a message.
func (q *Queue) Push(b []byte) {
	q.waiting.Push(b)
	q.bytes += len(b) + MessageBytes
	if q.bytes > Most && !q.unread {
		q.unread, q.moved = true, true
		q.pause()
	}
}

// copyBytes is the size up to which a message is copied into memory that the endpoint gives
// back when it is idle, rather than into one of its buffers, of which it keeps every page
// that was ever written to.
const copyBytes = 256

// Pump gives a connection the messages that wait, as many as it takes. OnSendReady, or the
// end of the connection, follows if it takes no more for now: ErrNoResources, ErrClosed.
//
// Errors: those of netio.Endpoint.
func (q *Queue) Pump(ep netio.Endpoint) error {
	for q.Waits() {
		if err := give(ep, q.Front()); err != nil {
			return err
		}
		q.Given()
	}
	return nil
}

// give gives a connection a message.
func give(ep netio.Endpoint, message []byte) error {
	if len(message) <= copyBytes && ep.Capabilities().Immediate {
		return ep.SendCopy(0, nil, message)
	}
	b, err := ep.Buffer()
	if err != nil {
		return err
	}
	if _, err = b.Write(message); err == nil {
		err = ep.SendBuffer(b)
	}
	if err != nil {
		b.Release()
	}
	return err
}

// Beat sends a message as Push and Pump do, but directly if the connection is idle and can
// do that. Sent does not count it.
//
//   - message: does not change any more.
//   - Errors: as of Pump.
func (q *Queue) Beat(ep netio.Endpoint, message []byte) error {
	if can := ep.Capabilities(); q.Idle() && can.Direct && can.AnyMemory {
		if done, err := ep.SendDirect(0, nil, message); err == nil {
			if !done {
				q.sending++
			}
			return nil
		}
	}
	q.Push(message)
	err := q.Pump(ep)
	q.sent = false
	return err
}

// Waits reports whether a message waits.
func (q *Queue) Waits() bool { return q.waiting.Len() > 0 }

// Front returns the first message that waits. There must be one.
func (q *Queue) Front() []byte { return *q.waiting.Front() }

// Given notes that the transport has taken the first message.
func (q *Queue) Given() {
	q.sent = true
	q.sending++
	q.bytes -= len(q.waiting.Pop()) + MessageBytes
	if q.bytes <= Most/2 {
		q.readOn()
	}
}

// Completed notes that the transport has sent a message that was given to it.
func (q *Queue) Completed() {
	q.sending--
	q.moved = true
}

// Drop forgets all messages, with the connection.
func (q *Queue) Drop() {
	q.waiting, q.bytes, q.sending = ring.Ring[[]byte]{}, 0, 0
	q.readOn()
}

func (q *Queue) readOn() {
	if q.unread {
		q.unread = false
		q.resume()
	}
}

// Bytes returns how much waits, with MessageBytes for each message.
func (q *Queue) Bytes() int { return q.bytes }

// Idle reports whether all messages are sent.
func (q *Queue) Idle() bool { return q.waiting.Len() == 0 && q.sending == 0 }

// Unread reports whether so much waits that the peer is not read.
func (q *Queue) Unread() bool { return q.unread }

// Sent reports whether a message was given to the transport since the last call.
func (q *Queue) Sent() bool {
	sent := q.sent
	q.sent = false
	return sent
}

// Moves reports whether the peer takes its messages: not too many wait, or one was
// completed since the last call. The silence of a peer that moves means nothing while
// it is not read.
func (q *Queue) Moves() bool {
	moved := q.moved
	q.moved = false
	return !q.unread || moved
}
