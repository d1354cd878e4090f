// SPDX-License-Identifier: Apache-2.0

package writer

import (
	"time"

	"tagbus/bridge/durable"
	"tagbus/bridge/internal/spool"
	"tagbus/bridge/record"
	"tagbus/bus"
)

// markBytes is what a record without messages counts for the bytes that are held.
const markBytes = 256

// chain is what the writer knows of one publisher and tag.
type chain struct {
	key  durable.Key
	peer *bus.Peer
	at   durable.Position // of the last record in the log; 0: none
	next uint64           // behind all that is stored and waits; 0: not known
	done uint64           // behind what is stored; 0: not known
	tail record.How       // of the last record in the log, if it is an End

	joining bool   // where the chain begins is not known: its records wait
	first   uint64 // of a chain that joins: the first counter that came; then that with which it begins
	epoch   uint64 // of Mark when it began to join
	waits   bool   // it is in Writer.waiting
	resumed bool   // it is in the log or the spool, and nothing has come of it in this run
	seen    bool   // the subscriber has told something of it in this run
	ended   bool   // its last record is an End, which is stored or waits

	front  lane  // records that wait to be sent
	back   lane  // behind them, and behind what is in the spool
	flying *item // on its way, or in doubt; nil: none
	listed bool  // in Writer.ready, or in Writer.doubts
	aside  bool  // what comes waits in back
	laden  bool  // in Writer.laden
	away   bool  // the last append or look of it has failed

	told []record.Share // the causes of this run that stand in Lost records
}

// lane is a sequence of records that wait.
type lane struct {
	queue []*item        // the oldest first
	open  *record.Batch  // behind them; nil: none
	seg   *spool.Segment // from which the messages of open are; nil: they are new
}

// empty reports whether nothing waits.
func (l *lane) empty() bool { return len(l.queue) == 0 && l.open == nil }

// item is a record that is not stored.
type item struct {
	kind        record.Kind
	first, next uint64
	data        []byte         // as it is appended; nil: rec is to be encoded
	rec         *record.Record // Begin, Lost, End
	size        int            // for the bytes that are held
	unclear     bool           // Lost: why is learned from positions that are asked for later
	epoch       uint64         // of Mark when it became unclear
	seg         *spool.Segment // from which it was read; nil: it is new
	saved       bool           // the spool has it, too
	pinned      bool           // a write that does not return may read its data
}

// bytes returns the record as it is appended.
func (it *item) bytes() []byte {
	if it.data == nil {
		it.data = record.Append(nil, it.rec)
	}
	return it.data
}

// how returns how the chain ends with the record; 0: it does not.
func (it *item) how() record.How {
	if it.kind == record.End {
		return it.rec.How
	}
	return 0
}

// terminal reports whether the record ends a chain for good.
func (it *item) terminal() bool { return it.kind == record.End && it.rec.How != record.Stopped }

// empty reports whether nothing waits and nothing is on its way.
func (c *chain) empty() bool { return c.front.empty() && c.back.empty() && c.flying == nil }

// messages returns how many messages are neither stored nor in the spool.
func (c *chain) messages() (n uint64) {
	count := func(it *item) {
		if it.kind == record.Messages && it.seg == nil && !it.saved {
			n += it.next - it.first
		}
	}
	for _, l := range []*lane{&c.front, &c.back} {
		for _, it := range l.queue {
			count(it)
		}
		if l.open != nil && l.seg == nil {
			n += uint64(l.open.Count())
		}
	}
	if c.flying != nil {
		count(c.flying)
	}
	return n
}

// touch lets the chain be sent if something waits that may be, and nothing is on its way.
func (w *Writer) touch(c *chain) {
	if c.listed || c.flying != nil || !c.sendable() {
		return
	}
	c.listed = true
	w.ready = append(w.ready, c)
	w.work.Signal()
}

// sendable reports whether what waits in front is known: where the chain begins, and why counters are missing.
func (c *chain) sendable() bool {
	f := &c.front
	return !f.empty() && (!c.joining || c.aside) && (len(f.queue) == 0 || !f.queue[0].unclear)
}

// lane returns where what comes is to wait.
func (w *Writer) lane(c *chain) *lane {
	if w.spooling && !w.rejoining && !c.aside {
		w.setAside(c)
	}
	if c.aside {
		return &c.back
	}
	return &c.front
}

// push adds a record behind all others of a lane.
func (w *Writer) push(c *chain, l *lane, it *item) {
	l.seal()
	l.queue = append(l.queue, it)
	if l == &c.back {
		w.behind += it.size
	}
	w.adopt(c, it)
	w.touch(c)
}

// adopt counts a record that waits.
func (w *Writer) adopt(c *chain, it *item) {
	w.items++
	if it.seg != nil {
		it.seg.Pending++
		w.drained += it.size
	} else {
		w.lade(c)
	}
	w.hold(it.size)
}

// seal ends the open batch, if there is one.
func (l *lane) seal() {
	if l.open == nil {
		return
	}
	o := l.open
	it := &item{kind: record.Messages, next: o.Next(), first: o.Next() - uint64(o.Count()), size: o.Bytes(), seg: l.seg}
	it.data = o.Seal()
	l.open, l.seg = nil, nil
	l.queue = append(l.queue, it)
}

// lose covers the counters before next by a Lost record.
//
//   - why: nil: the next positions say it.
func (w *Writer) lose(c *chain, next uint64, at time.Time, why []record.Share) {
	c.ended = false
	it := w.lost(c, w.lane(c), &item{first: c.next, next: next, unclear: why == nil, epoch: w.epoch}, at, why)
	if c.next = next; it.unclear {
		w.await(c)
	}
}

// lost adds counters to the Lost record behind which nothing waits in a lane, or adds one.
func (w *Writer) lost(c *chain, l *lane, more *item, at time.Time, why []record.Share) *item {
	n := more.next - more.first
	it := l.lastLost()
	if it == nil || it.next != more.first || it.unclear != more.unclear || it.epoch != more.epoch || it.seg != more.seg {
		it = more
		it.kind, it.size = record.Lost, markBytes
		it.rec = &record.Record{Kind: record.Lost, Peer: c.peer, Tag: c.key.Tag, First: it.first, Time: at}
		w.push(c, l, it)
	}
	it.rec.Count += n
	it.rec.Causes = merge(it.rec.Causes, why)
	it.next = more.next
	return it
}

// lastLost returns the Lost record behind which nothing waits, if it is not yet encoded.
func (l *lane) lastLost() *item {
	if n := len(l.queue); n > 0 && l.open == nil && l.queue[n-1].kind == record.Lost && l.queue[n-1].data == nil {
		return l.queue[n-1]
	}
	return nil
}

// clear says why the counters of the Lost records are missing that were unclear before a mark. It reports whether
// some still are.
//
//   - s: nil: it is not known.
func (c *chain) clear(mark uint64, s *Standing) (left bool) {
	for _, l := range []*lane{&c.front, &c.back} {
		for _, it := range l.queue {
			switch {
			case !it.unclear:
			case it.epoch < mark:
				it.unclear = false
				it.rec.Causes = c.why(s, it.first, it.next)
			default:
				left = true
			}
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
	w.push(c, w.lane(c), &item{kind: kind, first: c.next, next: c.next, rec: r, size: markBytes})
}
