// SPDX-License-Identifier: Apache-2.0

package tcp

import (
	"net/netip"
	"time"

	"tagbus/netio"
	"tagbus/netio/reactor"
)

// What endpoints may read in a turn.
const (
	TurnBytes      = turnBytes
	MostReadBytes  = mostReadBytes
	LeastReadBytes = leastReadBytes
)

// AddEndpoint adds an endpoint that reads from a descriptor, which it will own, to
// a backend whose loop does not run: its steps are those of Event and EndTurn.
func AddEndpoint(b netio.Backend, fd int, p netio.Params) (netio.Endpoint, error) {
	be := b.(*backend)
	p = p.WithDefaults()
	e, err := newEndpoint(be, fd, netip.AddrPort{}, &p)
	if err != nil {
		return nil, err
	}
	e.state = reported
	e.place = be.endpoints.PushBack(e)
	return e, nil
}

// Event is the step in which the loop has found an event of an endpoint.
func Event(ep netio.Endpoint, events reactor.Events) { ep.(*endpoint).OnEvent(events) }

// EndTurn is the step at the end of the loop's turn.
func EndTurn(b netio.Backend) { b.(*backend).PrepareWait() }

// LateBytes is how much is received between two looks at the time.
const LateBytes = lateBytes

// SetTurnTime sets how long the callbacks of a turn may take, and returns how long they
// might before.
func SetTurnTime(d time.Duration) (before time.Duration) {
	before, turnTime = turnTime, d
	return before
}

// mostReadBudget reads what there is.
const mostReadBudget = 1 << 30

// WithReadBudget returns c with what an endpoint reads in a turn.
func WithReadBudget(c Config, bytes int) Config {
	c.readBudget = bytes
	return c
}

// WithAcceptBudget fixes how many connections are accepted in one turn of the loop.
func WithAcceptBudget(c Config, connections int) Config {
	c.acceptBudget = connections
	return c
}

// WithAcceptPause fixes how long a listen endpoint without descriptors rests.
func WithAcceptPause(c Config, d time.Duration) Config {
	c.acceptPause = d
	return c
}

// WithPartialTimeout fixes how long a part may keep others waiting; negative: for ever.
func WithPartialTimeout(c Config, d time.Duration) Config {
	c.partialTimeout = d
	return c
}
