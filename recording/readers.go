// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"cmp"
	"container/heap"
	"errors"
	"iter"
	"slices"
)

// Readers are files that are read together, as OpenAll returns them.
type Readers []*Reader

// OpenAll opens files. After an error none is open.
//
// Errors: as Open.
func OpenAll(paths ...string) (Readers, error) {
	var all Readers
	for _, path := range paths {
		r, err := Open(path)
		if err != nil {
			_ = all.Close()
			return nil, err
		}
		if len(all) > 0 {
			r.peers = all[0].peers
		}
		all = append(all, r)
	}
	return all, nil
}

// Recordings groups the files by the recording to which they belong, each in the order of
// the parts. The recordings are in the order of their first files.
func (rs Readers) Recordings() []Readers {
	var groups []Readers
	index := make(map[ID]int)
	for _, r := range rs {
		i, ok := index[r.info.ID]
		if !ok {
			i = len(groups)
			index[r.info.ID] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], r)
	}
	for _, g := range groups {
		slices.SortStableFunc(g, func(a, b *Reader) int { return cmp.Compare(a.info.Part, b.info.Part) })
	}
	return groups
}

// Close closes all files.
//
// Errors: those of closing, joined.
func (rs Readers) Close() error {
	var errs []error
	for _, r := range rs {
		errs = append(errs, r.Close())
	}
	return errors.Join(errs...)
}

// Messages is Reader.Messages over all files: in the order of time where the files belong
// to different recordings. The parts of one recording follow each other in the order of
// their numbers, and the order within a part is kept.
func (rs Readers) Messages(q Query) iter.Seq2[Message, error] {
	return func(yield func(Message, error) bool) {
		rs.read(&q, false, func(rec *Record, err error) bool {
			if err != nil {
				return yield(Message{}, err)
			}
			return yield(rec.Message, nil)
		})
	}
}

// Records is Messages with the events, each in its place.
func (rs Readers) Records(q Query) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		rs.read(&q, true, func(rec *Record, err error) bool {
			if err != nil {
				return yield(Record{}, err)
			}
			return yield(*rec, nil)
		})
	}
}

// cursor returns a cursor of one of the files, which has the same pointers to publishers as the others.
func (rs Readers) cursor(r *Reader, q *Query, events bool) *cursor {
	c := newCursor(r, q, events)
	c.peers = rs[0].peers
	return c
}

// read yields the records that q selects, until yield returns false.
func (rs Readers) read(q *Query, events bool, yield func(*Record, error) bool) {
	groups := rs.Recordings()
	if len(groups) == 1 {
		for _, r := range groups[0] {
			c := rs.cursor(r, q, events)
			for {
				ok, err := c.next()
				if !ok {
					break
				}
				if !yield(&c.rec, err) {
					return
				}
			}
		}
		return
	}
	var m merge
	for i, g := range groups {
		l := &part{all: rs, order: i, rest: g}
		if l.step(q, events) {
			m = append(m, l)
		}
	}
	heap.Init(&m)
	for len(m) > 0 {
		l := m[0]
		if l.ready {
			l.ready = false
			if !yield(&l.c.rec, l.err) {
				return
			}
		}
		if !l.step(q, events) {
			heap.Pop(&m)
			continue
		}
		heap.Fix(&m, 0)
	}
}

// part is a recording that is read together with others, part after part.
type part struct {
	all   Readers
	order int // among the recordings
	rest  Readers
	c     *cursor // of the first file of those that are left; nil: before it
	err   error
	ready bool  // the record of c or err is to be yielded
	time  int64 // of that record; before it is read, no later than that of it
}

// step goes on: to the next file, of which it takes the time and reads nothing, or to the
// next record. It returns false at the end.
func (p *part) step(q *Query, events bool) bool {
	for {
		if p.c == nil {
			if len(p.rest) == 0 {
				return false
			}
			p.c = p.all.cursor(p.rest[0], q, events)
			p.rest = p.rest[1:]
			if p.c.skip() {
				p.time = p.c.r.blocks[p.c.block].first
				return true
			}
			p.c = nil
			continue
		}
		ok, err := p.c.next()
		if !ok {
			p.c = nil
			continue
		}
		p.err, p.ready = err, true
		if err == nil {
			p.time = p.c.time
		}
		return true
	}
}

// merge is a heap of recordings: the one whose record is next is the first.
type merge []*part

// Len implements heap.Interface.
func (m merge) Len() int { return len(m) }

// Less implements heap.Interface.
func (m merge) Less(i, j int) bool {
	return m[i].time < m[j].time || m[i].time == m[j].time && m[i].order < m[j].order
}

// Swap implements heap.Interface.
func (m merge) Swap(i, j int) { m[i], m[j] = m[j], m[i] }

// Push implements heap.Interface.
func (m *merge) Push(x any) { *m = append(*m, x.(*part)) }

// Pop implements heap.Interface.
func (m *merge) Pop() any {
	last := len(*m) - 1
	p := (*m)[last]
	*m = (*m)[:last]
	return p
}
