// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"slices"

	"tagbus/bus/internal/pull"
	"tagbus/bus/internal/wire"
)

// Batch is what a subscription has received in one page, at least one message, all of one
// publisher, in the order of their arrival. What the policies of the subscription's own queue
// have left of several pages may be in one Batch. The zero value is none.
//
// It belongs to one goroutine at a time. A copy is the same Batch.
type Batch struct {
	is         any // a *pull.Batch[*Peer]; nil of the zero value
	generation uint32
}

// batchOf returns the handle of a batch.
func batchOf(b *pull.Batch[*Peer]) Batch { return Batch{b, b.Generation()} }

// pulledBatch returns what a Batch is; nil of the zero value. It is no method, as publisherOf is none.
func pulledBatch(b Batch) *pull.Batch[*Peer] {
	p, _ := b.is.(*pull.Batch[*Peer])
	return p
}

// Len returns the number of messages; 0 of the zero value.
//
//go:noinline
func (b Batch) Len() int { return pulledBatch(b).Len() }

// Publisher says where the messages come from; see Message.Publisher. It is nil of the zero Batch.
//
//go:noinline
func (b Batch) Publisher() *Peer { return pulledBatch(b).Publisher() }

// AppendTo appends the messages of the batch to a slice. Their Data is valid until Release, and
// with Message.Retain longer.
func (b Batch) AppendTo(messages []Message) []Message {
	p := pulledBatch(b)
	origin, turn := p.Origin()
	parts := p.Parts()
	for i := range parts {
		x := &parts[i]
		if x.Run {
			like := Message{Tag: x.Tag, turn: turn, Counter: x.Counter, Publisher: p.Publisher(), origin: origin}
			messages, _, _ = appendPlain(messages, &like, x.Data, 0, x.Messages)
			continue
		}
		messages = append(messages, Message{
			Tag: x.Tag, Status: Status(x.Status), turn: turn, Counter: x.Counter, Publisher: p.Publisher(), Data: x.Data, origin: x.Origin(origin),
		})
	}
	return messages
}

// Rows sets the first Len of rows to the messages of the batch.
func (b Batch) Rows(rows []Row) {
	n, parts := 0, pulledBatch(b).Parts()
	for i := range parts {
		x := &parts[i]
		if x.Run {
			plainRows(rows[n:n+x.Messages], x)
		} else {
			rows[n] = Row{
				Tag: x.Tag, Counter: x.Counter, Data: address(x.Data), Size: uint32(len(x.Data)), Status: Status(x.Status), Request: x.ID != (wire.ID{}),
			}
		}
		n += x.Messages
	}
}

// plainRows sets rows to the messages of a run.
func plainRows(rows []Row, run *pull.Part) {
	at := 0
	for i := range rows {
		data, next, _ := wire.Cut(run.Data, at)
		at = next
		to := &rows[i]
		to.Tag, to.Counter, to.Data, to.Size, to.Status, to.Request = run.Tag, run.Counter+uint64(i), address(data), uint32(len(data)), 0, false
	}
}

// HasRequests reports whether some messages have a RequestID.
//
//go:noinline
func (b Batch) HasRequests() bool { return pulledBatch(b).HasRequests() }

// Retain keeps the batch, with the Data of its messages, valid until Release: beyond the step
// of an iteration over Subscription.Batches, on any goroutine, and beyond the end of the
// subscriber. It counts once, with all its memory, up to SubscriberConfig.RetainBytes. A second
// Retain does nothing. Where the transport cannot spare the memory of a batch that is given to a
// handler, its bytes are copied: AppendTo and Rows say where they are then.
//
//   - Errors: ErrRetainLimit; ErrMessageOver.
func (b Batch) Retain() error { return pulledBatch(b).Retain(b.generation) }

// Release ends the batch: the Data of its messages may not be used any more, unless they are
// retained themselves. A second call does nothing. Threads: any.
//
//go:noinline
func (b Batch) Release() { pulledBatch(b).Release(b.generation) }

// Kept keeps the Data of messages valid; see RetainBatch.
type Kept struct {
	message Message // without Data
}

// Release ends RetainBatch. A second call does nothing. Threads: any.
func (k Kept) Release() { k.message.Release() }

// RetainBatch keeps the Data of the messages that a BatchHandler was called with valid until
// Release, as Message.Retain does for one message: together they count once. Where the transport
// cannot spare the memory the bytes are copied, and RetainBatch changes Data of all messages.
//
//   - messages: all, or some, that the handler was called with. Of none there is nothing to keep.
//   - Errors: ErrRetainLimit; ErrMessageOver. The messages are as valid as before.
//   - Threads: that of the handler. Blocks: never.
func RetainBatch(messages []Message) (Kept, error) {
	if len(messages) == 0 {
		return Kept{}, nil
	}
	m := &messages[0]
	size := 0
	for i := range messages {
		size += len(messages[i].Data)
	}
	kept, turn, own, err := m.origin.RetainAll(m.turn, size)
	if err != nil {
		return Kept{}, err
	}
	if own {
		memory := make([]byte, 0, size)
		for i := range messages {
			begin := len(memory)
			memory = append(memory, messages[i].Data...)
			messages[i].Data = memory[begin:len(memory):len(memory)]
		}
	}
	return Kept{Message{origin: kept, turn: turn}}, nil
}

// appendPlain appends the plain messages of a page from a place on, at most most of them. The first is like m. It
// returns where the next one begins. A copy of m would wait for the stores into it, so each field is set.
func appendPlain(messages []Message, m *Message, page []byte, at, most int) (_ []Message, next, bytes int) {
	for i := range most {
		data, next, ok := wire.Cut(page, at)
		if !ok {
			break
		}
		at = next
		if len(messages) == cap(messages) { // not for all that are left: they may be those of many subscriptions
			messages = slices.Grow(messages, 1)
		}
		messages = messages[:len(messages)+1]
		to := &messages[len(messages)-1]
		to.Tag, to.Status, to.turn, to.Counter = m.Tag, m.Status, m.turn, m.Counter+uint64(i)
		to.Publisher, to.Data, to.origin = m.Publisher, data, m.origin
		bytes += len(data)
	}
	return messages, at, bytes
}
