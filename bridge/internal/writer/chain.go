// SPDX-License-Identifier: Apache-2.0

package writer

import (
	"time"

	"tagbus/bus"

	"tagbus/bridge/durable"
	"tagbus/bridge/record"
)

// markBytes is what a record without messages counts for the bytes that are held.
const markBytes = 256

// chain is what the writer knows of one publisher and tag.
type chain struct {
	key  durable.Key
	peer *bus.Peer
	at   durable.Position // of the last record in the log; 0: none
	next uint64           // behind all that is stored and waits; 0: not known

	joining bool   // where the chain begins is not known: its records wait
	first   uint64 // of a chain that joins: the first counter that came
	epoch   uint64 // of Mark when it began to join
	waits   bool   // it is in Writer.waiting
	resumed bool   // it is in the log, and nothing has come of it in this run
	ended   bool   // its last record is an End, which is stored or waits

	queue  []*item       // records that wait, the oldest first
	open   *record.Batch // behind them; nil: none
	flying *item         // on its way, or in doubt; nil: none
	listed bool          // in Writer.ready, or in Writer.doubts

	told []record.Share // the causes of this run that stand in Lost records
}

// item is a record that is not stored.
type item struct {
	kind        record.Kind
	first, next uint64
	data        []byte         // as it is appended; nil: rec is to be encoded
	rec         *record.Record // Begin, Lost, End
	size        int            // for the bytes that are held
	unclear     bool           // Lost: why is learned from positions that are asked for later
	epoch       uint64         // of Mark when it became unclear
}

// bytes returns the record as it is appended.
func (it *item) bytes() []byte {
	if it.data == nil {
		it.data = record.Append(nil, it.rec)
	}
	return it.data
}

// terminal reports whether the record ends a chain for good.
func (it *item) terminal() bool { return it.kind == record.End && it.rec.How != record.Stopped }

// empty reports whether nothing waits and nothing is on its way.
func (c *chain) empty() bool { return len(c.queue) == 0 && c.open == nil && c.flying == nil }

// messages returns how many messages are not stored.
func (c *chain) messages() (n uint64) {
	count := func(it *item) {
		if it.kind == record.Messages {
			n += it.next - it.first
		}
	}
	for _, it := range c.queue {
		count(it)
	}
	if c.flying != nil {
		count(c.flying)
	}
	if c.open != nil {
		n += uint64(c.open.Count())
	}
	return n
}

// touch lets the chain be sent if something waits and nothing is on its way.
func (w *Writer) touch(c *chain) {
	if c.listed || c.joining || c.flying != nil || len(c.queue) == 0 && c.open == nil || len(c.queue) > 0 && c.queue[0].unclear {
		return
	}
	c.listed = true
	w.ready = append(w.ready, c)
	w.work.Signal()
}

// push adds a record behind all others.
func (w *Writer) push(c *chain, it *item) {
	w.seal(c)
	c.queue = append(c.queue, it)
	w.items++
	w.hold(it.size)
	w.touch(c)
}

// seal ends the open batch, if there is one.
func (w *Writer) seal(c *chain) {
	if c.open == nil {
		return
	}
	it := &item{kind: record.Messages, next: c.open.Next(), first: c.open.Next() - uint64(c.open.Count()), size: c.open.Bytes()}
	it.data = c.open.Seal()
	c.open = nil
	c.queue = append(c.queue, it)
}

// lose covers the counters before next by a Lost record.
//
//   - why: nil: the next positions say it.
func (w *Writer) lose(c *chain, next uint64, at time.Time, why []record.Share) {
	n := next - c.next
	c.ended = false
	it := c.lastLost()
	if it == nil || it.next != c.next || it.unclear != (why == nil) || it.epoch != w.epoch {
		r := &record.Record{Kind: record.Lost, Peer: c.peer, Tag: c.key.Tag, First: c.next, Time: at}
		it = &item{kind: record.Lost, first: c.next, rec: r, size: markBytes, unclear: why == nil, epoch: w.epoch}
		w.push(c, it)
	}
	it.rec.Count += n
	it.rec.Causes = merge(it.rec.Causes, why)
	it.next, c.next = next, next
	if it.unclear {
		w.await(c)
	}
}

// lastLost returns the Lost record behind which nothing waits, if it is not yet encoded.
func (c *chain) lastLost() *item {
	if n := len(c.queue); n > 0 && c.open == nil && c.queue[n-1].kind == record.Lost && c.queue[n-1].data == nil {
		return c.queue[n-1]
	}
	return nil
}

// clear says why the counters of the Lost records are missing that were unclear before a mark. It reports whether
// some still are.
//
//   - s: nil: it is not known.
func (c *chain) clear(mark uint64, s *Standing) (left bool) {
	for _, it := range c.queue {
		switch {
		case !it.unclear:
		case it.epoch < mark:
			it.unclear = false
			it.rec.Causes = c.why(s, it.first, it.next)
		default:
			left = true
		}
	}
	return left
}

// why returns the causes of counters: no bridge ran, or what the subscriber has counted and is in no other record.
func (c *chain) why(s *Standing, first, next uint64) (causes []record.Share) {
	if s == nil {
		return nil
	}
	if missed := min(next, s.Before+1); missed > first {
		causes = []record.Share{{Cause: record.CauseAway, Count: missed - first}}
		first = missed
	}
	left := next - first
	for _, all := range s.Losses {
		n := min(left, all.Count-min(all.Count, count(c.told, all.Cause)))
		if n == 0 {
			continue
		}
		left -= n
		some := []record.Share{{Cause: all.Cause, Count: n}}
		c.told = merge(c.told, some)
		causes = merge(causes, some)
	}
	return causes
}

// count returns how many counters have a cause.
func count(all []record.Share, cause record.Cause) uint64 {
	for _, s := range all {
		if s.Cause == cause {
			return s.Count
		}
	}
	return 0
}

// merge adds shares to others.
func merge(all, more []record.Share) []record.Share {
next:
	for _, s := range more {
		for i := range all {
			if all[i].Cause == s.Cause {
				all[i].Count += s.Count
				continue next
			}
		}
		all = append(all, s)
	}
	return all
}

// mark adds a record that covers nothing.
func (w *Writer) mark(c *chain, kind record.Kind, how record.How, at time.Time, text string) {
	r := &record.Record{Kind: kind, Peer: c.peer, Tag: c.key.Tag, First: c.next, Time: at, How: how, Text: text}
	w.push(c, &item{kind: kind, first: c.next, next: c.next, rec: r, size: markBytes})
}
