// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"errors"

	"tagbus/bus/internal/wire"
)

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
