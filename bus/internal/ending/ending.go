// SPDX-License-Identifier: Apache-2.0

// Package ending knows when a publisher has ended in order: no subscriber is connected, and none
// that has lost its connection is awaited.
//
//	Open ── Drain, Begin ──► Draining ──► done
//	  │                         │           ▲
//	  └──────── Close ──────────┴─► Closed ─┘
//
// An ending publisher owes an account to subscribers whose connections are just lost: messages
// on their way are in no count yet. It waits some time for these subscribers, accepts their
// connections, and lets them go like all others.
package ending

import (
	"context"
	"time"

	"tagbus/bus/internal/ledger"
)

// State is how far a publisher is.
type State int

// The states, in their order.
const (
	Open State = iota
	Draining
	Closed
)

// Ending is the end of a publisher.
//
//   - L, P: of the Book.
//   - Threads: one at a time, as those of the Book, except Wait.
type Ending[L comparable, P any] struct {
	book     *ledger.Book[L, P]
	patience time.Duration

	state    State
	begun    bool   // the wait for subscribers
	cutOff   int    // connections that ended while draining with messages unconfirmed, for good
	messages uint64 // these messages
	isDone   bool
	done     chan struct{}
}

// New returns the end of a publisher that is open.
//
//   - patience: how long it waits for a subscriber that is lost, from the loss on.
func New[L comparable, P any](book *ledger.Book[L, P], patience time.Duration) *Ending[L, P] {
	return &Ending[L, P]{book: book, patience: patience, done: make(chan struct{})}
}

// State returns how far the publisher is.
func (e *Ending[L, P]) State() State { return e.state }

// Advance moves the publisher towards its end. It returns false if that is reached already.
func (e *Ending[L, P]) Advance(to State) bool {
	if e.state >= to {
		return false
	}
	e.state = to
	return true
}

// Begin begins the wait for subscribers, after Advance to Draining.
func (e *Ending[L, P]) Begin() {
	e.begun = true
	e.book.Await(e.patience)
}

// Begun reports whether Begin was called.
func (e *Ending[L, P]) Begun() bool { return e.begun }

// Takes reports whether a subscriber may be admitted.
func (e *Ending[L, P]) Takes(instance string) bool {
	return e.state == Open || e.state == Draining && e.book.Returns(instance)
}

// MayReturn reports whether a subscriber that is lost may connect again to a publisher that ends,
// or is about to.
func (e *Ending[L, P]) MayReturn(instance string) bool {
	return e.state != Closed && e.book.Returns(instance)
}

// Left notes that a connection has ended, after its account.
//
//   - unconfirmed: messages.
func (e *Ending[L, P]) Left(instance string, unconfirmed uint64) {
	if e.state != Open && unconfirmed > 0 && !e.book.Returns(instance) {
		e.cutOff++
		e.messages += unconfirmed
	}
}

// Look ends Wait if no subscriber is left or awaited.
//
//   - connected: subscribers.
func (e *Ending[L, P]) Look(connected int) {
	if e.isDone || connected > 0 || e.state != Closed && (!e.begun || e.Awaited() > 0) {
		return
	}
	e.isDone = true
	close(e.done)
}

// Awaited returns how many lost subscribers may come back, for which Wait waits.
func (e *Ending[L, P]) Awaited() int { return e.book.Awaited(e.patience) }

// Wait waits until Look has found that no subscriber is left or awaited.
//
//   - look: schedules a call of Look, since some subscribers may be given up. It is called now and then.
//   - Errors: the cause of the end of ctx.
func (e *Ending[L, P]) Wait(ctx context.Context, look func()) error {
	again := time.NewTicker(e.patience / 50)
	defer again.Stop()
	for {
		select {
		case <-e.done:
			return nil
		case <-again.C:
			look()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Missing returns how many connections ended before or during the end and their subscribers have
// not come back, and how many messages these have not confirmed.
func (e *Ending[L, P]) Missing() (connections int, messages uint64) {
	connections, messages = e.book.Missing()
	return connections + e.cutOff, messages + e.messages
}
