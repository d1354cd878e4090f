package bus

import (
	"context"
	"errors"
	"sync"

	"tagbus/netio"
)

// messageQueue carries messages from the loop to the goroutine that iterates. Payloads
// are copied once, into one of two growing blocks of memory. The loop fills one while
// the iterating goroutine reads the other. So the reader takes the lock once per block,
// and in the long run nothing is allocated.
type messageQueue struct {
	limit  int // payload bytes, with messageCost for each message, at which it is full
	origin origin

	mu     sync.Mutex
	filled messageBlock
	full   bool
	ended  bool
	err    error
	woken  chan struct{} // capacity 1

	reading messageBlock // reader only
	kept    bool         // messages of it are retained
}

type messageBlock struct {
	messages []Message // Data set when read: the bytes may still move
	ends     []int     // in bytes
	bytes    []byte
	taken    int

	lossyPart
}

func newMessageQueue(limit int, r *retainer) *messageQueue {
	q := &messageQueue{limit: limit, woken: make(chan struct{}, 1)}
	q.origin.retainer, q.origin.keep = r, q.keep
	return q
}

// keep leaves the block that is being read to its retained messages.
func (q *messageQueue) keep() (netio.Retained, error) {
	q.kept = true
	return &heapMemory{cap(q.reading.bytes)}, nil
}

var errQueueEnd = errors.New("bus: end of the queue")

// push copies a message into the queue of a lossless subscription, and reports whether
// the queue is full now.
func (q *messageQueue) push(m Message) (full bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ended {
		return false
	}
	b := &q.filled
	b.append(m)
	q.full = b.size() >= q.limit
	q.wake()
	return q.full
}

// append copies a message into the block.
func (b *messageBlock) append(m Message) {
	b.bytes = append(b.bytes, m.Data...)
	b.ends = append(b.ends, len(b.bytes))
	m.Data, m.origin = nil, nil
	b.messages = append(b.messages, m)
}

func (q *messageQueue) wake() {
	select {
	case q.woken <- struct{}{}:
	default:
	}
}

// next waits for messages and makes them ready for take. drained: the queue was full
// and is not any more.
//
// Errors: errQueueEnd after an orderly end, the reason of another, or the
// cause of the end of ctx.
func (q *messageQueue) next(ctx context.Context) (drained bool, err error) {
	q.recycle()
	for {
		q.mu.Lock()
		if len(q.filled.messages) > 0 {
			q.reading, q.filled = q.filled, q.reading
			drained, q.full = q.full, false
			q.mu.Unlock()
			return drained, nil
		}
		ended, err := q.ended, q.err
		q.mu.Unlock()
		if ended {
			if err == nil {
				err = errQueueEnd
			}
			return false, err
		}
		select {
		case <-q.woken:
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
}

// take returns the next message of the block that next made ready.
func (q *messageQueue) take() (Message, bool) {
	b := &q.reading
	if b.dropped > 0 {
		b.skipDropped()
	}
	if b.taken == len(b.messages) {
		return Message{}, false
	}
	m := b.messages[b.taken]
	start := 0
	if b.taken > 0 {
		start = b.ends[b.taken-1]
	}
	end := b.ends[b.taken]
	m.Data = b.bytes[start:end:end]
	m.origin, m.turn = &q.origin, q.origin.turn.Load()
	b.taken++
	return m, true
}

// close ends the queue behind its messages. The first call decides the reason.
func (q *messageQueue) close(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.ended {
		q.ended, q.err = true, err
		q.wake()
	}
}

// recycle empties the block that was read.
func (q *messageQueue) recycle() {
	q.origin.turn.Add(1)
	if q.kept {
		q.reading.bytes, q.kept = nil, false
	}
	q.reading.reset()
}

func (b *messageBlock) reset() {
	clear(b.messages) // drop the pointers
	b.resetLossy()
	b.messages, b.ends, b.bytes, b.taken = b.messages[:0], b.ends[:0], b.bytes[:0], 0
}
