// SPDX-License-Identifier: Apache-2.0

// Package mailbox carries messages from a loop to one goroutine that reads them.
//
// A Box has a limit in bytes. Beyond it either the loop stops until the box is drained,
// or a policy says which messages are lost. A payload is copied once, into one of two
// growing blocks of memory. The loop fills one while the reader reads the other. So the
// reader takes the lock once per block, and in the long run nothing is allocated.
package mailbox

import (
	"context"
	"errors"
	"sync"

	"tagbus/subscription"
)

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

	mu     sync.Mutex
	filled block[K, M]
	full   bool
	ended  bool
	err    error
	waits  bool          // the reader does, until woken
	woken  chan struct{} // capacity 1

	_ [cacheLine]byte // what the reader writes for each message is not beside the lock

	reading block[K, M] // reader only
	left    bool        // its memory is the reader's
}

type block[K comparable, M any] struct {
	messages []M   // or runs
	ends     []int // in bytes
	bytes    []byte
	cost     int // of all, with dropped ones
	taken    int

	lossyPart[K]
}

// New returns an empty box.
//
//   - limit: at least 1; the box is full at so many bytes of payload, and MessageBytes
//     for each message.
//   - kind: what PushLossy does then.
func New[K comparable, M any](limit int, kind subscription.PolicyKind) *Box[K, M] {
	return &Box[K, M]{limit: limit, kind: kind, woken: make(chan struct{}, 1)}
}

// Push copies a message into the box, full or not, and reports whether it is full now.
// If so, Next says when it is drained. After Close the message is dropped.
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
	b.filled.append(m, run, cost)
	b.full = b.filled.cost >= b.limit
	b.wake()
	return b.full
}

// append copies a message into the block.
func (f *block[K, M]) append(m M, data []byte, cost int) {
	f.bytes = append(f.bytes, data...)
	f.ends = append(f.ends, len(f.bytes))
	f.messages = append(f.messages, m)
	f.cost += cost
}

// wake wakes a reader that waits. mu is held.
func (b *Box[K, M]) wake() {
	if b.waits {
		b.waits = false
		select {
		case b.woken <- struct{}{}:
		default: // a wake-up that an ended context has left behind
		}
	}
}

// Next waits for messages and makes them ready for Take. Those that it made ready before
// are over.
//
//   - drained: Push or PushRun found the box full, which it is not any more.
//   - Errors: the reason of Close, or ErrEnd; the cause of the end of ctx. The messages
//     pushed before come first.
func (b *Box[K, M]) Next(ctx context.Context) (drained bool, err error) {
	b.recycle()
	for {
		b.mu.Lock()
		if len(b.filled.messages) > 0 {
			b.reading, b.filled = b.filled, b.reading
			drained, b.full = b.full, false
			b.mu.Unlock()
			return drained, nil
		}
		ended, err := b.ended, b.err
		b.waits = !ended
		b.mu.Unlock()
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
	b.recycle()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.filled.messages) == 0 {
		return false
	}
	b.reading, b.filled = b.filled, b.reading
	return true
}

// Take returns the next of the messages, or runs, that Next made ready. Its data is valid until
// Next is called again.
func (b *Box[K, M]) Take() (m M, data []byte, ok bool) {
	r := &b.reading
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
	defer b.mu.Unlock()
	if !b.ended {
		b.ended, b.err = true, err
		b.wake()
	}
}

// recycle empties the block that was read.
func (b *Box[K, M]) recycle() {
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
