// SPDX-License-Identifier: Apache-2.0

package retain

import (
	"sync/atomic"

	"tagbus/netio"
)

// ID is that of a request; all zeros: none.
type ID [16]byte

// Origin owns the memory of messages. Init comes before everything else.
//
// Threads: one at a time for Init, Next and Retain; any for Turn and Release.
type Origin struct {
	retainer *Retainer
	keep     func() (netio.Retained, error) // nil: it is kept
	of       *Origin                        // of a request that is not kept: the Origin of its memory
	id       ID                             // of a request; of one that is kept, guarded by retainer.mu
	kind     kind
	turn     atomic.Uint32

	// Guarded by retainer.mu:
	hold   *hold
	heldIn uint32  // the turn of hold, where keep is not nil
	next   *Origin // of those that are free
}

// kind is whose a message is.
type kind uint8

const (
	received kind = iota // a subscriber's
	made                 // of no subscriber
	copied               // a retained copy of one that is made
)

// Made returns the Origin of a message that no subscriber has received, with the id of a
// request. Without an id a nil Origin is one too.
func Made(id ID) *Origin { return &Origin{kind: made, id: id} }

// Init prepares an Origin whose messages r keeps.
//
//   - keep: keeps the memory of this turn. It may return the same memory in several
//     turns. After netio.ErrNotSupported and netio.ErrNoResources the message is copied.
//     After another error the message is over.
func (o *Origin) Init(r *Retainer, keep func() (netio.Retained, error)) {
	o.retainer, o.keep = r, keep
}

// Turn returns the number of this turn.
func (o *Origin) Turn() uint32 { return o.turn.Load() }

// Request returns the Origin of a request, whose memory belongs to o.
func (o *Origin) Request(id ID) *Origin { return &Origin{of: o, id: id} }

// ID returns the id of a request, or none. Release forgets it if the message was retained.
//
// Threads: any.
func (o *Origin) ID(turn uint32) ID {
	if o == nil || o.keep != nil { // so are most messages
		return ID{}
	}
	return o.request(turn)
}

// request is ID of a message that may be a request.
func (o *Origin) request(turn uint32) ID {
	switch {
	case o.of != nil || o.kind == made:
		return o.id
	case o.kind == copied:
		if o.turn.Load() != turn {
			return ID{}
		}
		return o.id
	}
	o.retainer.mu.Lock()
	defer o.retainer.mu.Unlock()
	if o.turn.Load() != turn {
		return ID{}
	}
	return o.id
}

// Next ends the turn: messages that are not retained are over.
func (o *Origin) Next() { o.turn.Add(1) }
