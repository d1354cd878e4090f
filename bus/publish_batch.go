// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"context"
	"errors"

	"tagbus/bus/internal/wire"
)

// PublishBatch publishes messages, in their order. Only Tag, Status and Data of each
// message are used, so a BatchHandler can publish its messages again as they are.
// Compared with calls of PublishStatus, PublishBatch saves the lock and the lookup of
// the tag. For small messages that is most of the work.
//
//   - Result: the number of messages accepted, always the first ones. If it is not
//     all of them, the error is that of the first one refused. Those behind it are
//     not tried.
//   - Data, errors, order, threads: as PublishStatus. Other goroutines may publish
//     between two of the messages.
//   - Blocks: never. Allocates: only for the first message of a tag.
func (handle *Publisher) PublishBatch(messages []Message) (int, error) {
	p := publisherOf(handle)
	n := 0
	for n < len(messages) {
		done, err := p.publishRun(messages[n:])
		n += done
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// PublishBatchContext publishes messages as PublishBatch does, and waits for
// room.
//
//   - Errors: as PublishContext.
//   - Threads: any.
func (handle *Publisher) PublishBatchContext(ctx context.Context, messages []Message) (int, error) {
	p := publisherOf(handle)
	n := 0
	for {
		done, err := p.PublishBatch(messages[n:])
		n += done
		if err != ErrNoResources { //nolint:errorlint // PublishBatch returns it bare, and this is the data path
			return n, err
		}
		m := &messages[n]
		if err := p.PublishStatusContext(ctx, m.Tag, m.Status, m.Data); err != nil {
			return n, err
		}
		n++
	}
}

// publishRun publishes the first of messages, at least one, under one hold of
// the mutex of their stream.
func (p *publisherImpl) publishRun(messages []Message) (n int, err error) {
	m := &messages[0]
	run, ok := p.fan.BeginRun(m.Tag)
	if !ok {
		if err := p.PublishStatus(m.Tag, m.Status, m.Data); err != nil {
			return 0, err
		}
		return 1, nil
	}
	defer func() { run.End(err == nil && n < len(messages)) }()
	for n < len(messages) {
		m := &messages[n]
		more, err := run.Publish(m.Tag, wire.Status(m.Status), m.Data)
		if err != nil {
			return n, p.explain(m.Tag, len(m.Data), err)
		}
		if !more {
			return n, nil
		}
		n++
		if w, limit, budget := run.Plain(); w != nil {
			more, bytes := appendRun(w, messages[n:], limit, budget)
			run.Took(more, bytes)
			n += more
		}
	}
	return n, nil
}

// appendRun adds the first of messages that are plain, have up to limit bytes, fit, and
// together take not much more than budget bytes of page. It returns their number, and
// the bytes of their payloads.
func appendRun(w *wire.Writer, messages []Message, limit, budget int) (n, bytes int) {
	mem, end := w.Run(budget)
	for i := range messages {
		m := &messages[i]
		if len(m.Data) > limit || len(mem)+len(m.Data) > end || !w.Plain(m.Tag, wire.Status(m.Status)) {
			break
		}
		mem = wire.AppendPlain(mem, m.Data)
		n++
		bytes += len(m.Data)
	}
	w.Ran(mem, n)
	return n, bytes
}

// errRow becomes a RowError, which has the number of the row.
var errRow = errors.New("bus: a row without data")

// PublishRows publishes messages as PublishBatch does, from where a program in C has them: no
// Message is made of a row. Only Tag, Status, Data and Size of each row are used.
//
//   - Data: has Size bytes; not looked at if Size is 0.
//   - Result: as of PublishBatch. The first row with bytes where none can be is refused with
//     a *RowError. Those before it are published, those behind it are not tried.
func (handle *Publisher) PublishRows(rows []Row) (int, error) {
	p := publisherOf(handle)
	n := 0
	for n < len(rows) {
		done, err := p.publishRowRun(rows[n:])
		n += done
		if err == errRow { //nolint:errorlint // publishRowRun returns it bare
			r := &rows[n]
			return n, &RowError{Row: n, Tag: r.Tag, Data: r.Data, Size: r.Size}
		}
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// publishRowRun is publishRun for rows. Generic code for both would call for each message what is
// inlined in either.
//
//   - Errors: errRow if rows[n] is not usable.
func (p *publisherImpl) publishRowRun(rows []Row) (n int, err error) {
	if !rows[0].usable() {
		return 0, errRow
	}
	run, ok := p.fan.BeginRun(rows[0].Tag)
	if !ok {
		r := &rows[0]
		if err := p.PublishStatus(r.Tag, r.Status, r.data()); err != nil {
			return 0, err
		}
		return 1, nil
	}
	defer func() { run.End(err == nil && n < len(rows)) }()
	for n < len(rows) {
		r := &rows[n]
		if !r.usable() {
			return n, errRow
		}
		more, err := run.Publish(r.Tag, wire.Status(r.Status), r.data())
		if err != nil {
			return n, p.explain(r.Tag, int(r.Size), err)
		}
		if !more {
			return n, nil
		}
		n++
		if w, limit, budget := run.Plain(); w != nil {
			more, bytes := appendRows(w, rows[n:], limit, budget)
			run.Took(more, bytes)
			n += more
		}
	}
	return n, nil
}

// appendRows is appendRun for rows.
func appendRows(w *wire.Writer, rows []Row, limit, budget int) (n, bytes int) {
	mem, end := w.Run(budget)
	for i := range rows {
		r := &rows[i]
		size := int(r.Size)
		if !r.usable() || size > limit || len(mem)+size > end || !w.Plain(r.Tag, wire.Status(r.Status)) {
			break
		}
		mem = wire.AppendPlain(mem, r.data())
		n++
		bytes += size
	}
	w.Ran(mem, n)
	return n, bytes
}
