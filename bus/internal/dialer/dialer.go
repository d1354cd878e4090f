// SPDX-License-Identifier: Apache-2.0

// Package dialer makes a connection to a peer that is known by its addresses, and makes
// it again after a loss.
//
//	idle ──► dialing ──► greeting ──► ready
//	 ▲          │            │          │
//	 │          ▼            ▼          │
//	 └──────  waiting  ◄────────────────┘   (refused, lost)
//
// A try goes through all addresses, several at a time if need be (try.go). After a try that
// fails, and after a loss, a contact waits before the next one: each time longer, and
// spread at random. The delay is short again after a connection that has lasted.
//
// A peer may be reached by several backends, of which the user prefers some. Each try
// begins with the best one, and another one is tried when that fails.
//
// A contact knows no messages and no backend. Its user opens the connection, says hello
// on it, and notes here what becomes of it. A peer that dials by itself has a contact
// too, which begins with Established.
//
// Everything here runs on the loop. Nothing is locked.
package dialer

import (
	"time"

	"github.com/cenkalti/backoff/v5"

	"tagbus/bus/internal/heartbeat"
	"tagbus/internal/alarm"
)

// Dialer is what the contacts of one user of backends have in common.
type Dialer struct {
	alarms      *alarm.Clock
	least, most time.Duration // delay before another try
	hello       time.Duration // that a peer may take for its hello
	backends    Backends
	taken       map[Target]*Contact // addresses with a connection, or one that is being opened
}

// NewDialer returns a dialer without contacts.
//
//   - least, most: the delay before another try.
//   - hello: how long a peer may take for its hello.
//   - backends: those of the targets.
func NewDialer(alarms *alarm.Clock, least, most, hello time.Duration, backends Backends) Dialer {
	return Dialer{alarms: alarms, least: least, most: most, hello: hello, backends: backends, taken: make(map[Target]*Contact)}
}

// Backends is what a dialer knows of backends, by their names.
type Backends interface {
	Within(backend string) bool // reports whether its addresses are names within the host
	Spread(backend string) bool // reports whether its addresses are shared out among contacts: each try keeps to their order
}

// Prepare makes c the contact of a user.
func (d *Dialer) Prepare(c *Contact, user User) {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.MaxInterval = d.least, d.most
	b.Reset()
	c.dialer, c.user, c.backoff, c.delay.F = d, user, b, c.ring
}

// Connected reports whether a contact that has opened a connection to an address is
// ready.
func (d *Dialer) Connected(addr Target) bool {
	c := d.taken[addr]
	return c != nil && c.state == ready && c.opened == addr
}

// User is what a contact asks and tells.
type User interface {
	// Open begins to open a connection. After nil, Contact.Established or Dialer.Refused
	// follows, not before Open returns.
	Open(addr Target) error

	Wanted() bool // reports whether a connection is wanted
	Woken()       // the delay is over: the contact is idle, to be dialed if it is wanted

	// Tried ends a try, with the errors of all addresses, joined, or begins to retry,
	// with nil. The contact waits, or is idle if no connection is wanted.
	Tried(err error)

	HelloMissed() // Greeted did not come in time: close the connection
}

// Contact is the way to one peer. It must not be copied once it is prepared.
type Contact struct {
	Addresses []Target // of the peer, in the order in which they are tried, those of a kind of backend together; at least one; see Revise

	dialer  *Dialer
	user    User
	state   state
	try     try
	opening []Target    // in the order of Open; also what earlier tries have left behind
	closing []Target    // whose connections the user closes, as another one was faster
	opened  Target      // of the connection, or of the last one, if this side has dialed
	passed  []Failure   // of the better backends, when the connection became ready
	worked  Target      // tried first, since the last connection was ready there
	since   time.Time   // when the connection became ready
	delay   alarm.Alarm // of the next try, or of the next address
	hurried bool        // the delay of the next try is the least
	hello   heartbeat.Deadline
	backoff *backoff.ExponentialBackOff
}

type state int

const (
	idle state = iota
	dialing
	greeting
	ready
	waiting
)

// Idle reports whether there is neither a connection nor a try nor a wait.
func (c *Contact) Idle() bool { return c.state == idle }

// Waiting reports whether another try has to wait.
func (c *Contact) Waiting() bool { return c.state == waiting }

// Greeting reports whether the peer has to say hello.
func (c *Contact) Greeting() bool { return c.state == greeting }

// Ready reports whether the peer has said hello on this connection, or on the one that
// has just been closed.
func (c *Contact) Ready() bool { return c.state == ready }

// Passed returns why the connection, which is ready or was, is not by a better backend. There is nothing
// of those that were not tried.
func (c *Contact) Passed() []Failure { return c.passed }

// Pending reports whether the peer is being connected, or is connected.
func (c *Contact) Pending() bool { return c.state != idle && c.state != waiting }

// Since returns when the last connection became ready.
func (c *Contact) Since() time.Time { return c.since }

// Address returns the address of the connection, or else the one to be tried first; the
// zero value if there are none.
func (c *Contact) Address() Target {
	if c.state == greeting || c.state == ready {
		return c.opened
	}
	if order := c.order(); len(order) > 0 {
		return order[0]
	}
	return Target{}
}

// Established notes a connection that this side has dialed, on which the peer has not
// said hello yet. It reports whether that is the contact's connection. If not, another
// one was faster: the user closes this one, without a word on it, and calls Dialer.Freed
// at its end.
func (c *Contact) Established(addr Target) bool {
	c.opening = without(c.opening, addr)
	if c.state != dialing {
		c.closing = append(c.closing, addr)
		return false
	}
	c.opened = addr
	c.greet()
	return true
}

// Accepted notes a connection that the peer has dialed.
func (c *Contact) Accepted() { c.greet() }

func (c *Contact) greet() {
	c.Rest()
	c.state = greeting
	c.hello.Await(c.dialer.alarms, c.dialer.hello, c.user.HelloMissed)
}

// Greeted notes that the peer has said hello as it should.
func (c *Contact) Greeted() {
	c.hello.Met()
	c.state, c.since, c.passed = ready, time.Now(), c.better()
	c.worked, c.try = c.opened, try{}
}

// Closed notes the end of the connection, and reports whether it was ready. Retry,
// Refused, Wait or Rest follows.
func (c *Contact) Closed() (wasReady bool) {
	c.hello.Met()
	if c.dialer.taken[c.opened] == c {
		delete(c.dialer.taken, c.opened)
	}
	if c.state != ready {
		return false
	}
	if time.Since(c.since) >= c.dialer.most {
		c.backoff.Reset() // it worked; the delay stays if a connection fails soon after its hello
	}
	return true
}

// Retry goes on after a connection that was ready: after a delay, with the address that
// worked.
func (c *Contact) Retry() { c.again(nil) }

func (c *Contact) again(err error) {
	if c.Rest(); c.user.Wanted() {
		c.Wait(min(max(c.backoff.NextBackOff(), c.dialer.least), c.dialer.most))
	}
	c.user.Tried(err)
}

// Wait waits, without a connection. 0 is without end: until Wait, Retry or Rest.
func (c *Contact) Wait(delay time.Duration) {
	c.Rest()
	c.state, c.hurried = waiting, false
	if delay > 0 {
		c.dialer.alarms.Set(&c.delay, delay)
	}
}

// Rest ends a wait. There is no connection.
func (c *Contact) Rest() {
	c.dialer.alarms.Cancel(&c.delay)
	c.state = idle
}

// ring is called by the alarm.
func (c *Contact) ring() {
	if c.state == dialing {
		c.more()
		return
	}
	c.state = idle
	c.user.Woken()
}
