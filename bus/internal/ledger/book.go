// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"tagbus/bus/internal/coarseclock"
	"tagbus/subscription"
	"tagbus/tags"
)

// Book has the accounts of all subscribers of a publisher. The account of a subscriber
// that has gone is kept for a while. If the subscriber comes back, both ends go on with
// the same numbers. The zero value is empty.
//
//   - L: a connection, as a pointer. nil is none.
//   - P: the publisher's description of a subscriber that has gone.
//
// Threads: one at a time.
type Book[L comparable, P any] struct {
	Clock *coarseclock.Clock // tells when something was lost; nil: that of the system

	byInstance map[string]*Account[L, P]
	ending     bool // each subscriber that is lost is awaited
	begun      uint64
	forgotten  Counts // lost, of accounts that are forgotten
	times      Times  // of forgotten
	unsettled  uint64 // messages of these that are unconfirmed
	entries    atomic.Int64
}

// Account is the account of one subscriber, over all its connections.
type Account[L comparable, P any] struct {
	Peer P // as of the newest connection
	Link L // the connection, if there is one

	instance string
	lanes    map[uint16]*Lane
	gone     time.Time // when it left
	owed     bool      // it had subscriptions, and has not said goodbye
	awaited  bool      // when the publisher ends
}

// Lanes returns the accounts of the lanes, by number.
func (a *Account[L, P]) Lanes() (lanes []*Lane) {
	for _, number := range slices.Sorted(maps.Keys(a.lanes)) {
		lanes = append(lanes, a.lanes[number])
	}
	return lanes
}

// Unconfirmed returns how many messages of all lanes are unconfirmed.
func (a *Account[L, P]) Unconfirmed() (messages uint64) {
	for _, n := range a.lanes {
		messages += n.Sums().Unconfirmed
	}
	return messages
}

// connected reports whether the account has a connection.
func (a *Account[L, P]) connected() bool {
	var none L
	return a.Link != none
}

// Open finds or makes the account of a lane. From then on l is the connection of the
// subscriber.
//
//   - most: lanes that an account may have. The lane that was begun first is forgotten
//     for a new one, of those that has does not report for the connection.
func (b *Book[L, P]) Open(instance string, l L, peer P, number uint16, policy subscription.Policy, most int, has func(uint16) bool) *Lane {
	a := b.byInstance[instance]
	if a == nil {
		a = &Account[L, P]{instance: instance, lanes: make(map[uint16]*Lane)}
		if b.byInstance == nil {
			b.byInstance = make(map[string]*Account[L, P])
		}
		b.byInstance[instance] = a
	}
	a.Peer, a.Link = peer, l
	a.owed, a.awaited = false, false
	n := a.lanes[number]
	if n == nil {
		b.makeRoom(a, most, has)
		b.begun++
		n = &Lane{Policy: policy, ID: b.begun, clock: b.Clock, byTag: make(map[tags.Tag]*Counts), entries: &b.entries}
		b.entries.Add(laneEntries)
		a.lanes[number] = n
	}
	return n
}

// Lanes returns the lanes of all accounts that have losses. ok is false if these are more than
// most.
func (b *Book[L, P]) Lanes(most int) (all []*Lane, ok bool) {
	for _, a := range b.byInstance {
		for _, n := range a.lanes {
			if sums := n.Sums(); sums.Lost.Sum() == 0 {
				continue
			}
			if len(all) == most {
				return nil, false
			}
			all = append(all, n)
		}
	}
	return all, true
}

// Of returns the account of a subscriber, or nil.
func (b *Book[L, P]) Of(instance string) *Account[L, P] { return b.byInstance[instance] }

// Leave notes that the connection of a subscriber has ended. It does nothing if the
// subscriber has another one, or none.
//
//   - owed: it had subscriptions, and has not said goodbye.
//   - Result: whether the subscriber is remembered, and with it the counts of Lane.End.
func (b *Book[L, P]) Leave(instance string, l L, owed bool) (known bool) {
	a := b.byInstance[instance]
	if a == nil || a.Link != l {
		return a != nil
	}
	var none L
	a.Link, a.gone = none, time.Now()
	a.owed, a.awaited = owed, owed && b.ending
	b.trim()
	return true
}

// Gone returns the accounts of the subscribers that have gone, in the order in which
// they went.
func (b *Book[L, P]) Gone() (gone []*Account[L, P]) {
	for _, a := range b.byInstance {
		if !a.connected() {
			gone = append(gone, a)
		}
	}
	slices.SortFunc(gone, func(a, b *Account[L, P]) int { return a.gone.Compare(b.gone) })
	return gone
}

// Sums returns the sums over all subscribers, forgotten ones too. Sent is that of the
// remembered ones.
func (b *Book[L, P]) Sums() Sums {
	all := Sums{Lost: b.forgotten, Times: b.times, Unconfirmed: b.unsettled}
	for _, a := range b.byInstance {
		for _, n := range a.lanes {
			sums := n.Sums()
			all.Lost.Add(&sums.Lost)
			all.Times.Add(&sums.Times)
			all.Sent += sums.Sent
			all.Unconfirmed += sums.Unconfirmed
		}
	}
	return all
}
