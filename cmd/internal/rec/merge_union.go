// SPDX-License-Identifier: Apache-2.0

package rec

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"tagbus/cmd/internal/units"
	"tagbus/recording"
	"tagbus/tags"
)

// held is a message that waits, with memory of its own.
type held struct{ recording.Message }

// union is the second pass over several recordings: it writes what they have together, in
// the order of time. The messages of each tag are in the order of their counters, so one
// that a recording has only later holds those behind it back. What all recordings lack is a
// Gap again, of a cause that one of them names.
type union struct {
	*merger
	all      map[infoKey]*series
	presence *presences
	waiting  int // bytes of messages
}

// union merges several recordings.
func (m *merger) union(ctx context.Context) error {
	p := &plan{all: make(map[infoKey]*series)}
	ends := make([]ending, len(m.groups))
	for i, g := range m.groups {
		before := m.damage.blocks
		failed, err := p.read(ctx, g, m.damage)
		if err != nil {
			return err
		}
		ends[i] = endingOf(g, failed, m.damage.blocks-before)
	}
	m.why = uncovered(ends)
	u := &union{merger: m, all: p.all, presence: newPresences()}
	for _, s := range u.all {
		s.done = s.start
		s.joinSkipped()
	}
	if err := u.write(ctx); err != nil {
		return err
	}
	if err := u.tails(); err != nil {
		return err
	}
	return m.end()
}

// source is one recording that is read.
type source struct {
	index int
	next  func() (recording.Record, error, bool)
	rec   recording.Record
	time  time.Time
}

// write writes the records of all recordings, the earliest first.
func (u *union) write(ctx context.Context) error {
	var sources []*source
	for i, g := range u.groups {
		next, stop := iter.Pull2(g.Records(recording.Query{}))
		defer stop()
		if s := (&source{index: i, next: next}); s.step() {
			sources = append(sources, s)
		}
	}
	for n := 0; len(sources) > 0; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		// One after the other: they are as few as the recorders of a bus.
		s := slices.MinFunc(sources, func(a, b *source) int { return cmp.Or(a.time.Compare(b.time), cmp.Compare(a.index, b.index)) })
		if err := u.record(s); err != nil {
			return err
		}
		if !s.step() {
			sources = slices.DeleteFunc(sources, func(o *source) bool { return o == s })
		}
	}
	if ctx.Err() != nil { // it may have ended them early
		return context.Cause(ctx)
	}
	return nil
}

// step takes the next record that can be read. The first pass has named the others.
func (s *source) step() bool {
	for {
		rec, err, ok := s.next()
		if !ok {
			return false
		}
		if err != nil {
			continue
		}
		s.rec, s.time = rec, rec.Time
		if rec.Event != nil {
			s.time = rec.Event.Time
		}
		return true
	}
}

// record takes a record of a recording.
func (u *union) record(from *source) error {
	r := from.rec
	if e := r.Event; e != nil {
		if e.Kind == recording.Gap || e.Kind == recording.Position || !u.presence.changes(from.index, e) {
			return nil
		}
		return u.out.append(r)
	}
	s := u.all[keyOf(r)]
	next, ok := s.have.next(s.done)
	_, waits := s.waiting[r.Counter]
	switch {
	case !ok, r.Counter < next, waits:
		u.duplicates++
		return nil
	case r.Counter > next:
		return u.hold(s, r.Message)
	}
	if err := u.put(s, r.Message); err != nil {
		return err
	}
	for len(s.waiting) > 0 {
		next, _ := s.have.next(s.done)
		w, ok := s.waiting[next]
		if !ok {
			break
		}
		delete(s.waiting, next)
		u.waiting -= len(w.Data) + heldBytes
		if err := u.put(s, w.Message); err != nil {
			return err
		}
	}
	return nil
}

// heldBytes is what a message that waits takes beyond its data.
const heldBytes = 256

// hold keeps a message until those in front of it were written.
func (u *union) hold(s *series, m recording.Message) error {
	if u.waiting += len(m.Data) + heldBytes; u.waiting > u.most {
		return fmt.Errorf("tag %v: messages behind %d wait for one of another recording, and take more than --buffer %v: the clocks of the recorders differ, or their holes are long; raise --buffer",
			m.Tag, s.done, units.Bytes(u.most))
	}
	m.Data = bytes.Clone(m.Data)
	if s.waiting == nil {
		s.waiting = make(map[uint64]held)
	}
	s.waiting[m.Counter] = held{m}
	return nil
}

// put writes the next message of a series, and in front of it what is missing.
func (u *union) put(s *series, m recording.Message) error {
	if err := u.begin(s, m.Time, m.Tag); err != nil {
		return err
	}
	if err := u.hole(s, m.Time, m.Tag, m.Counter-1); err != nil {
		return err
	}
	s.done = m.Counter
	return u.out.append(recording.Record{Message: m})
}

// begin writes where a series begins, if a recording has said so.
func (u *union) begin(s *series, at time.Time, tag tags.Tag) error {
	if !s.position {
		return nil
	}
	s.position = false
	return u.out.event(&recording.Event{Kind: recording.Position, Time: at, Peer: s.peer, Tag: tag, Count: s.start})
}

// hole writes what is missing up to a counter: nothing, a gap, or what a recording says not
// to be part of it.
func (u *union) hole(s *series, at time.Time, tag tags.Tag, last uint64) error {
	for s.done < last {
		next := countersOf{last + 1, last + 1} // behind the hole
		for len(s.skipped) > 0 && s.skipped[0].last <= s.done {
			s.skipped = s.skipped[1:]
		}
		if len(s.skipped) > 0 && s.skipped[0].first < next.first {
			next = s.skipped[0]
		}
		if err := u.gap(s, at, tag, max(next.first, s.done+1)-s.done-1); err != nil {
			return err
		}
		if next.first > last {
			break
		}
		s.done = min(next.last, last)
		e := &recording.Event{Kind: recording.Position, Time: at, Peer: s.peer, Tag: tag, Count: s.done}
		if err := u.out.event(e); err != nil {
			return err
		}
	}
	return nil
}

// gap writes that n messages are missing, as far as recordings name a cause.
func (u *union) gap(s *series, at time.Time, tag tags.Tag, n uint64) error {
	if s.gaps == nil {
		return nil
	}
	for _, c := range causeOrder {
		k := min(n, s.gaps[c])
		if k == 0 {
			continue
		}
		s.gaps[c] -= k
		n -= k
		e := &recording.Event{Kind: recording.Gap, Time: at, Peer: s.peer, Tag: tag, Count: k, Cause: c}
		if c == recording.CauseOther {
			e.Text = s.text
		}
		if err := u.out.event(e); err != nil {
			return err
		}
	}
	return nil
}

// tails writes what is missing behind the last messages.
func (u *union) tails() error {
	at := u.out.last
	for _, key := range sortedKeys(u.all) {
		s := u.all[key]
		if err := u.begin(s, at, key.tag); err != nil {
			return err
		}
		if s.end > s.done {
			if err := u.gap(s, at, key.tag, s.end-s.done); err != nil {
				return err
			}
		}
	}
	return nil
}
