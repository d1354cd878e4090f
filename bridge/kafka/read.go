// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"

	"tagbus/bridge/durable"
	"tagbus/internal/sanitize"
	"tagbus/tags"
)

// Read implements durable.Log. Records of several partitions come in the order of their times as far as they are
// there, and in that of each partition.
func (l *Log) Read(ctx context.Context, q durable.Query) iter.Seq2[durable.Entry, error] {
	r := &reader{base: l, query: q, reads: &l.reads, topics: func(context.Context) ([]*Log, error) { return []*Log{l}, nil }}
	return r.all(ctx)
}

// part is a partition of a topic.
type part struct {
	topic     string
	partition int32
}

// reads remembers up to where the last Read came in each partition: with several of them the position of its last record says
// so for one.
type reads struct {
	mu   sync.Mutex
	last durable.Position
	next map[part]int64
}

func (r *reads) note(last durable.Position, cursors []*cursor) {
	if last == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last, r.next = last, make(map[part]int64, len(cursors))
	for _, c := range cursors {
		next := c.next
		if len(c.records) > 0 {
			next = c.records[0].Offset
		}
		r.next[part{c.topic.name, c.partition}] = next
	}
}

// behind returns where a Read goes on in a topic behind the last record of the one before; ok is false if that record is another
// one. What that Read has not known begins with its first records.
func (r *reads) behind(last durable.Position, topic string, firsts []int64) (next []int64, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if last != r.last {
		return nil, false
	}
	for p, first := range firsts {
		if at, known := r.next[part{topic, int32(p)}]; known {
			first = at
		}
		next = append(next, first)
	}
	return next, true
}

// mostShown is the most bytes of a key in an error.
const mostShown = 100

// entry returns what a record is for a bridge.
func (l *Log) entry(r *kgo.Record) (durable.Entry, error) {
	key, ok := parseKey(r.Key)
	if !ok {
		return durable.Entry{}, refuse("entry %d of topic %s has the key %q, which no bridge writes: give the bridge a topic of its own", l.position(r.Partition, r.Offset), l.cfg.Topic, sanitize.Cut(string(r.Key), mostShown))
	}
	if err := l.owns(key.Tag); err != nil {
		return durable.Entry{}, refuse("entry %d of topic %s: %v", l.position(r.Partition, r.Offset), l.cfg.Topic, err)
	}
	data := r.Value
	if data == nil {
		data = []byte{}
	}
	return durable.Entry{Key: key, Part: l.part(r.Partition), Position: l.position(r.Partition, r.Offset), Time: r.Timestamp, Data: data}, nil
}

// part returns the name of a partition in a Start.
func (l *Log) part(p int32) string { return fmt.Sprintf("%s/%d", l.topic.name, p) }

// cursors returns where a Query begins and ends in each partition.
func (l *Log) cursors(ctx context.Context, q durable.Query, before *reads) (all []*cursor, err error) {
	if q.End.Before > 0 && l.isSplit() {
		return nil, l.noNumber("end")
	}
	asking, cancel := l.within(ctx)
	defer cancel()
	starts, err := l.offsets(asking, l.topic, atStart)
	if err != nil {
		return nil, l.blame(ctx, err)
	}
	ends, err := l.offsets(asking, l.topic, atEnd)
	if err != nil {
		return nil, l.blame(ctx, err)
	}
	l.places.stretch(ends)
	begins, err := l.begins(asking, q.Start, starts, ends, before)
	if err != nil {
		return nil, l.blame(ctx, err)
	}
	for p := range l.topic.partitions {
		c := &cursor{log: l, topic: l.topic, partition: int32(p), first: starts[p], next: begins[p], end: ends[p]}
		if q.Follow {
			c.end = endless
		}
		all = append(all, c)
	}
	return all, nil
}

// isSplit reports whether the number of a record is a place in a part of the log.
func (l *Log) isSplit() bool { return l.several != nil || l.topic.partitions > 1 }

// noNumber refuses the number of a record as the place to begin or to end.
func (l *Log) noNumber(what string) error {
	if l.several != nil {
		return refuse("%s is a pattern of topics, and a number is a place in one of them: %s at a time", l.several.names.topics.text, what)
	}
	return refuse("topic %s has %d partitions, and a number is a place in one of them: %s at a time", l.cfg.Topic, l.topic.partitions, what)
}

// begins returns the first offset of each partition that a Start is about.
//
// Errors: a *durable.GapError; durable.ErrRefused for a position that is none; those of the brokers.
func (l *Log) begins(ctx context.Context, s durable.Start, starts, ends []int64, before *reads) ([]int64, error) {
	if len(s.Behind) > 0 {
		return l.behind(ctx, s, starts, ends, before)
	}
	switch {
	case s.After > 0:
		p, offset := placeOf(s.After)
		next, ok := before.behind(s.After, l.topic.name, starts)
		switch {
		case l.isSplit() && !ok:
			return nil, l.noNumber("begin")
		case l.isSplit():
			return next, nil
		case int(p) >= l.topic.partitions:
			return nil, refuse("%d is no number of a record in topic %s, which has %d partitions", s.After, l.cfg.Topic, l.topic.partitions)
		case offset+1 < starts[p]:
			return nil, &durable.GapError{Log: l.Name(), Want: s.After + 1, First: l.position(p, starts[p])}
		}
		return []int64{offset + 1}, nil
	case !s.Time.IsZero():
		begins, err := l.offsets(ctx, l.topic, milliseconds(s.Time))
		if err != nil {
			return nil, err
		}
		for p := range begins {
			if begins[p] < 0 { // all that there is was stored before
				begins[p] = ends[p]
			}
		}
		return begins, nil
	}
	return starts, nil
}

// behind is begins for a Start that knows some parts. The numbers in it are those of an earlier run, of which the offsets are the same.
func (l *Log) behind(ctx context.Context, s durable.Start, starts, ends []int64, before *reads) (all []int64, err error) {
	known := make(map[int]int64)
	for p := range starts {
		if at, ok := s.Behind[l.part(int32(p))]; ok {
			_, known[p] = placeOf(at)
		}
	}
	rest := durable.Start{After: s.After, Time: s.Time}
	if len(known) == len(starts) {
		rest = durable.Start{}
	}
	if all, err = l.begins(ctx, rest, starts, ends, before); err != nil {
		return nil, err
	}
	all = slices.Clone(all)
	for p, offset := range known {
		switch {
		case offset+1 < starts[p]:
			return nil, &durable.GapError{Log: l.Name(), Want: l.position(int32(p), offset+1), First: l.position(int32(p), starts[p])}
		case offset >= ends[p]:
			return nil, refuse("topic %s ends at offset %d of partition %d, and what is behind offset %d was asked for: it was deleted and made again, so begin at another record", l.cfg.Topic, ends[p], p, offset)
		}
		all[p] = offset + 1
	}
	return all, nil
}

// gap returns what it means that a partition lacks an offset.
func (l *Log) gap(ctx context.Context, out *outOfRangeError) error {
	asking, cancel := l.within(ctx)
	defer cancel()
	now, err := l.offsets(asking, l.topic, atStart)
	if err != nil {
		return l.blame(ctx, err)
	}
	p := out.cursor.partition
	if out.offset < max(now[p], out.cursor.first) {
		return &durable.GapError{Log: l.Name(), Want: l.position(p, out.offset), First: l.position(p, now[p])}
	}
	return refuse("topic %s has no record %d yet: begin at one that it has", l.cfg.Topic, l.position(p, out.offset))
}

// Last implements durable.Log.
func (l *Log) Last(ctx context.Context, key durable.Key) (durable.Entry, error) {
	if err := l.places.update(ctx); err != nil {
		return durable.Entry{}, err
	}
	at, ok := l.places.get(key)
	if !ok {
		return durable.Entry{Key: key}, nil
	}
	f := &fetcher{log: l, client: l.client, cursors: []*cursor{{log: l, topic: l.topic, end: endless}}, bytes: oneByte}
	e, ok, err := l.at(ctx, f, key, at)
	if err == nil && !ok {
		e = durable.Entry{Key: key}
	}
	return e, err
}

// Tails implements durable.Log.
func (l *Log) Tails(ctx context.Context, set tags.Set) iter.Seq2[durable.Entry, error] {
	return func(yield func(durable.Entry, error) bool) {
		if err := l.places.update(ctx); err != nil {
			yield(durable.Entry{}, err)
			return
		}
		l.tails(ctx, set, yield)
	}
}

// tails yields the last records that the index knows. It returns false after an error, or when yield has.
func (l *Log) tails(ctx context.Context, set tags.Set, yield func(durable.Entry, error) bool) bool {
	f := &fetcher{log: l, client: l.client, cursors: []*cursor{{log: l, topic: l.topic, end: endless}}, bytes: someBytes}
	for _, one := range l.places.of(set) {
		e, ok, err := l.at(ctx, f, one.key, one.place)
		if err != nil {
			yield(e, l.named(err))
			return false
		}
		if ok && !yield(e, nil) {
			return false
		}
	}
	return true
}

// at returns the record at a place. ok is false if the retention has dropped it meanwhile.
//
//   - f: with a cursor, which has what was fetched before: the record may be in it.
func (l *Log) at(ctx context.Context, f *fetcher, key durable.Key, at place) (e durable.Entry, ok bool, err error) {
	if at.data != nil {
		return durable.Entry{Key: key, Position: l.position(at.partition, at.offset), Time: at.time(), Data: append([]byte{}, at.data...)}, true, nil
	}
	c := f.cursors[0]
	for c.partition == at.partition && len(c.records) > 0 && c.records[0].Offset < at.offset {
		c.take()
	}
	if c.partition != at.partition || len(c.records) == 0 || c.records[0].Offset != at.offset {
		c.partition, c.next, c.records = at.partition, at.offset, nil
		err := f.fill(ctx, 0)
		var out *outOfRangeError
		if errors.As(err, &out) {
			l.places.forget(key, at)
			return durable.Entry{}, false, nil
		}
		if err != nil {
			return durable.Entry{}, false, err
		}
	}
	if len(c.records) == 0 {
		return durable.Entry{}, false, errTimeout // a leader that is new does not know yet that it has it
	}
	if c.records[0].Offset != at.offset {
		return durable.Entry{}, false, refuse("topic %s has no record %d, which its index %s names: delete the index, and make it again", l.cfg.Topic, l.position(at.partition, at.offset), l.cfg.Index)
	}
	if e, err = l.entry(c.take()); err == nil && e.Key != key {
		err = refuse("entry %d of topic %s has another key than its index %s says: delete the index, and make it again", e.Position, l.cfg.Topic, l.cfg.Index)
	}
	return e, err == nil, err
}
