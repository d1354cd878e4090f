// SPDX-License-Identifier: Apache-2.0

package pull

import (
	"context"
	"errors"
)

// Take takes the next batch, and does not wait for one.
//
//   - counts: it counts as retained until Release, beside one that does not count.
//   - Errors: ErrEmpty; ErrEnd, or the reason why the queue was closed; those of package retain, and
//     the batch stays in the queue.
//   - Threads: any.
func (q *Batches[K, P]) Take(counts bool) (*Batch[P], error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.fill(); err != nil {
		return nil, err
	}
	b := *q.filled.Front()
	if counts {
		if !q.alone {
			q.alone, b.alone = true, true
		} else if err := b.retain(); err != nil {
			return nil, err
		}
	}
	q.filled.Pop()
	if q.cost -= b.cost(); q.full && q.cost <= q.cfg.Limit/2 {
		q.full = false
		q.cfg.Loop.Post(q.cfg.Drained)
	}
	return b, nil
}

// Next takes the next batch, which does not count as retained, and waits for one.
//
//   - Errors: ErrEnd, or the reason why the queue was closed; the cause of the end of ctx.
//   - Threads: any.
func (q *Batches[K, P]) Next(ctx context.Context) (*Batch[P], error) {
	for {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		b, err := q.Take(false)
		if !errors.Is(err, ErrEmpty) {
			q.pass()
			return b, err
		}
		select {
		case <-q.woken:
			if ctx.Err() != nil {
				q.pass()
			}
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// pass wakes the next of those that wait in Next, as one wake-up was for all that has come, and for
// the end.
func (q *Batches[K, P]) pass() {
	q.mu.Lock()
	more := q.filled.Len() > 0 || q.isAhead || q.ended
	if !more {
		q.waits.Store(true) // for the others
		more = q.unbox()    // what came before that was not told
	}
	q.mu.Unlock()
	if more {
		q.wakeNext()
	}
}

// fill has a batch in filled, or says why there is none. mu is held.
func (q *Batches[K, P]) fill() error {
	if q.filled.Len() > 0 || q.unbox() {
		return nil
	}
	if !q.ended {
		q.waits.Store(true)
		if q.unbox() { // what came before that was not told
			return nil
		}
		return ErrEmpty
	}
	if q.err != nil {
		return q.err
	}
	return ErrEnd
}

// single is a message of a mailbox.
type single[P any] struct {
	entry[P]
	data []byte
}

// unbox makes a batch of messages of the box. mu is held.
func (q *Batches[K, P]) unbox() bool {
	if q.box == nil {
		return false
	}
	m, ok := q.single()
	if !ok && q.box.TryNext() {
		m, ok = q.single()
	}
	if !ok {
		return false
	}
	b := q.getLocked()
	b.publisher = m.publisher
	for ok && m.publisher == b.publisher && b.fits(&m) {
		b.addCopy(&m)
		m, ok = q.single()
	}
	if ok {
		q.ahead, q.isAhead = m, true
	}
	q.filled.Push(b)
	q.cost += b.cost()
	return true
}

// single returns the next message that the box has ready. mu is held.
func (q *Batches[K, P]) single() (single[P], bool) {
	if q.isAhead {
		m := q.ahead
		q.ahead, q.isAhead = single[P]{}, false
		return m, true
	}
	e, data, ok := q.box.Take()
	return single[P]{e, data}, ok
}

// reading is the batch from which the Reader takes messages.
type reading[P comparable] struct {
	batch      *Batch[P]
	generation uint32
	at         int // the next part
}

// Reader returns what takes the messages one by one: always the same.
func (q *Batches[K, P]) Reader() *Reader[P] { return &q.reader }

// next implements source.
func (q *Batches[K, P]) next(r *Reader[P]) (run int, counter uint64, data []byte, ok bool) {
	b := q.read.batch
	if b == nil || q.read.at == len(b.parts) {
		return 0, 0, nil, false
	}
	x := &b.parts[q.read.at]
	q.read.at++
	r.Tag, r.Status, r.Turn, r.Publisher, r.Origin = x.Tag, x.Status, b.origin.Turn(), b.publisher, x.Origin(&b.origin)
	if x.Run {
		run = x.Messages
	}
	return run, x.Counter, x.Data, true
}

// wait implements source.
func (q *Batches[K, P]) wait(ctx context.Context) error {
	if b := q.read.batch; b != nil {
		b.Release(q.read.generation)
		q.read = reading[P]{}
	}
	b, err := q.Next(ctx)
	if err == nil {
		q.read = reading[P]{b, b.Generation(), 0}
	}
	return err
}
