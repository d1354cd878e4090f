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
	"tagbus/tags"

	"tagbus/bridge/durable"
)

// Read implements durable.Log. Records of several partitions come in the order of their times as far as they are
// there, and in that of each partition.
func (l *Log) Read(ctx context.Context, q durable.Query) iter.Seq2[durable.Entry, error] {
	return func(yield func(durable.Entry, error) bool) {
		if err := l.read(ctx, q, yield); err != nil {
			yield(durable.Entry{}, err)
		}
	}
}

// read calls yield until it is false, or until the end.
func (l *Log) read(ctx context.Context, q durable.Query, yield func(durable.Entry, error) bool) error {
	starts, cursors, err := l.cursors(ctx, q)
	if err != nil {
		return err
	}
	client, err := l.newClient() // of its own: brokers answer one request of a connection after the other, and these take long
	if err != nil {
		return err
	}
	defer client.Close()
	f := &fetcher{log: l, client: client, topic: l.topic, committed: true, bytes: spanBytes}
	last := durable.Position(0)
	defer func() { l.reads.note(last, cursors) }()
	for {
		c, err := f.first(ctx, cursors)
		var out *outOfRangeError
		switch {
		case errors.As(err, &out):
			return l.gap(ctx, out, starts)
		case err != nil:
			return err
		case c == nil:
			return nil
		}
		e, err := l.entry(c.take())
		if err != nil {
			return err
		}
		if q.End.Reached(e.Position, e.Time) { // in its partition; others go on
			c.end, c.records = 0, nil
			continue
		}
		if !q.Tags.IsEmpty() && !q.Tags.Contains(e.Key.Tag) {
			continue
		}
		if last = e.Position; !yield(e, nil) {
			return nil
		}
	}
}

// reads remembers up to where the last Read came in each partition: with several of them the position of its last record says
// so for one.
type reads struct {
	mu   sync.Mutex
	last durable.Position
	next []int64
}

func (r *reads) note(last durable.Position, cursors []*cursor) {
	if last == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last, r.next = last, nil
	for _, c := range cursors {
		next := c.next
		if len(c.records) > 0 {
			next = c.records[0].Offset
		}
		r.next = append(r.next, next)
	}
}

// behind returns where a Read goes on behind the last record of the one before; nil if that record is another one.
func (r *reads) behind(last durable.Position) []int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if last != r.last {
		return nil
	}
	return slices.Clone(r.next)
}

// entry returns what a record is for a bridge.
func (l *Log) entry(r *kgo.Record) (durable.Entry, error) {
	key, ok := parseKey(r.Key)
	if !ok {
		return durable.Entry{}, refuse("entry %d of topic %s has the key %q, which no bridge writes: give the bridge a topic of its own", position(r.Partition, r.Offset), l.cfg.Topic, r.Key)
	}
	data := r.Value
	if data == nil {
		data = []byte{}
	}
	return durable.Entry{Key: key, Part: l.part(r.Partition), Position: position(r.Partition, r.Offset), Time: r.Timestamp, Data: data}, nil
}

// part returns the name of a partition in a Start.
func (l *Log) part(p int32) string { return fmt.Sprintf("%s/%d", l.topic.name, p) }

// cursors returns where a Query begins in each partition, and the first offsets that there are.
func (l *Log) cursors(ctx context.Context, q durable.Query) (starts []int64, all []*cursor, err error) {
	if q.End.Before > 0 && l.topic.partitions > 1 {
		return nil, nil, refuse("topic %s has %d partitions, and a number is a place in one of them: end at a time", l.cfg.Topic, l.topic.partitions)
	}
	asking, cancel := l.within(ctx)
	defer cancel()
	if starts, err = l.offsets(asking, l.topic, atStart); err != nil {
		return nil, nil, l.blame(ctx, err)
	}
	ends, err := l.offsets(asking, l.topic, atEnd)
	if err != nil {
		return nil, nil, l.blame(ctx, err)
	}
	l.places.stretch(ends)
	begins, err := l.begins(asking, q.Start, starts, ends)
	if err != nil {
		return nil, nil, l.blame(ctx, err)
	}
	for p := range l.topic.partitions {
		c := &cursor{partition: int32(p), next: begins[p], end: ends[p]}
		if q.Follow {
			c.end = endless
		}
		all = append(all, c)
	}
	return starts, all, nil
}

// begins returns the first offset of each partition that a Start is about.
//
// Errors: a *durable.GapError; durable.ErrRefused for a position that is none; those of the brokers.
func (l *Log) begins(ctx context.Context, s durable.Start, starts, ends []int64) ([]int64, error) {
	if len(s.Behind) > 0 {
		return l.behind(ctx, s, starts, ends)
	}
	switch {
	case s.After > 0:
		p, offset := placeOf(s.After)
		next := l.reads.behind(s.After)
		switch {
		case l.topic.partitions > 1 && next == nil:
			return nil, refuse("topic %s has %d partitions, and a number is a place in one of them: begin at a time", l.cfg.Topic, l.topic.partitions)
		case l.topic.partitions > 1:
			return next, nil
		case int(p) >= l.topic.partitions:
			return nil, refuse("%d is no number of a record in topic %s, which has %d partitions", s.After, l.cfg.Topic, l.topic.partitions)
		case offset+1 < starts[p]:
			return nil, &durable.GapError{Log: l.Name(), Want: s.After + 1, First: position(p, starts[p])}
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

// behind is begins for a Start that knows some parts.
func (l *Log) behind(ctx context.Context, s durable.Start, starts, ends []int64) (all []int64, err error) {
	behind := s.Behind
	s.Behind = nil
	if len(behind) >= l.topic.partitions { // the rest is about none
		s = durable.Start{}
	}
	if all, err = l.begins(ctx, s, starts, ends); err != nil {
		return nil, err
	}
	all = slices.Clone(all)
	for p := range all {
		at, ok := behind[l.part(int32(p))]
		if !ok {
			continue
		}
		switch _, offset := placeOf(at); {
		case offset+1 < starts[p]:
			return nil, &durable.GapError{Log: l.Name(), Want: at + 1, First: position(int32(p), starts[p])}
		case offset >= ends[p]:
			return nil, refuse("topic %s has no record %d yet, and one behind it was asked for: the topic was deleted and made again, so begin at another record", l.cfg.Topic, at)
		default:
			all[p] = offset + 1
		}
	}
	return all, nil
}

// gap returns what it means that a partition lacks an offset.
func (l *Log) gap(ctx context.Context, out *outOfRangeError, starts []int64) error {
	asking, cancel := l.within(ctx)
	defer cancel()
	now, err := l.offsets(asking, l.topic, atStart)
	if err != nil {
		return l.blame(ctx, err)
	}
	p := out.partition
	if out.offset < max(now[p], starts[p]) {
		return &durable.GapError{Log: l.Name(), Want: position(p, out.offset), First: position(p, now[p])}
	}
	return refuse("topic %s has no record %d yet: begin at one that it has", l.cfg.Topic, position(p, out.offset))
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
	f := &fetcher{log: l, client: l.client, topic: l.topic, bytes: oneByte}
	e, ok, err := l.at(ctx, f, &cursor{end: endless}, key, at)
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
		f := &fetcher{log: l, client: l.client, topic: l.topic, bytes: someBytes}
		c := &cursor{end: endless}
		for _, one := range l.places.of(set) {
			e, ok, err := l.at(ctx, f, c, one.key, one.place)
			if err != nil {
				yield(e, err)
				return
			}
			if ok && !yield(e, nil) {
				return
			}
		}
	}
}

// at returns the record at a place. ok is false if the retention has dropped it meanwhile.
//
//   - c: has what was fetched before, in which the record may be.
func (l *Log) at(ctx context.Context, f *fetcher, c *cursor, key durable.Key, at place) (e durable.Entry, ok bool, err error) {
	if at.data != nil {
		return durable.Entry{Key: key, Position: position(at.partition, at.offset), Time: at.time(), Data: append([]byte{}, at.data...)}, true, nil
	}
	for c.partition == at.partition && len(c.records) > 0 && c.records[0].Offset < at.offset {
		c.take()
	}
	if c.partition != at.partition || len(c.records) == 0 || c.records[0].Offset != at.offset {
		c.partition, c.next, c.records = at.partition, at.offset, nil
		err := f.fill(ctx, []*cursor{c}, 0)
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
		return durable.Entry{}, false, refuse("topic %s has no record %d, which its index %s names: delete the index, and make it again", l.cfg.Topic, position(at.partition, at.offset), l.cfg.Index)
	}
	if e, err = l.entry(c.take()); err == nil && e.Key != key {
		err = refuse("entry %d of topic %s has another key than its index %s says: delete the index, and make it again", e.Position, l.cfg.Topic, l.cfg.Index)
	}
	return e, err == nil, err
}
