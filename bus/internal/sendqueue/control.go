// SPDX-License-Identifier: Apache-2.0

package sendqueue

import (
	"errors"

	"tagbus/netio"
	"tagbus/subscription"
)

// Control sends the control messages of one side, on one connection after the other, and
// ends each in order: a goodbye behind everything else, and then the connection closes.
type Control struct {
	queue Queue
	ep    netio.Endpoint // nil without a connection
	last  func()
	fail  func(error)

	leaving bool // goodbye follows when all is sent
	parted  bool // goodbye is said; the connection is closed when it is sent
}

// NewControl returns a Control without a connection.
//
//   - pause, resume: end and go on with reading from the peer, in turn.
//   - last: sends what has no later, before a goodbye.
//   - fail: ends the connection for an error that nothing else follows.
func NewControl(pause, resume, last func(), fail func(error)) Control {
	return Control{queue: New(pause, resume), last: last, fail: fail}
}

// Open begins a connection with its first message.
func (c *Control) Open(ep netio.Endpoint, hello []byte) {
	c.ep = ep
	c.queue.Push(hello)
	c.Pump()
}

// Drop forgets the connection, and what was to be sent on it.
func (c *Control) Drop() {
	c.ep, c.leaving, c.parted = nil, false, false
	c.queue.Drop()
}

// Send sends a message.
func (c *Control) Send(m subscription.Message) {
	c.Push(m)
	c.Pump()
}

// Push queues a message for Pump. Nothing comes after a goodbye.
func (c *Control) Push(m subscription.Message) {
	if c.parted {
		return
	}
	b, err := subscription.Append(nil, m)
	if err != nil {
		c.fail(err)
		return
	}
	c.queue.Push(b)
}

// Pump sends what waits.
func (c *Control) Pump() {
	if c.ep != nil {
		c.pumped(c.queue.Pump(c.ep))
	}
}

// pumped ends the connection for an error of its endpoint that nothing else follows.
func (c *Control) pumped(err error) {
	if err != nil && !errors.Is(err, netio.ErrNoResources) && !errors.Is(err, netio.ErrClosed) {
		c.fail(err)
	}
}

// Completed notes that the endpoint has sent a message.
func (c *Control) Completed() {
	c.queue.Completed()
	c.leaveIfSent()
}

// Beat sends a message that says only that this side lives.
//
//   - beat: does not change any more.
func (c *Control) Beat(beat []byte) {
	if !c.parted {
		c.pumped(c.queue.Beat(c.ep, beat))
	}
}

// Leave ends the connection in order, behind the messages still to be sent.
func (c *Control) Leave() {
	c.leaving = true
	c.leaveIfSent()
}

// Stay undoes Leave, unless goodbye is said already.
func (c *Control) Stay() { c.leaving = false }

// leaveIfSent says goodbye once all else is sent, and then closes.
func (c *Control) leaveIfSent() {
	switch {
	case !c.leaving || c.ep == nil || !c.queue.Idle():
	case c.parted:
		_ = c.ep.Close()
	default:
		c.Part()
	}
}

// Part says goodbye at once. Nothing comes after it.
func (c *Control) Part() {
	c.leaving = true // so that last does not put off what has no later
	c.last()
	c.Push(&subscription.Goodbye{})
	c.parted = true
	c.Pump()
}

// Leaving reports whether Leave or Part was called on this connection.
func (c *Control) Leaving() bool { return c.leaving }

// Parted reports whether goodbye is said.
func (c *Control) Parted() bool { return c.parted }

// Waits reports whether a message waits, and there is a later at which more can be sent.
func (c *Control) Waits() bool { return c.queue.Waits() && !c.parted && !c.leaving }

// Queue returns the messages that wait.
func (c *Control) Queue() *Queue { return &c.queue }
