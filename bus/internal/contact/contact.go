// SPDX-License-Identifier: Apache-2.0

// Package contact is the contact of a side that dials with the peer of a directory entry: of a
// subscriber with a publisher, or of a sender with a receiver. It knows how the entry is
// reached, which connection there is, and why there is none, which it tells once.
//
// What is said on the connection is not known here. Everything runs on the loop.
package contact

import (
	"errors"
	"io"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/internal/dialer"
	"tagbus/bus/internal/ways"
	"tagbus/bus/state"
	"tagbus/internal/backoff"
	"tagbus/netio"
)

// Own is the side that dials.
type Own struct {
	Instance string
	Host     string // as it calls itself; empty: not known
	Backends ways.Backends
}

// Words are what is told of peers, for all contacts alike.
//
//   - P: a peer.
type Words[P any] struct {
	// Peer returns the peer of an entry, at an address.
	Peer func(e directory.Entry, at dialer.Target) P

	// NoWay and Loopback return their errors.
	NoWay    func(NoWay) error
	Loopback func(Loopback) error

	// Stale is the error of an entry at whose address another peer is.
	Stale error
}

// Contact is the contact with one peer. It begins with Init.
type Contact[P any] struct {
	dialer.Contact
	Entry   directory.Entry
	Listed  bool      // in the directory
	Gone    time.Time // when it left the directory
	Ended   bool      // one side said goodbye: never dial again
	Refusal string    // why there is no connection, as told last; empty: that was long ago

	Ep   netio.Endpoint // nil without a connection
	Peer P              // of the last connection

	own     *Own
	words   *Words[P]
	refused func(peer P, why error)
	again   backoff.Reminder // of a Loopback error
}

// Init makes c a contact without an entry.
//
//   - refused: told why there is no connection.
func (c *Contact[P]) Init(own *Own, words *Words[P], refused func(peer P, why error)) {
	c.own, c.words, c.refused = own, words, refused
}

// List takes over the entry of the directory.
func (c *Contact[P]) List(e directory.Entry) {
	c.Entry, c.Listed = e, true
	c.Revise(c.own.Backends.Targets(c.own.Instance, e))
}

// Describe returns what the directory says of the peer.
func (c *Contact[P]) Describe() P {
	to := c.Address()
	if len(c.Addresses) == 0 && len(c.Entry.Addresses) > 0 { // it cannot be dialed
		to = dialer.Target{Addr: c.Entry.Addresses[0]}
	}
	return c.words.Peer(c.Entry, to)
}

// Refuse tells why there is no connection, once for all tries that end the same way.
func (c *Contact[P]) Refuse(why error) { c.refuse(why, false) }

// Failed is Refuse for a try in which no connection has come, as Dialer.User.Tried has it. What no
// later try can do better is told now and then again.
func (c *Contact[P]) Failed(why error) {
	ours := c.own.Backends
	switch {
	case ours.OnlyWithin(c.Entry):
		if errors.Is(why, netio.ErrElsewhere) {
			why = nil
		}
		c.refuse(c.noWay(why), false)
	case len(c.Addresses) > 0 && ours.OnlyLoopback(c.Entry, c.own.Host):
		e := &c.Entry
		c.refuse(c.words.Loopback(Loopback{Role: e.Role, Host: e.Host, Ours: c.own.Host, Addresses: e.Addresses, Err: why}), true)
	default:
		c.refuse(why, false)
	}
}

// noWay returns the error of a peer to which there is no way, or only one that failed.
func (c *Contact[P]) noWay(why error) error {
	return c.words.NoWay(NoWay{Role: c.Entry.Role, Theirs: ways.Text(c.Entry), Ours: c.own.Backends.Names(), Err: why})
}

// refuse tells why there is no connection.
//
//   - lasts: no later try can do better.
func (c *Contact[P]) refuse(why error, lasts bool) {
	text := why.Error()
	if text != c.Refusal {
		c.again = backoff.Reminder{}
	}
	lasts = lasts && c.again.Due(time.Now())
	if text != c.Refusal || lasts {
		c.Refusal = text
		c.refused(c.Describe(), why)
	}
}

// Speakable reports whether this side can talk to the peer. If not, it refuses the peer.
//
//   - fits: why the messages of the two sides do not fit each other, or nil.
func (c *Contact[P]) Speakable(fits error) bool {
	if len(c.Addresses) == 0 {
		fits = c.noWay(nil)
	}
	if fits != nil {
		c.Refuse(fits)
	}
	return fits == nil
}

// Open begins to open a connection to an address of the peer.
//
// Errors: those of ways.Backends.Open; Stale, if a contact of d is connected there.
func (c *Contact[P]) Open(d *dialer.Dialer, to dialer.Target, p netio.Params) error {
	err := c.own.Backends.Open(to, p)
	if errors.Is(err, netio.ErrEndpointExists) && d.Connected(to) {
		return c.words.Stale // it has an entry of its own
	}
	return err
}

// Take takes over a connection that this side has dialed. It reports whether that is the
// contact's: another one that was faster stays, and this one is closed.
func (c *Contact[P]) Take(ep netio.Endpoint) bool {
	if !c.Established(ways.TargetOf(ep)) {
		_ = ep.Close()
		return false
	}
	c.take(ep)
	return true
}

// TakeDialed takes over a connection that the peer has dialed.
func (c *Contact[P]) TakeDialed(ep netio.Endpoint) {
	c.Accepted()
	c.take(ep)
}

// take notes the connection, whose peer has not said hello yet.
func (c *Contact[P]) take(ep netio.Endpoint) {
	c.Ep, c.Peer = ep, c.words.Peer(c.Entry, ways.TargetOf(ep))
}

// Welcome notes that the peer has sent a valid hello.
func (c *Contact[P]) Welcome() {
	c.Greeted()
	c.Refusal = ""
}

// Connected reports whether there is a connection, and both sides have said hello.
func (c *Contact[P]) Connected() bool { return c.Ready() && c.Ep != nil }

// Lose notes the end of the connection, and reports whether it was ready.
func (c *Contact[P]) Lose() (wasReady bool) {
	c.Ep = nil
	return c.Closed()
}

// NeverReady goes on after a connection that never became ready, as Refused does.
//
//   - cause: why it has ended; nil: the peer has closed it.
func (c *Contact[P]) NeverReady(cause error) {
	if cause == nil {
		cause = io.EOF
	}
	c.Refused(cause)
}

// PassedWays returns the ways that are better than that of the connection, by a backend. A peer that
// dials has announced none.
func (c *Contact[P]) PassedWays(backend string) (passed []state.PassedWay) {
	if c.Entry.Backend == "" {
		return nil
	}
	for _, p := range c.own.Backends.Passed(c.Entry, backend, c.Passed()) {
		passed = append(passed, state.PassedWay{Backend: p.Backend, Reason: p.Reason})
	}
	return passed
}
