// SPDX-License-Identifier: Apache-2.0

// Package pull holds the messages of a subscription between the loop, which receives them, and the
// goroutines that take them.
//
// Messages is a queue of copies, Batches one of whole pages. The loop fills either, and never
// waits: a queue that is full says so, and its user reads no more from the publishers until
// Config.Drained. A policy may lose messages instead. A Reader takes the messages of a queue one
// by one; those of Batches can also be taken together.
//
//	the loop                               goroutines
//	Messages.Push, PushRun, PushLossy  ->  Reader               of a mailbox
//	Batches.Add, AddRun, then Commit   ->  Take, Next, Reader   of a ring of pages
//	Batches.PushLossy                  ->  Take, Next, Reader   of a mailbox
//
// Those that wait are woken once for all that comes in a turn of the loop.
//
// The package knows tags and the plain messages of a page, and neither handlers nor sessions. What
// its user hands out is made of a Head or a Part there, so that no message is copied for it.
package pull

import (
	"errors"

	"tagbus/bus/internal/mailbox"
	"tagbus/bus/internal/retain"
	"tagbus/bus/internal/wire"
	"tagbus/netio"
	"tagbus/subscription"
	"tagbus/tags"
)

// The reasons why there is nothing to take.
var (
	ErrEmpty = errors.New("bus: no batch is there now")
	ErrEnd   = mailbox.ErrEnd // the queue is closed, without a reason, and all was taken
)

// Config is what a queue needs of its user.
type Config struct {
	Loop     netio.Loop // for Post only
	Retainer *retain.Retainer
	Limit    int                     // payload, with mailbox.MessageBytes for each message, at which a queue is full
	Policy   subscription.PolicyKind // of PushLossy
	Drained  func()                  // the queue was full, and at most half of that is left; on the loop
}

// Message is a message for a queue.
//
//   - P: its publisher.
type Message[P any] struct {
	Tag       tags.Tag
	Status    uint8
	Counter   uint64
	Publisher P
	Data      []byte
	ID        wire.ID // of a request; zero: it is none
}

// entry is a message in a mailbox, without its data, or the first one of a run.
type entry[P any] struct {
	tag       tags.Tag
	status    uint8
	run       uint32 // of so many plain messages; 0: it is none
	request   bool   // its id precedes the payload
	counter   uint64
	publisher P
}

// entry sets e to a message as a mailbox takes it, and returns its data.
func (m *Message[P]) entry(e *entry[P]) (data []byte) {
	e.tag, e.status, e.counter, e.publisher = m.Tag, m.Status, m.Counter, m.Publisher
	if m.ID == (wire.ID{}) {
		return m.Data
	}
	e.request = true
	return append(m.ID[:], m.Data...)
}
