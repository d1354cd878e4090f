// SPDX-License-Identifier: Apache-2.0

// Package reception receives the connections to an instance that listens, until it is known
// what their peers are.
//
//	                         ┌──► closed without a word: no hello in time, or no program of the bus
//	connection ──► Guest ──►─┼──► told why not, and closed
//	                         ├──► an observer, which is answered here (package observe)
//	                         └──► Enter: a peer, of which this package knows nothing more
//
// A guest has shown nothing of itself. So nothing is said of this side before Access has let
// it in, there are so many guests at most, the oldest of which gives way, and each has so long
// for its hello, and for the message that tells why it has to go.
package reception

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tagbus/acl"
	"tagbus/bus/internal/admission"
	"tagbus/bus/internal/door"
	"tagbus/bus/internal/heartbeat"
	"tagbus/bus/internal/observe"
	"tagbus/bus/internal/snapshot"
	"tagbus/bus/state"
	"tagbus/internal/alarm"
	"tagbus/internal/sanitize"
	"tagbus/netio"
	"tagbus/subscription"
)

// Config says what a Desk needs to know.
type Config struct {
	Post     func(func()) bool // of the loop
	Alarms   *alarm.Clock      // of the loop
	Door     *door.Door
	Action   acl.Action // of the peers that Enter; an observer's is Describe
	Instance string     // of this side
	Most     int        // guests at a time
	Patience time.Duration

	Hello   func() ([]byte, error)             // of this side, for observers, and for peers of another version
	Refusal func(reason error) ([]byte, error) // the message that tells a reason

	// Enter takes over the connection of a guest, which gets another context, or returns why not.
	Enter func(*Guest) error

	// Ended returns why there are no further observers, or nil.
	Ended func() error

	// Describe returns the state of the instance, on a goroutine that may wait.
	Describe func(context.Context, state.Question) (state.State, error)

	Refused func(g *Guest, reason error) // told of a guest that has to go
	Broken  func(g *Guest, err error)    // told what an observer has done that breaks the protocol

	// The errors of a guest that says nothing, of one that gives way, of one that dials another
	// instance, and of an observer that takes too little at once.
	Missed, GaveWay, Stale, Protocol error
}

// Guest is a connection whose peer has not entered.
type Guest struct {
	Ep     netio.Endpoint
	Who    door.Peer          // which one it is
	Hello  subscription.Hello // the zero value: it has said none
	Barred bool               // Access has not let it in
	Reason error              // why it has to go; nil: it need not, as far as is known

	deadline heartbeat.Deadline
}

// Desk receives the connections to one instance. Its methods are called for the callbacks of
// their endpoints, on the loop.
type Desk struct {
	Observers *observe.Server

	cfg    Config
	guests admission.Guests[*Guest]
}

// New returns a desk without guests. Its Observers are to be ended.
func New(cfg Config) *Desk {
	d := &Desk{cfg: cfg}
	d.Observers = observe.New(observe.Config{
		Post: cfg.Post, Alarms: cfg.Alarms,
		Describe: func(ctx context.Context, g any, q state.Question) (state.State, error) {
			return d.describe(ctx, g.(*Guest), q)
		},
		Broken: func(o *observe.Observer, err error) { cfg.Broken(o.Peer().(*Guest), err) },
	})
	return d
}

// Greet makes a new connection a guest. If there are too many, the oldest one gives way.
func (d *Desk) Greet(ep netio.Endpoint) {
	g := &Guest{Ep: ep}
	ep.SetContext(g)
	g.deadline.Await(d.cfg.Alarms, d.cfg.Patience, func() { d.drop(g, d.cfg.Missed) })
	oldest, gaveWay := d.guests.Greet(g, d.cfg.Most)
	switch {
	case !gaveWay:
	case oldest.Reason != nil: // it was sent to it, and not read
		oldest.deadline.Met()
		_ = oldest.Ep.Close()
	default:
		d.drop(oldest, fmt.Errorf("%w: %d have not said hello", d.cfg.GaveWay, d.cfg.Most))
	}
}

// Data takes a message of a guest or an observer.
func (d *Desk) Data(ep netio.Endpoint, data []byte) {
	switch x := ep.Context().(type) {
	case *observe.Observer:
		x.Data(data)
	case *Guest:
		if x.Reason == nil {
			d.onHello(x, data)
		}
	}
}

// Sent notes that an endpoint has sent a message: that to a guest is its last one.
func (d *Desk) Sent(ep netio.Endpoint) {
	switch x := ep.Context().(type) {
	case *observe.Observer:
		x.Sent()
	case *Guest:
		_ = x.Ep.Close()
	}
}

// SendReady goes on sending. A guest has a buffer for its only message.
func (d *Desk) SendReady(ep netio.Endpoint) {
	if o, ok := ep.Context().(*observe.Observer); ok {
		o.SendReady()
	}
}

// Closed notes the end of a connection. It returns nil if that was no guest.
func (d *Desk) Closed(ep netio.Endpoint) *Guest {
	switch x := ep.Context().(type) {
	case *observe.Observer:
		x.Closed()
	case *Guest:
		x.deadline.Met()
		d.guests.Leave(x)
		return x
	}
	return nil
}

// onHello decides what becomes of a guest.
func (d *Desk) onHello(g *Guest, data []byte) {
	g.deadline.Met()
	h, err := subscription.DecodeHello(data)
	if errors.Is(err, subscription.ErrMagic) { // a port scanner, a browser: it gets no answer
		d.drop(g, err)
		return
	}
	g.Hello = h
	action := d.cfg.Action
	if h.Role == subscription.RoleObserver {
		action = acl.Describe
	}
	var barred error
	if g.Who, barred = d.cfg.Door.Enter(g.Ep, action); barred != nil { // before anything is said of this side
		g.Barred = true
		d.refuse(g, barred)
		return
	}
	if errors.As(err, new(*subscription.VersionError)) { // it may not understand any other answer
		answer, helloErr := d.cfg.Hello()
		d.leave(g, answer, errors.Join(err, helloErr))
		return
	}
	if err == nil {
		err = d.enter(g)
	}
	if err != nil {
		d.refuse(g, err)
		return
	}
	d.guests.Leave(g)
}

// enter makes a guest what it wants to be, or returns why not.
func (d *Desk) enter(g *Guest) error {
	h := &g.Hello
	switch {
	case h.Expect != "" && h.Expect != d.cfg.Instance:
		return fmt.Errorf("%w: expected %s, this is %s", d.cfg.Stale, sanitize.Text(h.Expect), d.cfg.Instance)
	case h.Role != subscription.RoleObserver:
		return d.cfg.Enter(g)
	case h.MaxMessageBytes < subscription.MaxControlBytes:
		return fmt.Errorf("%w: observer receives at most %d bytes at once, want %d", d.cfg.Protocol, h.MaxMessageBytes, subscription.MaxControlBytes)
	}
	if err := d.cfg.Ended(); err != nil {
		return err
	}
	hello, err := d.cfg.Hello()
	if err == nil {
		d.Observers.Enter(g.Ep, hello, g)
	}
	return err
}

// refuse closes a connection once its peer was told why.
func (d *Desk) refuse(g *Guest, reason error) {
	refusal, err := d.cfg.Refusal(reason)
	if err != nil {
		d.drop(g, errors.Join(reason, err))
		return
	}
	d.leave(g, refusal, reason)
}

// leave closes a connection once a last message is sent, or if that takes too long.
func (d *Desk) leave(g *Guest, last []byte, reason error) {
	b, err := g.Ep.Buffer()
	if err == nil {
		if _, err = b.Write(last); err == nil {
			err = g.Ep.SendBuffer(b)
		}
		if err != nil {
			b.Release()
		}
	}
	if err != nil {
		d.drop(g, errors.Join(reason, err))
		return
	}
	g.Reason = reason
	g.deadline.Await(d.cfg.Alarms, d.cfg.Patience, func() { _ = g.Ep.Close() })
	d.cfg.Refused(g, reason)
}

// drop closes a connection without a message.
func (d *Desk) drop(g *Guest, reason error) {
	g.deadline.Met()
	g.Reason = reason
	d.cfg.Refused(g, reason)
	_ = g.Ep.Close()
}

// describe returns the state of the instance without the tags that an observer may not ask for.
//
// Errors: those of Config.Describe; why it may ask for none any more.
func (d *Desk) describe(ctx context.Context, g *Guest, q state.Question) (state.State, error) {
	access := d.cfg.Door.Access
	if access == nil {
		return d.cfg.Describe(ctx, q)
	}
	own := door.Door{Access: access, Refuse: d.cfg.Door.Refuse} // the other one is the loop's
	who := g.Who.Identity()
	if err := errors.Join(own.Expired(who), own.Enters(who, acl.Describe)); err != nil {
		return state.State{}, err
	}
	may := own.Allowed(who, acl.Describe)
	q.Tags, _ = access.Split(who.Principal, acl.Describe, q.Tags)
	s, err := d.cfg.Describe(ctx, q)
	if err == nil {
		snapshot.Limit(&s, may)
	}
	return s, err
}
