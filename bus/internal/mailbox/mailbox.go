// SPDX-License-Identifier: Apache-2.0

// Package mailbox carries messages from a loop to one goroutine that reads them.
//
// A Box has a limit in bytes. Beyond it either the loop stops until the box is drained,
// or a policy says which messages are lost. A payload is copied once, into a block of
// memory. The loop fills one while the reader reads another. So the reader takes the lock
// once per block, and in the long run nothing is allocated. A block that was read last is
// filled next, so that little memory goes round if the reader keeps up: it stays in the
// cache, and the system need not provide more.
package mailbox

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"tagbus/bus/internal/ring"
	"tagbus/subscription"
)

// blockBytes is what a block holds, unless a policy may lose messages: these are in one block. It
// has room for two pages, or four messages of 64 KiB.
const blockBytes = (256 + 4) << 10

// grownBytes is the size from which a block grows to blockBytes at once. Many smaller steps have the
// system provide memory that is soon given up.
const grownBytes = 16 << 10

// MessageBytes is what a message counts beyond its payload, so that empty ones are
// limited too.
const MessageBytes = 64

// cacheLine is what processors share at once, two lines of 64 bytes where they are fetched
// in pairs.
const cacheLine = 128

// ErrEnd is the error of Next after Close without a reason.
var ErrEnd = errors.New("end of the mailbox")

// Box is a queue of messages that is filled by Push and PushRun, or by PushLossy, not by
// both.
//
//   - K: names the messages that supersede each other. The zero value names none.
//   - M: a message without its payload.
//
// Threads: one for Push, PushRun and PushLossy; one for Next, Take and Leave; any for Close.
type Box[K comparable, M any] struct {
	limit int // payload bytes, with MessageBytes for each message, at which it is full
	kind  subscription.PolicyKind

	mu      sync.Mutex
	full    ring.Ring[*block[K, M]] // to be read before filling
	filling *block[K, M]
	free    []*block[K, M] // the one that was read last is the last
	cost    int            // of what Push and PushRun have left to read
	stopped bool           // Push has found the box full, and Next has not said that it is drained
	ended   bool
	err     error
	woken   chan struct{} // capacity 1

	waits atomic.Bool // the reader does, until woken

	_ [cacheLine]byte // what the reader writes for each message is not beside the lock

	reading *block[K, M] // reader only
	left    bool         // its memory is the reader's
}

type block[K comparable, M any] struct {
	messages []M   // or runs
	ends     []int // in bytes
	bytes    []byte
	cost     int // of all, with dropped ones
	taken    int

	lossyPart[K]

	_ [cacheLine]byte // the reader writes to one while the loop writes to another
}

// New returns an empty box.
//
//   - limit: at least 1; the box is full at so many bytes of payload, and MessageBytes
//     for each message.
//   - kind: what PushLossy does then.
func New[K comparable, M any](limit int, kind subscription.PolicyKind) *Box[K, M] {
	return &Box[K, M]{
		limit: limit, kind: kind, woken: make(chan struct{}, 1), filling: new(block[K, M]), reading: new(block[K, M]),
	}
}

// Push copies a message into the box, full or not, and reports whether it is full now.
// If so, Next says when it is drained. After Close the message is dropped. A reader that
// waits sleeps on until Wake.
func (b *Box[K, M]) Push(m M, data []byte) (full bool) {
	return b.PushRun(m, data, len(data)+MessageBytes)
}

// PushRun is Push for a run of messages, which Take returns as one. The box does not
// look into it.
//
//   - cost: what the messages count: their payload, and MessageBytes for each.
func (b *Box[K, M]) PushRun(m M, run []byte, cost int) (full bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended {
		return false
	}
	if f := b.filling; len(f.messages) > 0 && len(f.bytes)+len(f.messages)*MessageBytes+len(run) > blockBytes {
		b.full.Push(f)
		b.filling = b.empty()
	}
	b.filling.append(m, run, cost)
	if b.cost += cost; b.cost < b.limit {
		return false
	}
	b.stopped = true
	return true
}

// empty returns an empty block. mu is held.
func (b *Box[K, M]) empty() *block[K, M] {
	last := len(b.free) - 1
	if last < 0 {
		return new(block[K, M])
	}
	f := b.free[last]
	b.free[last] = nil
	b.free = b.free[:last]
	return f
}

// append copies a message into the block.
func (f *block[K, M]) append(m M, data []byte, cost int) {
	if n := len(f.bytes) + len(data); n > cap(f.bytes) && n >= grownBytes && n < blockBytes {
		f.bytes = append(make([]byte, 0, blockBytes), f.bytes...)
	}
	f.bytes = append(f.bytes, data...)
	f.ends = append(f.ends, len(f.bytes))
	f.messages = append(f.messages, m)
	f.cost += cost
}

// Waits reports whether a reader waits, and Wake is to be called when there is something for it.
//
// Threads: any.
func (b *Box[K, M]) Waits() bool { return b.waits.Load() }

// Wake wakes a reader that waits. To wake it costs more than to push a message, so it is done once
// for many.
//
// Threads: any.
func (b *Box[K, M]) Wake() {
	if b.waits.Swap(false) {
		select {
		case b.woken <- struct{}{}:
		default: // a wake-up that an ended context has left behind
		}
	}
}

// Next waits for messages and makes some ready for Take, the oldest. Those that it made ready before
// are over.
//
//   - drained: Push or PushRun has found the box full, and now it is at most half full.
//   - Errors: the reason of Close, or ErrEnd; the cause of the end of ctx. The messages
//     pushed before come first.
func (b *Box[K, M]) Next(ctx context.Context) (drained bool, err error) {
	b.reset()
	for {
		b.mu.Lock()
		ready, drained := b.turn()
		ended, err := b.ended, b.err
		b.waits.Store(!ready && !ended)
		b.mu.Unlock()
		if ready {
			return drained, nil
		}
		if ended {
			if err == nil {
				err = ErrEnd
			}
			return false, err
		}
		select {
		case <-b.woken:
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
}

// TryNext is Next without waiting: it makes messages ready if some have come. Nothing is drained
// where they come by PushLossy.
func (b *Box[K, M]) TryNext() bool {
	b.reset()
	b.mu.Lock()
	defer b.mu.Unlock()
	ready, _ := b.turn()
	return ready
}

// turn makes the messages of another block ready, if there are any. The block that was read is empty.
// mu is held.
func (b *Box[K, M]) turn() (ready, drained bool) {
	read := b.reading
	switch {
	case b.full.Len() > 0:
		b.reading = *b.full.Front()
		b.full.Pop()
		b.recycle(read)
	case len(b.filling.messages) > 0:
		b.reading, b.filling = b.filling, read
	default:
		return false, false
	}
	b.cost = max(0, b.cost-b.reading.cost)
	drained = b.stopped && b.cost <= b.limit/2
	b.stopped = b.stopped && !drained
	return true, drained
}

// recycle keeps an empty block for later, unless the free ones have as much memory as the box may
// hold. mu is held.
func (b *Box[K, M]) recycle(empty *block[K, M]) {
	has := cap(empty.bytes)
	for _, f := range b.free {
		has += cap(f.bytes)
	}
	if len(b.free) == 0 || has <= b.limit {
		b.free = append(b.free, empty)
	}
}

// Take returns the next of the messages, or runs, that Next made ready. Its data is valid until
// Next is called again.
func (b *Box[K, M]) Take() (m M, data []byte, ok bool) {
	r := b.reading
	if r.dropped > 0 {
		r.skipDropped()
	}
	if r.taken == len(r.messages) {
		return m, nil, false
	}
	start, end := r.start(r.taken), r.ends[r.taken]
	m = r.messages[r.taken]
	r.taken++
	return m, r.bytes[start:end:end], true
}

// Leave gives the memory of the messages that Next made ready to the reader: their data
// stays valid. It returns how much that is.
func (b *Box[K, M]) Leave() (bytes int) {
	b.left = true
	return cap(b.reading.bytes)
}

// Close ends the box behind its messages. The first call decides the reason; nil: there
// is none.
func (b *Box[K, M]) Close(err error) {
	b.mu.Lock()
	if !b.ended {
		b.ended, b.err = true, err
	}
	b.mu.Unlock()
	b.Wake()
}

// reset empties the block that was read.
func (b *Box[K, M]) reset() {
	if b.left {
		b.reading.bytes, b.left = nil, false
	}
	b.reading.reset()
}

func (f *block[K, M]) reset() {
	clear(f.messages) // drop the pointers
	f.resetLossy()
	f.messages, f.ends, f.bytes, f.cost, f.taken = f.messages[:0], f.ends[:0], f.bytes[:0], 0, 0
}
