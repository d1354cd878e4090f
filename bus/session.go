// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"errors"
	"fmt"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/internal/admission"
	"tagbus/bus/internal/dialer"
	"tagbus/bus/internal/snapshot"
	"tagbus/bus/internal/ways"
	"tagbus/bus/state"
	"tagbus/internal/backoff"
	"tagbus/internal/sanitize"
	"tagbus/netio"
	"tagbus/subscription"
)

// What both ends of a connection say of each other, and the contact of the one that dials.

// protocolError returns an error that wraps ErrProtocol, for a peer that has broken the
// protocol.
func protocolError(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrProtocol, fmt.Sprintf(format, args...))
}

// unanswered returns the error of workqueue.Ask as users see it: the cause of the end of a
// context with what was asked.
func unanswered(what string, err error) error {
	if err == nil || err == ErrClosed || err == ErrOnLoop { //nolint:errorlint // the cause of a context may wrap one of these
		return err
	}
	return fmt.Errorf("bus: %s: %w", what, err)
}

// tooMany returns kind, with the limit of a configuration that is reached.
func tooMany(kind error, full *admission.Full, limit string) error {
	if full.Host.IsValid() {
		return fmt.Errorf("%w: %d from %v, the most it allows of one host: raise %sPerHost", kind, full.Taken, full.Host, limit)
	}
	return fmt.Errorf("%w: %d, the most it allows: raise %s", kind, full.Taken, limit)
}

// peerOf returns the peer that has said hello, or nothing yet.
func peerOf(h subscription.Hello, ep netio.Endpoint) *Peer {
	return &Peer{Instance: h.Instance, Name: h.Name, Host: h.Host, PID: h.PID, Addr: ep.Remote(), Backend: ep.Backend()}
}

// state returns the state of a peer that is connected since a time, without its counts.
func (p *Peer) state(since time.Time) state.Peer {
	st := state.Peer{Instance: p.Instance, Name: p.Name, Host: p.Host, PID: p.PID, Backend: p.Backend, Since: snapshot.Time(since)}
	if p.Addr.IsValid() {
		st.Address = p.Addr.String()
	}
	return st
}

// refusal is how a peer is told why it is refused, and the subscription id, or the
// whole connection if id is 0. A reason that is longer than a text of the protocol
// may be loses its end, and says so.
func refusal(id uint64, reason error) *subscription.Refused {
	return &subscription.Refused{ID: id, Reason: sanitize.Cut(sanitize.Error(outsideOf(reason)), subscription.MaxTextBytes)}
}

// peerContact is the contact with the peer of a directory entry. A subscriber has one
// for each publisher, a sender for each receiver. Loop only.
type peerContact struct {
	dialer.Contact
	entry   directory.Entry
	listed  bool      // in the directory
	gone    time.Time // when it left the directory
	ended   bool      // one side said goodbye: never dial again
	refusal string    // reported last, so that each try does not report it again
	own     *side
	again   backoff.Reminder // of a *LoopbackError
	report  func(Event)

	ep   netio.Endpoint // nil without a connection
	peer *Peer
}

// list takes over the entry of the directory.
func (c *peerContact) list(e directory.Entry) {
	c.entry, c.listed = e, true
	c.Revise(c.own.backends.Targets(c.own.instance, e))
}

// reportRefusal reports why there is no connection, once for all tries that end
// the same way, and now and then again if no later try can do better.
func (c *peerContact) reportRefusal(err error) {
	text := err.Error()
	if text != c.refusal {
		c.again = backoff.Reminder{}
	}
	lasts := errors.As(err, new(*LoopbackError)) && c.again.Due(time.Now())
	if text != c.refusal || lasts {
		c.refusal = text
		c.report(Event{Kind: Refused, Peer: c.describe(), Err: err})
	}
}

// describe returns what the directory says of the peer.
func (c *peerContact) describe() *Peer {
	to := c.Address()
	if len(c.Addresses) == 0 && len(c.entry.Addresses) > 0 { // it cannot be dialed
		to = dialer.Target{Addr: c.entry.Addresses[0]}
	}
	return &Peer{Instance: c.entry.Instance, Name: c.entry.Name, Host: c.entry.Host, PID: c.entry.PID, Addr: to.Addr, Backend: to.Backend}
}

// speakable reports whether this program can talk to the peer. If not, an event has the
// reason, once for all tries that end the same way.
//
//   - fits: nil if the messages of the two sides fit each other.
func (c *peerContact) speakable(fits error) bool {
	err := fits
	if len(c.Addresses) == 0 {
		err = &BackendError{c.entry.Role, ways.Text(c.entry), c.own.backends.Names(), nil}
	}
	if err != nil {
		c.reportRefusal(err)
	}
	return err == nil
}

// open begins to open a connection to an address of the peer.
func (c *peerContact) open(d *dialer.Dialer, to dialer.Target, p netio.Params) error {
	err := c.own.backends.Open(to, p)
	if errors.Is(err, netio.ErrEndpointExists) && d.Connected(to) {
		return ErrStaleEntry // another peer has this address, with an entry of its own
	}
	return err
}

// established takes over a connection that this side has dialed. It reports whether that
// is the contact's: another one that was faster stays, and this one is closed.
func (c *peerContact) established(ep netio.Endpoint) bool {
	if !c.Established(ways.TargetOf(ep)) {
		_ = ep.Close()
		return false
	}
	c.take(ep)
	return true
}

// accepted takes over a connection that the peer has dialed.
func (c *peerContact) accepted(ep netio.Endpoint) {
	c.Accepted()
	c.take(ep)
}

// take notes the connection, whose peer has not said hello yet.
func (c *peerContact) take(ep netio.Endpoint) {
	c.ep, c.peer = ep, c.describe()
	c.peer.Addr, c.peer.Backend = ep.Remote(), ep.Backend()
}

// greeted notes that the peer has sent a valid hello.
func (c *peerContact) greeted() {
	c.Greeted()
	c.refusal = ""
}

// isConnected reports whether there is a connection, and both sides have said hello.
func (c *peerContact) isConnected() bool { return c.Ready() && c.ep != nil }

// closed notes the end of the connection, and reports whether it was ready.
func (c *peerContact) closed() (wasReady bool) {
	c.ep = nil
	return c.Closed()
}

// passedWays returns the ways that are better than that of the connection. A sender, which dials, has
// announced none.
func (c *peerContact) passedWays() (passed []state.PassedWay) {
	if c.entry.Backend == "" {
		return nil
	}
	for _, p := range c.own.backends.Passed(c.entry, c.peer.Backend, c.Passed()) {
		passed = append(passed, state.PassedWay{Backend: p.Backend, Reason: p.Reason})
	}
	return passed
}

// answerOf reads the first message of the dialed side: its hello, or the reason for
// which it refuses the connection.
func answerOf(data []byte) (subscription.Hello, error) {
	if data[0] == byte(subscription.KindRefused) {
		refused, err := subscription.DecodeRefused(data)
		if err != nil {
			return subscription.Hello{}, errors.Join(ErrProtocol, err)
		}
		return subscription.Hello{}, refusedError{sanitize.Line(refused.Reason)}
	}
	h, err := subscription.DecodeHello(data)
	if err != nil {
		return h, errors.Join(ErrProtocol, err)
	}
	return h, nil
}
