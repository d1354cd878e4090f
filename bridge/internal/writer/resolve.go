// SPDX-License-Identifier: Apache-2.0

package writer

import (
	"bytes"
	"errors"
	"time"

	"tagbus/bridge/durable"
	"tagbus/bridge/record"
)

// maxLooks is how many goroutines ask the log at once.
const maxLooks = 16

// doubt has the log asked for the last record of a chain.
func (w *Writer) doubt(c *chain) {
	w.stats.Looks++
	c.listed = true
	w.doubts = append(w.doubts, c)
	if w.looking < maxLooks && !w.over {
		w.looking++
		w.running.Go(w.look)
	}
}

// look asks for the chains in doubt until there are none.
func (w *Writer) look() {
	for {
		c := w.nextDoubt()
		if c == nil {
			return
		}
		for !w.lookFor(c) {
			select {
			case <-time.After(w.cfg.RetryMax):
			case <-w.stop.Done():
				return
			}
		}
	}
}

// nextDoubt returns a chain in doubt; nil ends a look.
func (w *Writer) nextDoubt() *chain {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.doubts) == 0 || w.over || w.failure != nil {
		w.looking--
		return nil
	}
	c := w.doubts[0]
	w.doubts = w.doubts[1:]
	return c
}

// lookFor asks for the last record of a chain, and goes on behind it. It returns false if the log has to be
// asked again.
func (w *Writer) lookFor(c *chain) bool {
	e, err := w.cfg.Log.Last(w.stop, c.key)
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.over:
		return true
	case errors.Is(err, durable.ErrRefused):
		w.fail(err)
		return true
	case err != nil:
		w.rest(c, err)
		return false
	}
	w.fine(c)
	c.listed = false
	if e.Data == nil { // the retention has dropped all
		c.at = 0
		w.again(c)
		return true
	}
	if bytes.Equal(e.Data, c.flying.bytes()) {
		w.stored(c, e.Position)
		return true
	}
	tail, err := w.parse(e)
	if err != nil {
		w.fail(err)
		return true
	}
	c.at, c.tail = e.Position, tail.How
	w.rebase(c, tail.Next())
	if !w.forgetEnded(c) {
		w.touch(c)
	}
	return true
}

// again appends the record that is on its way once more.
func (w *Writer) again(c *chain) {
	c.listed = true
	w.ready = append(w.ready, c)
	w.work.Signal()
}

// rebase goes on behind a record that another bridge, or this one before it was killed, has appended: what is
// covered is passed over, and what is between is lost.
//
//   - next: the counter behind that record.
func (w *Writer) rebase(c *chain, next uint64) {
	c.done = next
	c.front.seal()
	old := append([]*item{c.flying}, c.front.queue...)
	c.flying, c.front.queue = nil, nil
	w.follow(c, old, next, record.CauseAway)
}

// follow puts what of some records is behind a counter in front, and covers what is between them, and before what comes.
//
//   - cause: why that is missing.
func (w *Writer) follow(c *chain, old []*item, next uint64, cause record.Cause) {
	for _, it := range old {
		if it = w.cut(c, it, next); it == nil {
			continue
		}
		if it.first > next {
			w.cover(c, next, it.first, cause)
		}
		next = it.next
		c.front.queue = append(c.front.queue, it)
	}
	if c.next > next && !c.aside {
		w.cover(c, next, c.next, cause)
	}
	c.next = max(c.next, next)
}

// cover covers counters in front by a Lost record.
func (w *Writer) cover(c *chain, from, next uint64, cause record.Cause) {
	why := []record.Share{{Cause: cause, Count: next - from}}
	w.lost(c, &c.front, &item{first: from, next: next, epoch: w.epoch}, time.Now(), why)
}

// cut returns what of a record is behind a counter; nil: nothing.
func (w *Writer) cut(c *chain, it *item, next uint64) *item {
	switch {
	case it.kind == record.Begin, it.kind == record.End && (it.first < next || it.first == c.done && it.how() == c.tail), it.kind != record.End && it.next <= next:
		if it.kind == record.Messages {
			w.stats.Passed += it.next - it.first
		}
		w.release(it)
		return nil
	case it.first >= next:
		return it
	}
	rest := &item{kind: it.kind, first: next, next: it.next, size: markBytes, seg: it.seg}
	if it.kind == record.Messages {
		w.stats.Passed += next - it.first
		r, err := record.Parse(it.data)
		if err != nil {
			panic(err) // it was made by a Batch
		}
		rest.data = r.From(next)
		rest.size = len(rest.data)
	} else {
		rest.rec = &record.Record{Kind: record.Lost, Peer: c.peer, Tag: c.key.Tag, First: next, Count: it.next - next, Time: it.rec.Time}
		rest.unclear, rest.epoch = it.unclear, it.epoch
		if len(it.rec.Causes) == 1 && it.rec.Causes[0].Count == it.next-it.first { // it is that of each
			rest.rec.Causes = []record.Share{{Cause: it.rec.Causes[0].Cause, Count: it.next - next}}
		}
	}
	w.adopt(c, rest)
	w.release(it)
	return rest
}
