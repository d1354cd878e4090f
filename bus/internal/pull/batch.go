// SPDX-License-Identifier: Apache-2.0

package pull

import (
	"sync"
	"sync/atomic"

	"tagbus/bus/internal/mailbox"
	"tagbus/bus/internal/retain"
	"tagbus/bus/internal/wire"
	"tagbus/netio"
	"tagbus/tags"
)

// Of batches.
const (
	mostMessages = 1024     // of a batch of a mailbox
	ownBytes     = 64 << 10 // of the memory of such a batch, and of that of a free one
	freeBatches  = 16
)

// Batch is what has come in one page, or what a policy has left of several, of one publisher. It is
// used again after Release: a generation is one use. nil has no messages, and is over.
//
// Threads: one goroutine at a time; any for Release and Over.
type Batch[P comparable] struct {
	pool       *pool[P]
	generation atomic.Uint32
	origin     retain.Origin
	publisher  P
	parts      []Part
	messages   int
	bytes      int // payload
	size       int // of the page, as far as it is kept

	requests bool   // some have an id
	page     *Pages // while its page is being delivered to a handler: nothing is copied or kept yet
	memory   *share // nil: own
	own      []byte
	left     bool // own belongs to messages that are retained

	alone    bool // it is taken, and does not count
	kept     *retain.Origin
	keptTurn uint32
}

// Part is a message of a Batch, or a run of plain ones.
type Part struct {
	Tag      tags.Tag
	Status   uint8
	Run      bool
	Counter  uint64 // of the first
	Messages int
	ID       wire.ID // of a request
	Data     []byte  // the payload, or the run, which wire.Cut takes apart
}

// Generation returns the generation of a batch, for its owner.
func (b *Batch[P]) Generation() uint32 { return b.generation.Load() }

// Len returns the number of messages.
func (b *Batch[P]) Len() int {
	if b == nil {
		return 0
	}
	return b.messages
}

// Publisher returns where the messages come from.
func (b *Batch[P]) Publisher() (from P) {
	if b == nil {
		return from
	}
	return b.publisher
}

// HasRequests reports whether some messages are requests.
func (b *Batch[P]) HasRequests() bool { return b != nil && b.requests }

// Parts returns the messages, valid until Release.
func (b *Batch[P]) Parts() []Part {
	if b == nil {
		return nil
	}
	return b.parts
}

// Origin returns what the data of the messages belongs to, and its turn.
func (b *Batch[P]) Origin() (origin *retain.Origin, turn uint32) {
	if b == nil {
		return nil, 0
	}
	return &b.origin, b.origin.Turn()
}

// Origin returns what the data of a part belongs to.
//
//   - batch: Origin of its batch.
func (x *Part) Origin(batch *retain.Origin) *retain.Origin {
	if x.ID == (wire.ID{}) {
		return batch
	}
	return batch.Request(retain.ID(x.ID))
}

// Retain counts the batch as retained. A second call does nothing.
//
// Errors: those of package retain.
func (b *Batch[P]) Retain(generation uint32) error {
	if b == nil || b.generation.Load() != generation {
		return retain.ErrOver
	}
	return b.retain()
}

func (b *Batch[P]) retain() error {
	if b.kept != nil {
		return nil
	}
	kept, turn, own, err := b.origin.RetainAll(b.origin.Turn(), b.bytes)
	if err != nil {
		return err
	}
	if own {
		b.copy()
	}
	b.kept, b.keptTurn = kept, turn
	return nil
}

// Release ends the use of the batch. A second call does nothing.
func (b *Batch[P]) Release(generation uint32) {
	if b == nil || !b.generation.CompareAndSwap(generation, generation+1) {
		return
	}
	if b.kept != nil {
		b.kept.Release(b.keptTurn)
		b.kept = nil
	}
	b.drop()
}

// Over releases the batch, unless it is retained.
func (b *Batch[P]) Over(generation uint32) {
	if b.generation.Load() == generation && b.kept == nil {
		b.Release(generation)
	}
}

// drop gives the memory back.
func (b *Batch[P]) drop() {
	b.origin.Next()
	if b.memory != nil {
		b.memory.Release()
	}
	b.pool.put(b)
}

// cost returns what the messages count in the queue.
func (b *Batch[P]) cost() int { return b.bytes + b.messages*mailbox.MessageBytes }

// part adds a part to set. To append one that was just made would wait for the stores into it.
//
//   - messages, bytes, size: of it; see Batch.
func (b *Batch[P]) part(messages, bytes, size int) *Part {
	n := len(b.parts)
	if n < cap(b.parts) {
		b.parts = b.parts[:n+1]
	} else {
		b.parts = append(b.parts, Part{})
	}
	b.messages += messages
	b.bytes += bytes
	b.size += size
	return &b.parts[n]
}

// addCopy adds a copy of a message of a mailbox.
func (b *Batch[P]) addCopy(m *single[P]) {
	data, id := m.data, wire.ID{}
	if m.request {
		id = wire.ID(data)
		data = data[len(id):]
		b.requests = true
	}
	x := b.part(1, len(data), len(data))
	x.Tag, x.Status, x.Run, x.Counter, x.Messages, x.ID, x.Data = m.tag, m.status, false, m.counter, 1, id, b.copied(data)
}

// fits reports whether a message of a mailbox has room. All are in one piece of memory.
func (b *Batch[P]) fits(m *single[P]) bool {
	return b.messages == 0 || b.messages < mostMessages && cap(b.own)-len(b.own) >= len(m.data)
}

// copied returns a copy of data in own.
func (b *Batch[P]) copied(data []byte) []byte {
	if len(b.own) == 0 && cap(b.own) < len(data) {
		b.own = make([]byte, 0, max(len(data), ownBytes))
	}
	begin := len(b.own)
	b.own = append(b.own, data...)
	return b.own[begin:len(b.own):len(b.own)]
}

// copy moves all data to memory of the batch's own, in one piece.
func (b *Batch[P]) copy() {
	if cap(b.own) < b.size {
		b.own = make([]byte, 0, b.size)
	}
	for i := range b.parts {
		b.parts[i].Data = b.copied(b.parts[i].Data)
	}
}

// keepOnly removes the messages whose tag a set does not have.
func (b *Batch[P]) keepOnly(set tags.Set) {
	kept := b.parts[:0]
	b.messages, b.bytes, b.size, b.requests = 0, 0, 0, false
	for _, x := range b.parts {
		if !set.Contains(x.Tag) {
			continue
		}
		kept = append(kept, x)
		b.messages += x.Messages
		b.size += len(x.Data)
		b.bytes += len(x.Data)
		if x.Run {
			b.bytes -= x.Messages * wire.PlainBytes
		}
		b.requests = b.requests || x.ID != (wire.ID{})
	}
	clear(b.parts[len(kept):])
	b.parts = kept
}

// keep keeps the memory of the batch, for messages that are retained.
func (b *Batch[P]) keep() (netio.Retained, error) {
	if b.page != nil && b.memory == nil && len(b.own) == 0 {
		memory, _, err := b.page.keep()
		if err != nil {
			return nil, err
		}
		b.memory = memory
	}
	if b.memory != nil {
		b.memory.use()
		return b.memory, nil
	}
	b.left = true
	return retain.Heap(cap(b.own)), nil
}

// pool has batches that are not used.
type pool[P comparable] struct {
	retainer *retain.Retainer

	mu    sync.Mutex // also of the queue
	free  []*Batch[P]
	alone bool // a batch that is taken does not count
}

// get returns an empty batch.
func (p *pool[P]) get() *Batch[P] {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.getLocked()
}

// getLocked is get with mu held.
func (p *pool[P]) getLocked() *Batch[P] {
	if last := len(p.free) - 1; last >= 0 {
		b := p.free[last]
		p.free[last] = nil
		p.free = p.free[:last]
		return b
	}
	b := &Batch[P]{pool: p}
	b.origin.Init(p.retainer, b.keep)
	return b
}

// put takes back a batch of which nothing is used any more.
func (p *pool[P]) put(b *Batch[P]) {
	var none P
	clear(b.parts)
	if b.left || cap(b.own) > ownBytes {
		b.own = nil
	}
	b.parts, b.own, b.publisher, b.memory, b.left = b.parts[:0], b.own[:0], none, nil, false
	b.messages, b.bytes, b.size, b.requests = 0, 0, 0, false
	p.mu.Lock()
	defer p.mu.Unlock()
	if b.alone {
		b.alone, p.alone = false, false
	}
	if len(p.free) < freeBatches {
		p.free = append(p.free, b)
	}
}
