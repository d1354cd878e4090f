// SPDX-License-Identifier: Apache-2.0

// Package group puts together the groups of subscriptions that peers send in parts, and
// bounds the memory of those that are not complete.
//
// The subscriptions of a group become active together. Each comes as lists of positions,
// if it resumes, and then as a set in one part or more, which Parts makes. All but the
// last say that another one follows. A peer may stop anywhere, or never stop.
//
// Everything here runs on the loop. Nothing is locked.
package group

import (
	"container/list"
	"errors"
	"fmt"

	"tagbus/bus/internal/positions"
	"tagbus/subscription"
	"tagbus/tags"
)

// Max is how many subscriptions a group may have.
const Max = 1 << 16

const (
	// The cost of a group beyond the bytes of its sets and lists, about as much as they
	// take.
	wishBytes  = 512 // of a subscription
	rangeBytes = 16  // of a range or mask of a decoded set
	listBytes  = 64  // of a list of positions

	// freePositions is how many positions of unknown tags a peer may list.
	freePositions = 1024
)

// ErrEmptySet is the error for a subscription to no tag. The limits of a table count
// tags, so they do not bound the number of empty sets.
var ErrEmptySet = errors.New("bus: subscription to no tags")

// Subscription is one of a complete group.
type Subscription struct {
	Request  *subscription.Subscribe // without its set
	Set      tags.Set
	Standing positions.Standing // where the subscriber stands
}

// Groups are the incomplete groups of all connections, one of each at most.
//
//   - C: a connection.
type Groups[C comparable] struct {
	// Lanes is how many lanes a connection may have. A group has at most as many ranges
	// and positions as so many lanes.
	Lanes int

	// Bytes bounds what all groups take together. If they take more, the oldest ones are
	// dropped: these are abandoned most likely.
	Bytes int

	// Evict is called for a connection whose group is dropped.
	//
	//   - bytes: what all groups have taken before.
	Evict func(c C, bytes int)

	begun list.List // of *incoming[C], the oldest first
	of    map[C]*incoming[C]
	bytes int
}

// incoming is the part received so far of a group.
type incoming[C any] struct {
	conn     C
	id       uint64 // of the set that comes
	some     bool   // of that set some has come
	part     []byte // of the set so far
	room     int    // the most bytes that it may take; 0: its head has yet to come
	excess   error  // why the set is not kept: it is going to be refused
	standing positions.Standing
	group    []Subscription // complete; the rest of the group has yet to come
	parts    int            // of their sets
	stands   int            // positions of them
	bytes    int            // counted in Groups.bytes
	place    *list.Element  // in Groups.begun; nil: dropped
}

// Len returns how many groups are incomplete.
func (g *Groups[C]) Len() int { return len(g.of) }

// Held returns about how many bytes they take.
func (g *Groups[C]) Held() int { return g.bytes }

// Has reports whether a group of a connection is incomplete.
func (g *Groups[C]) Has(c C) bool { return g.of[c] != nil }

// Within reports whether a subscription of the group of a connection is complete.
func (g *Groups[C]) Within(c C) bool { return g.Has(c) && len(g.of[c].group) > 0 }

// Positions takes where a subscriber stands that is about to resume a subscription.
//
//   - known: how many tags there are.
//   - Errors: those of positions.Standing.Add. The group is of no use then: Drop it.
func (g *Groups[C]) Positions(c C, m *subscription.Positions, known int) error {
	in := g.begin(c)
	if err := in.standing.Add(m, known+freePositions); err != nil {
		return err
	}
	g.hold(in, len(m.List)+listBytes)
	return nil
}

// Subscribe takes a part of a set. If that says that no further one follows, of the set
// and of the group, the group is complete, unless it was dropped meanwhile: Take it.
//
//   - known: how many tags there are.
//   - refused: why the complete subscription is not in the group: it has too many ranges
//     or masks. It wraps subscription.ErrTooManyTags. Others of the group may be good.
//   - Errors: what breaks the protocol: parts that do not belong together, what is no
//     set, ErrEmptySet, a group that is too large. The group is of no use then.
func (g *Groups[C]) Subscribe(c C, m *subscription.Subscribe, known int) (refused, err error) {
	in := g.begin(c)
	if in.some && in.id != m.ID {
		return nil, fmt.Errorf("parts of subscriptions %d and %d mixed", in.id, m.ID)
	}
	in.id, in.some = m.ID, true
	bytes, err := in.add(m.Set)
	if err != nil {
		return nil, err
	}
	if g.hold(in, bytes); in.place == nil || m.More {
		return nil, nil
	}
	bytes, refused, err = in.end(m)
	if refused != nil || err != nil {
		return refused, err
	}
	if g.hold(in, bytes); in.place == nil {
		return nil, nil
	}
	return nil, in.check(g.Lanes, known)
}

// Take returns the subscriptions of a group, none if all were refused, and forgets it.
func (g *Groups[C]) Take(c C) []Subscription {
	in := g.of[c]
	if in == nil {
		return nil
	}
	g.Drop(c)
	return in.group
}

// Drop forgets the group of a connection, if there is one.
func (g *Groups[C]) Drop(c C) {
	in := g.of[c]
	if in == nil {
		return
	}
	g.begun.Remove(in.place)
	in.place = nil
	g.bytes -= in.bytes
	delete(g.of, c)
}

// begin returns the group of a connection, a new one if there is none.
func (g *Groups[C]) begin(c C) *incoming[C] {
	in := g.of[c]
	if in == nil {
		if g.of == nil {
			g.of = make(map[C]*incoming[C])
		}
		in = &incoming[C]{conn: c}
		in.place = g.begun.PushBack(in)
		g.of[c] = in
	}
	return in
}

// hold counts memory of a group. It may drop groups, this one too.
func (g *Groups[C]) hold(in *incoming[C], bytes int) {
	in.bytes += bytes
	g.bytes += bytes
	for g.bytes > g.Bytes {
		all, oldest := g.bytes, g.begun.Front().Value.(*incoming[C]).conn
		g.Drop(oldest)
		g.Evict(oldest, all)
	}
}
