// SPDX-License-Identifier: Apache-2.0

package observer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"sync/atomic"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/internal/dialer"
	"tagbus/bus/internal/ways"
	"tagbus/internal/sanitize"
	"tagbus/netio"
	"tagbus/subscription"
)

// ProtocolVersion is the version of the protocol that this program speaks.
const ProtocolVersion = int(subscription.Version)

// Greeting is what answers at an address.
type Greeting struct {
	Protocol int // version of the protocol that it speaks

	// Of a program that speaks ProtocolVersion and takes observers. Texts are unchecked.
	Instance, Name, Host string
	PID                  int

	Refused string // why it takes no observer, as an older version says it; safe to show

	Connected time.Duration // how long it took until the connection was there
	Took      time.Duration // how long it took until the answer was there
}

// Greet dials one address, says hello, and tells what answers there. The connection is
// closed then.
//
//   - e: an entry that has the address, for its Backend. Which instance answers is not compared.
//   - Errors: *bus.BackendError if this program does not speak its backend; *netio.OpError
//     if there is no connection; ErrNotTagbus, wrapped, if what answers is no program of
//     tagbus, or says nothing; ErrTimeout, wrapped; ErrClosed; bus.ErrOnLoop; the cause of
//     the end of ctx. Took and Connected are valid with any error, and Connected is 0 if
//     there was no connection.
//   - Blocks: until it is known. Not on a loop. Calls for one address wait for each other.
func (o *Observer) Greet(ctx context.Context, e directory.Entry, addr netip.AddrPort) (Greeting, error) {
	e.Ways = nil // they have other addresses
	if err := o.usable(ctx, e); err != nil {
		return Greeting{}, err
	}
	g, err := o.greeter()
	if err != nil {
		return Greeting{}, err
	}
	begun := time.Now()
	ctx, cancel := context.WithTimeoutCause(ctx, o.cfg.Timeout, ErrTimeout)
	defer cancel()
	t := &greeted{to: dialer.Target{Backend: e.Backend, Addr: addr}, begun: begun, result: make(chan Greeting, 1)}
	if !g.loop.Post(func() { g.greet(t) }) {
		return Greeting{}, ErrClosed
	}
	select {
	case answer := <-t.result:
		return answer, t.err
	case <-ctx.Done():
		g.loop.Post(func() { g.giveUp(t) })
		err = context.Cause(ctx)
		connected := time.Duration(t.connected.Load())
		if errors.Is(err, ErrTimeout) {
			err = fmt.Errorf("%w: no connection within %v", ErrTimeout, o.cfg.Timeout)
			if connected > 0 {
				err = fmt.Errorf("%w: it takes connections and says nothing within %v", ErrNotTagbus, o.cfg.Timeout)
			}
		}
		return Greeting{Connected: connected, Took: time.Since(begun)}, err
	case <-o.closing:
		return Greeting{}, ErrClosed
	}
}

// greeter returns what greets. It has a backend of its own, as a backend opens one
// connection to an address and the other one may keep that.
func (o *Observer) greeter() (*greeter, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.closer.Begun():
		return nil, ErrClosed
	case o.greeting != nil:
		return o.greeting, nil
	}
	g := &greeter{o: o, at: make(map[dialer.Target][]*greeted)}
	var err error
	if g.backend, err = o.open(g); err != nil {
		return nil, err
	}
	g.ours, g.loop = ways.Of(g.backend), g.backend.Loop()
	o.greeting = g
	return g, nil
}

// greeted is a call of Greet.
type greeted struct {
	to        dialer.Target
	begun     time.Time
	connected atomic.Int64 // nanoseconds after begun; 0: not yet
	err       error        // written before result
	result    chan Greeting

	ep   netio.Endpoint // loop only
	over bool           // loop only: it has a result, or is given up
}

// greeter greets. Its methods but greet and giveUp are those of a netio.Handler.
//
// Threads: the loop.
type greeter struct {
	netio.NopHandler
	o       *Observer
	backend netio.Backend
	ours    ways.Backends // of which it consists
	loop    netio.Loop
	at      map[dialer.Target][]*greeted // the first one of each address has the connection
}

// greet dials, unless another call has the address.
func (g *greeter) greet(t *greeted) {
	g.at[t.to] = append(g.at[t.to], t)
	if len(g.at[t.to]) == 1 {
		g.dial(t.to)
	}
}

// dial dials an address for the first call that is not given up.
func (g *greeter) dial(to dialer.Target) {
	for len(g.at[to]) > 0 {
		t := g.at[to][0]
		if !t.over {
			err := g.ours.Open(to, params(t, g.o.cfg.Timeout))
			if err == nil {
				return
			}
			t.end(Greeting{}, err)
		}
		g.at[to] = g.at[to][1:]
	}
	delete(g.at, to)
}

// next goes on after the end of the connection of a call.
func (g *greeter) next(to dialer.Target) {
	g.at[to] = g.at[to][1:]
	g.dial(to)
}

// giveUp ends a call without a result.
func (*greeter) giveUp(t *greeted) {
	t.over = true
	if t.ep != nil {
		_ = t.ep.Close()
	}
}

// end gives a call its result.
func (t *greeted) end(answer Greeting, err error) {
	if t.over {
		return
	}
	t.over, t.err = true, err
	answer.Connected, answer.Took = time.Duration(t.connected.Load()), time.Since(t.begun)
	t.result <- answer
}

// OnConnectionEstablished implements netio.Handler.
func (g *greeter) OnConnectionEstablished(ep netio.Endpoint) {
	t := ep.Context().(*greeted)
	t.ep = ep
	t.connected.Store(int64(max(time.Since(t.begun), 1)))
	if t.over {
		_ = ep.Close()
		return
	}
	b, err := ep.Buffer()
	if err == nil {
		if _, err = b.Write(g.o.hello); err == nil {
			err = ep.SendBuffer(b)
		}
		if err != nil {
			b.Release()
		}
	}
	if err != nil {
		t.end(Greeting{}, err)
		_ = ep.Close()
	}
}

// OnConnectionRefused implements netio.Handler.
func (g *greeter) OnConnectionRefused(addr netip.AddrPort, err error) {
	to := g.ours.Refused(addr, err)
	g.at[to][0].end(Greeting{}, err)
	g.next(to)
}

// OnConnectionClosed implements netio.Handler.
func (g *greeter) OnConnectionClosed(ep netio.Endpoint, _ []netio.Key, cause error) {
	if cause == nil {
		cause = io.EOF
	}
	ep.Context().(*greeted).end(Greeting{}, fmt.Errorf("%w: it closes the connection: %w", ErrNotTagbus, cause))
	if !g.o.closer.Begun() {
		g.next(ways.TargetOf(ep))
	}
}

// OnData implements netio.Handler.
func (g *greeter) OnData(ep netio.Endpoint, data []byte) {
	t := ep.Context().(*greeted)
	t.end(greetingOf(data))
	_ = ep.Close()
}

// greetingOf returns what a first message says.
//
// Errors: ErrNotTagbus, wrapped.
func greetingOf(data []byte) (Greeting, error) {
	if subscription.Kind(data[0]) == subscription.KindRefused {
		refused, err := subscription.DecodeRefused(data)
		if err != nil {
			return Greeting{}, fmt.Errorf("%w: %s", ErrNotTagbus, sanitize.Error(err))
		}
		return Greeting{Protocol: ProtocolVersion, Refused: reasonOf(refused)}, nil
	}
	h, err := subscription.DecodeHello(data)
	if version := (*subscription.VersionError)(nil); errors.As(err, &version) {
		return Greeting{Protocol: int(version.Got)}, nil
	}
	if err != nil {
		return Greeting{}, fmt.Errorf("%w: %s", ErrNotTagbus, sanitize.Error(err))
	}
	return Greeting{Protocol: ProtocolVersion, Instance: h.Instance, Name: h.Name, Host: h.Host, PID: h.PID}, nil
}
