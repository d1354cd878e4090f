// SPDX-License-Identifier: Apache-2.0

package writer

import (
	"math"
	"time"

	"tagbus/bridge/durable"
	"tagbus/bridge/internal/spool"
	"tagbus/bridge/record"
	"tagbus/bus"
	"tagbus/tags"
)

// Page takes messages in the order in which they came, and keeps no reference to them.
func (w *Writer) Page(at time.Time, page []bus.Message) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := 0; i < len(page) && w.refusal == nil; i++ {
		w.message(at, &page[i])
	}
}

func (w *Writer) message(at time.Time, m *bus.Message) {
	c := w.find(m)
	switch {
	case c == nil:
		return
	case c.next == 0:
		w.join(c, m.Counter)
	case m.Counter < c.next:
		w.stats.Passed++
		return
	case m.Counter > c.next:
		w.lose(c, m.Counter, at, nil)
	}
	c.resumed, c.ended, c.seen = false, false, true
	if w.tooLarge(m) {
		w.lose(c, m.Counter+1, at, tooLarge())
		return
	}
	w.gather(c, w.lane(c), nil, at, m)
	c.next = m.Counter + 1
	w.touch(c)
}

// tooLarge returns why a message is missing that the log does not take.
func tooLarge() []record.Share { return []record.Share{{Cause: record.CauseTooLarge, Count: 1}} }

// tooLarge reports whether a message is larger than the log takes, and tells it.
func (w *Writer) tooLarge(m *bus.Message) bool {
	most := w.cfg.Log.MaxRecordBytes()
	if record.Overhead(m.Publisher)+record.MaxMessageBytes+len(m.Data) <= most {
		return false
	}
	w.report(&TooLargeError{Log: w.cfg.Log.Name(), Tag: m.Tag, Counter: m.Counter, Size: len(m.Data), Limit: most})
	return true
}

// gather adds a message to the open batch of a lane.
//
//   - seg: from which it was read; nil: it is new.
func (w *Writer) gather(c *chain, l *lane, seg *spool.Segment, at time.Time, m *bus.Message) {
	need := record.MaxMessageBytes + len(m.Data)
	if o := l.open; o != nil && (o.Bytes()+need > w.cfg.RecordBytes || o.Full() || o.Count() == w.cfg.RecordMessages || l.seg != seg) {
		l.seal()
	}
	before := 0
	if l.open == nil {
		l.open, l.seg = new(record.Batch), seg
		l.open.Begin(w.memory(), at, m)
		w.items++
		if seg != nil {
			seg.Pending++
		}
	} else {
		before = l.open.Bytes()
	}
	l.open.Add(at, m)
	n := l.open.Bytes() - before
	if seg != nil {
		w.drained += n
	}
	if l == &c.back {
		w.behind += n
		w.lade(c)
	}
	w.hold(n)
}

// find returns the chain of a message; nil: it is one too many.
func (w *Writer) find(m *bus.Message) *chain {
	if s := w.recent; s != nil && s.recent != nil && s.recent.peer == m.Publisher && s.recent.key.Tag == m.Tag {
		return s.recent
	}
	c, err := w.chain(durable.Key{Tag: m.Tag, Instance: m.Publisher.Instance})
	if err != nil {
		w.refuse(err)
		return nil
	}
	c.peer = m.Publisher
	w.recent = w.sources[c.key.Instance]
	w.recent.recent = c
	return c
}

// memory returns memory for a batch.
func (w *Writer) memory() (b []byte) {
	if n := len(w.spare); n > 0 {
		b, w.spare = w.spare[n-1], w.spare[:n-1]
	}
	return b
}

// join begins a chain, whose records wait until it is known where it begins.
func (w *Writer) join(c *chain, first uint64) {
	c.joining, c.first, c.next, c.epoch = true, first, first, w.epoch
	w.await(c)
}

// await notes that a chain waits for positions.
func (w *Writer) await(c *chain) {
	if !c.waits {
		c.waits = true
		w.waiting = append(w.waiting, c)
	}
	w.cfg.Ask()
}

// allMarks is behind all marks.
const allMarks = math.MaxUint64

// learn ends the wait of a chain for what became open before a mark. It reports whether it still waits.
//
//   - s: what was learned; nil: nothing, for its publisher has gone.
func (w *Writer) learn(mark uint64, c *chain, s *Standing, at time.Time) (waits bool) {
	waits = c.clear(mark, s)
	if c.joining && c.epoch < mark {
		begin := c.first
		if s != nil {
			begin = min(begin, s.Before+1)
		}
		w.joined(c, begin, s, at)
	}
	if !c.back.empty() {
		w.lade(c)
	}
	w.touch(c)
	return waits || c.joining
}

// joined ends the wait for the begin of a chain.
//
//   - begin: its first counter, at most c.first.
func (w *Writer) joined(c *chain, begin uint64, s *Standing, at time.Time) {
	c.joining = false
	l := w.lane(c)
	l.seal()
	queue, next := l.queue, c.next
	l.queue, c.next = nil, begin
	w.mark(c, record.Begin, 0, at, "")
	if begin < c.first {
		w.lose(c, c.first, at, append([]record.Share{}, c.why(s, begin, c.first)...))
		c.first = begin
	}
	l.queue, c.next = append(l.queue, queue...), next
}

// learnAll ends the wait of all chains: nothing more is learned.
func (w *Writer) learnAll() {
	for _, c := range w.waiting {
		c.waits = false
		w.learn(allMarks, c, nil, time.Now())
	}
	w.waiting = nil
}

// Standing is where a publisher's tag stands, as of TagPositions of a subscriber.
type Standing struct {
	Peer     *bus.Peer
	Tag      tags.Tag
	Before   uint64         // messages that were published before the subscription
	Position uint64         // messages that have come or are known to be lost, with those before
	Losses   []record.Share // those that are known to be lost, by cause
}

// Mark returns what Positions takes for positions that are asked for from now on.
func (w *Writer) Mark() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.epoch++
	return w.epoch
}

// Positions covers what has not come up to the positions of all tags that have one.
func (w *Writer) Positions(mark uint64, all []Standing) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	for i := range all {
		w.position(mark, &all[i], now)
		w.giveWay(i + 1)
	}
	for n := len(w.waiting); n > 0 && len(w.waiting) > 0; n-- {
		c := w.waiting[0]
		w.waiting = w.waiting[1:]
		// What its position has not said is not known: its publisher has gone.
		if c.waits = w.learn(mark, c, nil, now); c.waits {
			w.waiting = append(w.waiting, c)
			w.cfg.Ask()
		}
		w.giveWay(n)
	}
}

func (w *Writer) position(mark uint64, s *Standing, at time.Time) {
	c, err := w.chain(durable.Key{Tag: s.Tag, Instance: s.Peer.Instance})
	if err != nil {
		w.refuse(err)
		return
	}
	if c.peer = s.Peer; c.next == 0 {
		c.joining, c.first, c.next = true, s.Before+1, s.Before+1
	}
	w.learn(mark, c, s, at)
	if s.Position >= c.next && !c.joining && w.refusal == nil {
		w.lose(c, s.Position+1, at, append([]record.Share{}, c.why(s, c.next, s.Position+1)...))
	}
	c.resumed, c.seen = false, true
}

// End ends the chains of a publisher. The positions after its end were told before.
func (w *Writer) End(instance string, how record.How, at time.Time, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s := w.sources[instance]; s != nil && w.refusal == nil {
		w.each(s, new(int), func(c *chain) { w.end(c, how, at, text) })
	}
}

// EndAway ends the chains in the log of which nothing has come in this run.
func (w *Writer) EndAway(at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.endAway(at)
}

func (w *Writer) endAway(at time.Time) {
	if w.awayAt = at; w.spooling || w.refusal != nil {
		return // the spool may have more of them: see rejoin; or what has come of them was not taken
	}
	w.all(func(c *chain) {
		if c.resumed {
			c.resumed = false
			w.end(c, record.Away, at, "")
		}
	})
}

func (w *Writer) end(c *chain, how record.How, at time.Time, text string) {
	w.learn(allMarks, c, nil, at)
	c.ended = true
	w.mark(c, record.End, how, at, text)
}

// hold counts bytes that are held.
func (w *Writer) hold(n int) {
	w.stats.Held += n
	if !w.paused && w.stats.Held >= w.cfg.MaxBytes {
		w.paused = true
		w.stats.Pauses++
		w.cfg.Pause()
	}
	w.wantSpill()
}

// release counts a record that is stored or not wanted.
func (w *Writer) release(it *item) {
	w.items--
	w.stats.Held -= it.size
	if it.seg != nil {
		w.drained -= it.size
		it.seg.Pending--
	}
	if it.seg != nil || w.spooling {
		w.disk.Broadcast() // there is room, or a segment to remove, or no need of the spool
	}
	if it.kind == record.Messages && !it.pinned && cap(it.data) <= 2*w.cfg.RecordBytes && len(w.spare) < w.cfg.MaxFlights {
		w.spare = append(w.spare, it.data[:0])
	}
	if w.paused && w.refusal == nil && w.stats.Held <= w.cfg.MaxBytes/2 {
		w.paused = false
		w.cfg.Resume()
	}
	w.settle()
}
