// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"context"
	"fmt"

	"tagbus/bus/internal/observe"
	"tagbus/bus/state"
	"tagbus/internal/alarm"
	"tagbus/netio"
	"tagbus/subscription"
)

// What the sides that listen, a Publisher and a Receiver, do for observers.

// newObservers returns what answers the observers of an instance.
func newObservers(loop netio.Loop, alarms *alarm.Clock, describe func(context.Context, state.Question) (state.State, error), event func(Event)) *observe.Server {
	return observe.New(observe.Config{
		Post: loop.Post, Alarms: alarms, Describe: describe,
		Broken: func(o *observe.Observer, err error) {
			event(Event{Kind: Problem, Peer: o.Peer().(*Peer), Err: fmt.Errorf("%w: %w", ErrProtocol, err)})
		},
	})
}

// observable returns why an observer cannot be answered, or nil.
func observable(h subscription.Hello) error {
	if h.MaxMessageBytes < subscription.MaxControlBytes {
		return fmt.Errorf("%w: observer receives at most %d bytes at once, want %d", ErrProtocol, h.MaxMessageBytes, subscription.MaxControlBytes)
	}
	return nil
}

// observe makes the connection of a link an observer. The link is forgotten: no subscriber
// has gone.
func (p *Publisher) observe(l *link, h subscription.Hello) error {
	if err := observable(h); err != nil {
		return err
	}
	if p.ends() {
		return ErrClosed
	}
	hello, err := p.helloTo("", 0)
	if err != nil {
		return err
	}
	p.guests.Leave(l)
	delete(p.connections, l)
	p.heart.Leave()
	l.out.Kill()
	p.observers.Enter(l.ep, hello, l.peer)
	return p.leave()
}

// ends reports whether the publisher drains or is closed.
func (p *Publisher) ends() bool {
	p.fan.Mu.Lock()
	defer p.fan.Mu.Unlock()
	return p.state != publisherOpen
}

// observe makes the connection of a guest an observer.
func (r *Receiver) observe(g *guest, h subscription.Hello) error {
	if err := observable(h); err != nil {
		return err
	}
	if r.draining.Load() {
		return ErrClosed
	}
	hello, err := r.sub.helloTo("", 0)
	if err != nil {
		return err
	}
	r.guests.Leave(g)
	r.observers.Enter(g.ep, hello, g.peer)
	return nil
}
