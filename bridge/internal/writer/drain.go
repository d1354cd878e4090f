// SPDX-License-Identifier: Apache-2.0

package writer

import (
	"time"

	"tagbus/bridge/durable"
	"tagbus/bridge/internal/spool"
	"tagbus/bridge/record"
)

// drain reads the spool until the end.
func (w *Writer) drain() {
	for seg := w.nextSegment(); seg != nil; seg = w.nextSegment() {
		w.readSegment(seg)
	}
}

// ends reports whether the spool is to be left as it is.
func (w *Writer) ends() bool { return w.closing || w.dead || w.failure != nil }

// room reports whether more of the spool may be in memory.
func (w *Writer) room() bool { return w.drained < w.cfg.MaxBytes/aheadPart }

// nextSegment waits for a segment to be read, and removes those of which the log has all; nil at the end.
func (w *Writer) nextSegment() *spool.Segment {
	w.mu.Lock()
	defer w.mu.Unlock()
	for !w.ends() {
		switch {
		case w.removeRead():
		case w.spooling && w.room() && !w.cfg.Spool.Empty():
			w.watch(&w.reading)
			w.mu.Unlock()
			seg := w.cfg.Spool.Next()
			w.mu.Lock()
			w.reading = time.Time{}
			if seg != nil {
				w.read = append(w.read, seg)
				return seg
			}
		case w.spooling && w.onWay == nil && w.cfg.Spool.Empty() && (!w.crowded() || w.spoolIsBusy()):
			w.rejoin()
		default:
			w.disk.Wait()
		}
	}
	for w.removeRead() {
	}
	return nil
}

// removeRead removes a segment of which the log has all, and reports whether there was one.
func (w *Writer) removeRead() bool {
	for i, seg := range w.read {
		if !seg.Read || seg.Pending > 0 || w.dead {
			continue
		}
		w.read = append(w.read[:i:i], w.read[i+1:]...)
		w.watch(&w.reading)
		w.mu.Unlock()
		err := w.cfg.Spool.Remove(seg)
		w.mu.Lock()
		w.reading = time.Time{}
		if err != nil {
			w.report(err) // the next bridge reads it again, and finds all in the log
		}
		return true
	}
	return false
}

// readSegment reads a segment, as there is room.
func (w *Writer) readSegment(seg *spool.Segment) {
	w.mu.Lock()
	defer w.mu.Unlock()
	chains := make(map[*chain]bool)
	w.watch(&w.reading)
	w.mu.Unlock()
	for r, err := range w.cfg.Spool.Read(seg) {
		w.mu.Lock()
		w.reading = time.Time{}
		for !w.room() && !w.ends() {
			w.disk.Wait()
		}
		if w.ends() {
			w.mu.Unlock()
			break
		}
		if err != nil {
			w.damage = true
			w.report(err)
		} else if c := w.takeBack(seg, r); c != nil {
			chains[c] = true
		}
		w.watch(&w.reading)
		w.mu.Unlock()
	}
	w.mu.Lock()
	w.reading = time.Time{}
	if w.ends() {
		return
	}
	w.flush(chains)
	seg.Read = true
}

// flush ends the open batches of chains that were read: their records are of one segment.
func (w *Writer) flush(chains map[*chain]bool) {
	n := 0
	for c := range chains {
		c.front.seal()
		w.touch(c)
		n++
		w.giveWay(n)
	}
}

// upTo returns the counter behind all that is in front, on its way and stored; 0: not known.
func (c *chain) upTo() uint64 {
	f := &c.front
	switch {
	case f.open != nil:
		return f.open.Next()
	case len(f.queue) > 0:
		return f.queue[len(f.queue)-1].next
	case c.flying != nil:
		return c.flying.next
	}
	return c.done
}

// endsAs reports whether the last record in front, on its way or stored is an End.
func (c *chain) endsAs(how record.How) bool {
	f := &c.front
	switch {
	case f.open != nil:
		return false
	case len(f.queue) > 0:
		return f.queue[len(f.queue)-1].how() == how
	case c.flying != nil:
		return c.flying.how() == how
	}
	return c.tail == how
}

// claim keeps a segment, of which a record was read that waits in front already, until that is stored.
func (w *Writer) claim(c *chain, seg *spool.Segment, r *spool.Record) {
	for _, it := range append([]*item{c.flying}, c.front.queue...) {
		if it == nil || it.seg != nil || it.kind != r.Kind || r.First < it.first || r.First > it.first && r.First >= it.next {
			continue
		}
		it.seg = seg
		seg.Pending++
		w.drained += it.size
	}
}

// cause returns why counters are missing between the log, the spool and what comes.
func (w *Writer) cause() record.Cause {
	if w.damage {
		return record.CauseSpool
	}
	return record.CauseAway
}

// takeBack puts what was read in front, unless the log has it. It returns nil if its chain is one too many: it stays in the
// spool, with all that comes behind it.
func (w *Writer) takeBack(seg *spool.Segment, r *spool.Record) *chain {
	c, err := w.chain(durable.Key{Tag: r.Tag, Instance: r.Peer.Instance})
	if err != nil {
		w.fail(err)
		return nil
	}
	if c.peer == nil {
		c.peer, c.resumed = r.Peer, true
	}
	w.lane(c) // what waits in front comes behind what is read
	next := c.upTo()
	switch {
	case next == 0:
		next = r.First
		w.beginWith(c, next, r.Time, seg)
	case r.First > next && r.Kind == record.Messages: // no place was named
		w.cover(c, next, r.First, record.CauseSpool)
	case r.First > next:
		w.cover(c, next, r.First, w.cause())
	}
	if r.First < next || r.Kind == record.End {
		w.claim(c, seg, r)
	}
	next = max(next, r.First)
	switch r.Kind {
	case record.Messages:
		w.takeMessage(c, seg, r, next)
	case record.Lost:
		w.takeLost(c, seg, r, next)
	case record.End:
		w.takeEnd(c, seg, r, next)
	default:
	}
	w.touch(c)
	return c
}

// beginWith begins a chain in front.
func (w *Writer) beginWith(c *chain, first uint64, at time.Time, seg *spool.Segment) {
	begin := &record.Record{Kind: record.Begin, Peer: c.peer, Tag: c.key.Tag, First: first, Time: at}
	w.push(c, &c.front, &item{kind: record.Begin, first: first, next: first, rec: begin, size: markBytes, seg: seg})
}

func (w *Writer) takeMessage(c *chain, seg *spool.Segment, r *spool.Record, next uint64) {
	if r.First < next {
		if r.First < c.done { // else it is a copy of what waits in front
			w.stats.Passed++
		}
		return
	}
	if !c.seen {
		c.ended, c.resumed = false, true
	}
	if w.tooLarge(&r.Message.Message) {
		w.lost(c, &c.front, &item{first: next, next: next + 1, seg: seg, epoch: w.epoch}, r.Time, tooLarge())
		return
	}
	w.gather(c, &c.front, seg, r.Message.Time, &r.Message.Message)
}

func (w *Writer) takeLost(c *chain, seg *spool.Segment, r *spool.Record, next uint64) {
	if r.Next() <= next {
		return
	}
	why := r.Causes
	if len(why) == 1 {
		why = []record.Share{{Cause: why[0].Cause, Count: r.Next() - next}}
	}
	w.lost(c, &c.front, &item{first: next, next: r.Next(), seg: seg, epoch: w.epoch}, r.Time, why)
}

func (w *Writer) takeEnd(c *chain, seg *spool.Segment, r *spool.Record, next uint64) {
	if r.First < next || c.endsAs(r.How) {
		return
	}
	end := &record.Record{Kind: record.End, Peer: r.Peer, Tag: r.Tag, First: r.First, Time: r.Time, How: r.How, Text: r.Text}
	it := &item{kind: record.End, first: r.First, next: r.First, rec: end, size: markBytes, seg: seg}
	w.push(c, &c.front, it)
	if !c.seen && it.terminal() {
		c.ended, c.resumed = true, false
	}
}

// rejoin goes on without the spool, which is empty: what waits in back comes behind what is in front.
func (w *Writer) rejoin() {
	now := time.Now()
	w.rejoining, w.laden = true, nil
	w.all(func(c *chain) {
		c.laden = false
		if c.joining && c.upTo() > 0 {
			w.learn(allMarks, c, nil, now) // it began in what the spool had
		}
		if c.aside {
			w.rejoinChain(c)
		}
	})
	w.spooling, w.rejoining, w.behind = false, false, 0
	w.disk.Broadcast()
	w.damage, w.full = false, false
	if !w.awayAt.IsZero() {
		w.endAway(w.awayAt)
	}
	w.settle()
}

func (w *Writer) rejoinChain(c *chain) {
	back := c.back
	back.seal()
	c.back, c.aside = lane{}, false
	next := c.upTo()
	if next == 0 && !c.joining && c.next > 0 && (len(back.queue) == 0 || back.queue[0].kind != record.Begin) {
		next = c.first // its begin has gone with the spool
		w.beginWith(c, next, time.Now(), nil)
	}
	if next == 0 {
		c.front.queue = append(c.front.queue, back.queue...)
		w.touch(c)
		return
	}
	c.front.seal()
	w.follow(c, back.queue, next, w.cause())
	if !w.forgetEnded(c) {
		w.touch(c)
	}
}
