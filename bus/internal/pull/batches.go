// SPDX-License-Identifier: Apache-2.0

package pull

import (
	"sync/atomic"

	"tagbus/bus/internal/mailbox"
	"tagbus/bus/internal/ring"
	"tagbus/bus/internal/wire"
	"tagbus/tags"
)

// Batches is a queue of pages. Add and AddRun note where the messages of a page are, and Commit keeps
// the page. With a policy that may lose messages PushLossy puts copies into a mailbox instead, of
// which batches are made when they are taken.
//
//   - K, P: as of Messages.
//
// Threads: the loop for what fills the queue; any for what takes from it and for Close; one for its
// Reader.
type Batches[K comparable, P comparable] struct {
	pool[P]
	cfg   Config
	box   *mailbox.Box[K, entry[P]] // nil: pages are kept
	ready atomic.Pointer[func()]
	woken chan struct{} // capacity 1; for Next
	waits atomic.Bool   // Take has found nothing, and is told of more

	// Guarded by the mutex of the pool:
	filled  ring.Ring[*Batch[P]]
	cost    int // of filled
	full    bool
	ended   bool
	err     error
	ahead   single[P] // of the box, behind the last batch that was made of it
	isAhead bool

	reader Reader[P]
	read   reading[P]

	// Loop only.
	open  *Batch[P] // of the page that is being delivered
	waker waker
}

// NewBatches returns an empty queue.
//
//   - lossy: it is filled by PushLossy.
func NewBatches[K comparable, P comparable](cfg Config, lossy bool) *Batches[K, P] {
	q := &Batches[K, P]{cfg: cfg, woken: make(chan struct{}, 1)}
	q.retainer = cfg.Retainer
	if lossy {
		q.box = mailbox.New[K, entry[P]](cfg.Limit, cfg.Policy)
	}
	q.waker.init(cfg.Loop, q.wake)
	q.reader.queue = q
	return q
}

// Add adds a message of the page that is being delivered, and reports whether it is the first.
func (q *Batches[K, P]) Add(m *Message[P]) (first bool) {
	first = q.opened(m.Publisher)
	x := q.open.part(1, len(m.Data), len(m.Data))
	x.Tag, x.Status, x.Run, x.Counter, x.Messages, x.ID, x.Data = m.Tag, m.Status, false, m.Counter, 1, m.ID, m.Data
	q.open.requests = q.open.requests || m.ID != (wire.ID{})
	return first
}

// AddRun is Add for a run of plain messages (wire.Reader.Run).
//
//   - m: like the first one, except for Data.
func (q *Batches[K, P]) AddRun(m *Message[P], run []byte, messages int) (first bool) {
	first = q.opened(m.Publisher)
	x := q.open.part(messages, len(run)-messages*wire.PlainBytes, len(run))
	x.Tag, x.Status, x.Run, x.Counter, x.Messages, x.ID, x.Data = m.Tag, 0, true, m.Counter, messages, wire.ID{}, run
	return first
}

// opened has a batch for the page that is being delivered, and reports whether it is a new one.
func (q *Batches[K, P]) opened(publisher P) (first bool) {
	if q.open != nil {
		return false
	}
	q.open = q.get()
	q.open.publisher = publisher
	return true
}

// KeepOnly removes what was added of a page, except for the tags of a set.
func (q *Batches[K, P]) KeepOnly(set tags.Set) { q.open.keepOnly(set) }

// Added returns how many messages were added of a page, and the tag of the first one.
func (q *Batches[K, P]) Added() (messages int, first tags.Tag) {
	if messages = q.open.messages; messages > 0 {
		first = q.open.parts[0].Tag
	}
	return messages, first
}

// Discard forgets what was added of a page.
func (q *Batches[K, P]) Discard() { q.put(q.closed()) }

// closed returns the batch of the page, which is complete.
func (q *Batches[K, P]) closed() *Batch[P] {
	b := q.open
	q.open = nil
	return b
}

// Deliver calls h with what was added of a page, instead of Commit. The batch is over when h has
// returned or panicked, unless it is retained.
//
//   - pages: of the publisher of the page.
func (q *Batches[K, P]) Deliver(pages *Pages, h func(*Batch[P])) {
	b := q.closed()
	generation := b.Generation()
	b.page = pages
	defer func() {
		b.page = nil
		b.Over(generation)
	}()
	h(b)
}

// Commit puts what was added of a page where it can be taken, and reports whether the queue is full
// now. After Close it is dropped.
//
//   - pages: of the publisher of the page.
func (q *Batches[K, P]) Commit(pages *Pages) (full bool) {
	b := q.closed()
	if b.memory = pages.share(b.size); b.memory == nil {
		b.copy()
	}
	q.mu.Lock()
	if q.ended {
		q.mu.Unlock()
		b.drop()
		return false
	}
	q.filled.Push(b)
	size := b.size // from here on a reader may have it
	q.cost += b.cost()
	q.full = q.cost >= q.cfg.Limit
	full = q.full
	q.mu.Unlock()
	q.waker.came(size, q.waits.Load())
	return full
}

// PushLossy adds a message, and with a full queue loses some as the policy says; see
// mailbox.Box.PushLossy.
func (q *Batches[K, P]) PushLossy(key K, m *Message[P], lost func(K)) (taken bool) {
	var e entry[P]
	data := m.entry(&e)
	taken = q.box.PushLossy(key, e, data, lost)
	q.waker.came(len(data), q.waits.Load())
	return taken
}

// Notify sets what is called when Take has something to return after it has returned ErrEmpty: at most
// once in a turn of the loop, and at the end of the queue. It must not block.
//
// Threads: any, before the first Take.
func (q *Batches[K, P]) Notify(ready func()) { q.ready.Store(&ready) }

// wake tells those that wait, if any do, and reports whether they may be goroutines.
func (q *Batches[K, P]) wake() bool {
	if !q.waits.Swap(false) {
		return false
	}
	q.wakeNext()
	ready := q.ready.Load()
	if ready != nil {
		(*ready)()
	}
	return ready == nil
}

// wakeNext wakes one of those that wait in Next.
func (q *Batches[K, P]) wakeNext() {
	select {
	case q.woken <- struct{}{}:
	default:
	}
}

// Close ends the queue behind its messages. The first call decides the reason; nil: ErrEnd.
func (q *Batches[K, P]) Close(err error) {
	q.mu.Lock()
	if !q.ended {
		q.ended, q.err = true, err
	}
	q.mu.Unlock()
	if q.box != nil {
		q.box.Close(err)
	}
	q.wake()
}
