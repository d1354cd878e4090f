// SPDX-License-Identifier: Apache-2.0

package pull

import (
	"context"

	"tagbus/bus/internal/mailbox"
	"tagbus/bus/internal/retain"
	"tagbus/bus/internal/wire"
	"tagbus/netio"
)

// Messages is a queue of messages, which are copied. It is filled by Push and PushRun, or by
// PushLossy, not by both.
//
//   - K: names the messages that supersede each other. The zero value names none.
//   - P: the publisher of a message.
//
// Threads: the loop for Push, PushRun and PushLossy; any for Close; one for its Reader.
type Messages[K comparable, P any] struct {
	cfg    Config
	box    *mailbox.Box[K, entry[P]]
	waker  waker
	origin retain.Origin // of the messages that are being read
	reader Reader[P]
}

// NewMessages returns an empty queue.
func NewMessages[K comparable, P any](cfg Config) *Messages[K, P] {
	q := &Messages[K, P]{cfg: cfg, box: mailbox.New[K, entry[P]](cfg.Limit, cfg.Policy)}
	q.waker.init(cfg.Loop, func() bool {
		q.box.Wake()
		return true
	})
	q.origin.Init(cfg.Retainer, func() (netio.Retained, error) { return retain.Heap(q.box.Leave()), nil })
	q.reader.queue = q
	return q
}

// Push adds a message, and reports whether the queue is full now.
func (q *Messages[K, P]) Push(m *Message[P]) (full bool) {
	var e entry[P]
	data := m.entry(&e)
	full = q.box.Push(e, data)
	q.waker.came(len(data), q.box.Waits())
	return full
}

// PushRun is Push for a run of plain messages (wire.Reader.Run).
//
//   - m: like the first one, except for Data.
func (q *Messages[K, P]) PushRun(m *Message[P], run []byte, messages int) (full bool) {
	e := entry[P]{tag: m.Tag, status: m.Status, run: uint32(messages), counter: m.Counter, publisher: m.Publisher}
	full = q.box.PushRun(e, run, len(run)+messages*(mailbox.MessageBytes-wire.PlainBytes))
	q.waker.came(len(run), q.box.Waits())
	return full
}

// PushLossy adds a message, and with a full queue loses some as the policy says; see
// mailbox.Box.PushLossy.
func (q *Messages[K, P]) PushLossy(key K, m *Message[P], lost func(K)) (taken bool) {
	var e entry[P]
	data := m.entry(&e)
	taken = q.box.PushLossy(key, e, data, lost)
	q.waker.came(len(data), q.box.Waits())
	return taken
}

// Close ends the queue behind its messages. The first call decides the reason; nil: ErrEnd.
func (q *Messages[K, P]) Close(err error) { q.box.Close(err) }

// Reader returns what takes the messages: always the same.
func (q *Messages[K, P]) Reader() *Reader[P] { return &q.reader }

// next implements source.
func (q *Messages[K, P]) next(r *Reader[P]) (run int, counter uint64, data []byte, ok bool) {
	e, data, ok := q.box.Take()
	if !ok {
		return 0, 0, nil, false
	}
	origin := &q.origin
	if e.request {
		id := retain.ID(data)
		origin, data = origin.Request(id), data[len(id):]
	}
	r.Tag, r.Status, r.Turn, r.Publisher, r.Origin = e.tag, e.status, q.origin.Turn(), e.publisher, origin
	return int(e.run), e.counter, data, true
}

// wait implements source.
func (q *Messages[K, P]) wait(ctx context.Context) error {
	q.origin.Next()
	drained, err := q.box.Next(ctx)
	if drained {
		q.cfg.Loop.Post(q.cfg.Drained)
	}
	return err
}
