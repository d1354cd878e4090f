// SPDX-License-Identifier: Apache-2.0

// Package observer asks publishers and receivers for their state, over the bus.
//
// An [Observer] dials what the directory lists, on the port on which it listens, and asks
// what it knows of itself and of its peers. It is no subscriber: it gets no message, and
// takes no subscriber's place. Publishers know their subscribers, so that asking all entries of
// a directory shows the whole bus.
package observer

import (
	"context"
	"errors"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/state"
	"tagbus/netio"
)

// Config says how an observer works. The zero value is good.
type Config struct {
	Name string // for operators; may be empty

	// Timeout is how long dialing, the hello and an answer may take together. Default 5 s.
	Timeout time.Duration

	// MaxConnections is how many connections are kept between questions. Default 4,096. The
	// one that is idle for longest is closed for another one.
	MaxConnections int
}

// Observer asks for states. Close it.
//
// Threads: any.
type Observer struct{}

// New opens an observer.
//
//   - open: the transport, for example tcp.Opener(loop, tcp.Config{}).
//   - Errors: those of the backend.
func New(open netio.Opener, cfg Config) (*Observer, error) {
	return nil, errors.New("observer: not there yet")
}

// Ask returns the state of the instance of an entry. Its connection is kept for the next
// question.
//
//   - e: which is dialed at its addresses, and has to be the instance that answers.
//   - Errors: *bus.BackendError if this program does not speak its backend; *netio.OpError
//     if it cannot be reached; bus.ErrStaleEntry, wrapped, if another instance answers;
//     ErrNotObservable, wrapped with its reason, if it refuses; ErrTimeout; ErrClosed; the
//     cause of the end of ctx.
//   - Blocks: until the answer is there. Not on a loop.
func (o *Observer) Ask(ctx context.Context, e directory.Entry, q state.Question) (state.State, error) {
	return state.State{}, errors.New("observer: not there yet")
}

// Close ends the observer, its connections and the questions under way. The second call
// does nothing.
func (o *Observer) Close() error { return nil }
