// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"context"
	"errors"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"
)

// readIndex reads what the index topic has since the last time. With turn.
func (x *index) readIndex(ctx context.Context) error {
	l := x.log
	if l.index.partitions != 1 {
		return nil
	}
	starts, ends, err := l.span(ctx, l.index)
	if err != nil {
		return err
	}
	err = l.scan(ctx, []*cursor{{log: l, topic: l.index, next: max(x.next, starts[0]), end: ends[0]}}, func(r *kgo.Record) error {
		if err := x.take(r); err != nil {
			return refuse("entry %d of topic %s, the index of %s: %v; delete the index, and make it again", r.Offset, l.cfg.Index, l.cfg.Topic, err)
		}
		return nil
	})
	if err == nil {
		x.next = ends[0]
	}
	return err
}

// take takes a record of the index topic.
func (x *index) take(r *kgo.Record) error {
	topic := x.log.topic.id
	switch {
	case len(r.Key) == 1 && r.Key[0] == stateKey:
		st, err := parseState(r.Value)
		if err == nil && st.topic == topic {
			x.last = st
		}
		return err
	case len(r.Key) > 1 && r.Key[0] == placeKey:
		key, ok := parseKey(r.Key[1:])
		if !ok {
			break
		}
		if err := x.log.owns(key.Tag); err != nil {
			return err
		}
		if r.Value == nil {
			x.mu.Lock()
			defer x.mu.Unlock()
			if !x.loaded {
				delete(x.places, key)
			}
			return nil
		}
		of, at, err := parsePlace(r.Value)
		if err != nil {
			return err
		}
		x.mu.Lock()
		defer x.mu.Unlock()
		now, ok := x.places[key]
		switch {
		case of != topic, int(at.partition) >= len(x.acked):
			if len(x.dirty) < x.log.cfg.MaxKeys {
				x.soil(key, at) // it is removed, unless there is another place
			}
		case !ok && len(x.places) >= x.log.cfg.MaxKeys:
			return x.full()
		case !ok, now.partition != at.partition, now.offset < at.offset:
			x.places[key] = at
		}
		return nil
	}
	return errors.New("its key is none of an index")
}

// readTopic reads what the topic has and the index does not. With turn.
func (x *index) readTopic(ctx context.Context) error {
	l := x.log
	starts, ends, err := l.span(ctx, l.topic)
	if err != nil {
		return err
	}
	if !x.loaded {
		if err := x.check(ends); err != nil {
			return err
		}
		x.read = slices.Clone(starts)
		for p := range min(len(x.last.next), len(starts)) {
			x.read[p] = max(x.read[p], x.last.next[p])
		}
		x.drop(starts)
		x.loaded = true
	}
	x.mu.Lock()
	for p := range x.read {
		x.read[p] = max(x.read[p], x.acked[p], starts[p])
	}
	x.mu.Unlock()
	l.places.stretch(ends)
	var cursors []*cursor
	for p := range ends {
		cursors = append(cursors, &cursor{log: l, topic: l.topic, partition: int32(p), next: x.read[p], end: ends[p]})
	}
	return l.scan(ctx, cursors, func(r *kgo.Record) error {
		e, err := l.entry(r)
		if err == nil {
			err = x.room(e.Key)
		}
		if err == nil {
			x.put(r, e.Key)
			x.read[r.Partition] = r.Offset + 1
		}
		return err
	})
}

// check reports whether the topic has all that the index says. It was committed before that was.
//
// Errors: durable.ErrRefused, wrapped.
func (x *index) check(ends []int64) error {
	for p := range min(len(x.last.next), len(ends)) {
		if x.last.next[p] > ends[p] {
			return x.beyond(int32(p), x.last.next[p]-1, ends[p])
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, at := range x.places {
		if at.offset >= ends[at.partition] {
			return x.beyond(at.partition, at.offset, ends[at.partition])
		}
	}
	return nil
}

func (x *index) beyond(partition int32, offset, end int64) error {
	l := x.log
	return refuse("topic %s ends in front of record %d, and its index %s has record %d: the brokers have lost records (unclean.leader.election.enable), or the index is that of another topic; delete the index, and make it again", l.cfg.Topic, l.position(partition, end), l.cfg.Index, l.position(partition, offset))
}

// drop removes places before the first records that there are.
func (x *index) drop(starts []int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for key, at := range x.places {
		if at.offset < starts[at.partition] {
			delete(x.places, key)
			x.soil(key, at)
		}
	}
}

// span returns the first offsets of a topic, and those behind what is committed.
func (l *Log) span(ctx context.Context, t topic) (starts, ends []int64, err error) {
	asking, cancel := l.within(ctx)
	defer cancel()
	if starts, err = l.offsets(asking, t, atStart); err == nil {
		ends, err = l.offsets(asking, t, atEnd)
	}
	return starts, ends, l.blame(ctx, err)
}

// scan calls take for each record up to the ends of cursors.
func (l *Log) scan(ctx context.Context, cursors []*cursor, take func(*kgo.Record) error) error {
	f := &fetcher{log: l, client: l.client, cursors: cursors, committed: true, bytes: spanOf(len(cursors))}
	if l.several != nil {
		f.bytes = spanOf(loads * len(cursors))
	}
	for {
		c, err := f.first(ctx)
		if err != nil || c == nil {
			return err
		}
		if err := take(c.take()); err != nil {
			return err
		}
	}
}
