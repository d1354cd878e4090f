// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kgo"
	"tagbus/tags"

	"tagbus/bridge/durable"
)

// index knows the last record of each key. It begins with what the index topic has, and goes on with what was
// appended to the topic later.
//
// Threads: any, except what only the holder of turn has.
type index struct {
	log  *Log
	turn chan struct{} // has room for one: its holder brings the index up to date

	begun atomic.Int64 // updates

	// With turn:
	done   int64 // the last update that has succeeded
	loaded bool
	next   int64 // offset of the index topic, behind what was read
	last   state // the last one in the index topic; its id is empty if there is none of this topic
	read   []int64

	mu     sync.Mutex
	acked  []int64 // of each partition: behind what this Log has appended, and has read before that
	places map[durable.Key]place

	// What the index topic lacks: keys of which the places have changed, or which have none any more.
	dirty      map[durable.Key]struct{}
	dirtyBytes int64
	since      int64 // bytes of records since the index topic was up to date
}

func (x *index) begin(l *Log) {
	x.log, x.turn = l, make(chan struct{}, 1)
	x.places, x.dirty = make(map[durable.Key]place), make(map[durable.Key]struct{})
	x.acked = make([]int64, l.topic.partitions)
}

// get returns the place of the last record of a key.
func (x *index) get(key durable.Key) (at place, ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	at, ok = x.places[key]
	return at, ok
}

// entryPlace is a place and its key.
type entryPlace struct {
	key   durable.Key
	place place
}

// of returns the places of the keys with the tags of a set, in the order of the log.
func (x *index) of(set tags.Set) (all []entryPlace) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for key, at := range x.places {
		if set.Contains(key.Tag) {
			all = append(all, entryPlace{key, at})
		}
	}
	slices.SortFunc(all, func(a, b entryPlace) int {
		return cmp.Or(cmp.Compare(a.place.partition, b.place.partition), cmp.Compare(a.place.offset, b.place.offset))
	})
	return all
}

// put notes a record that is the last one of its key now.
func (x *index) put(r *kgo.Record, key durable.Key) {
	at := place{partition: r.Partition, offset: r.Offset, millis: r.Timestamp.UnixMilli()}
	if len(r.Value) <= inlineBytes {
		at.data = append([]byte{}, r.Value...)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if now, ok := x.places[key]; ok && now.partition == at.partition && now.offset >= at.offset {
		return
	}
	x.places[key] = at
	x.soil(key, at)
	x.since += int64(len(r.Value))
}

// soil notes that the index topic lacks what is known of a key.
func (x *index) soil(key durable.Key, at place) {
	if _, ok := x.dirty[key]; !ok {
		x.dirty[key] = struct{}{}
		x.dirtyBytes += at.bytes(key)
	}
}

// forget removes a place whose record the retention has dropped.
func (x *index) forget(key durable.Key, at place) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if now, ok := x.places[key]; ok && now.partition == at.partition && now.offset == at.offset {
		delete(x.places, key)
		x.soil(key, at)
	}
}

// appended notes the end of what this Log has appended to a partition.
func (x *index) appended(partition int32, end int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.acked[partition] = max(x.acked[partition], end)
}

// appendedUpToRead notes that all that was read is in places. With turn.
func (x *index) appendedUpToRead() {
	for p, end := range x.read {
		x.appended(int32(p), end)
	}
}

// stretch makes the ends of partitions have what this Log has appended: brokers show what is committed a little later.
func (x *index) stretch(ends []int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for p := range ends {
		ends[p] = max(ends[p], x.acked[p])
	}
}

// update brings the index up to date: it has then what was there at the time of the call, also of other bridges.
//
//   - Errors: those of the brokers; durable.ErrRefused for what no bridge has written; the cause of the end of ctx.
func (x *index) update(ctx context.Context) error {
	others := x.begun.Load()
	select {
	case x.turn <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-x.log.stop.Done():
		return durable.ErrClosed
	}
	defer func() { <-x.turn }()
	if x.log.stop.Err() != nil {
		return durable.ErrClosed
	}
	if x.done > others { // one that has begun since
		return nil
	}
	this := x.begun.Add(1)
	if err := x.readIndex(ctx); err != nil {
		return err
	}
	if err := x.readTopic(ctx); err != nil {
		return err
	}
	x.done = this
	return nil
}

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
	err = l.scan(ctx, l.index, []*cursor{{next: max(x.next, starts[0]), end: ends[0]}}, func(r *kgo.Record) error {
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
		if of != topic || int(at.partition) >= len(x.acked) {
			x.soil(key, at) // it is removed, unless there is another place
		} else if now, ok := x.places[key]; !ok || now.partition != at.partition || now.offset < at.offset {
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
		cursors = append(cursors, &cursor{partition: int32(p), next: x.read[p], end: ends[p]})
	}
	return l.scan(ctx, l.topic, cursors, func(r *kgo.Record) error {
		e, err := l.entry(r)
		if err == nil {
			x.put(r, e.Key)
			x.read[r.Partition] = r.Offset + 1
		}
		return err
	})
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
func (l *Log) scan(ctx context.Context, t topic, cursors []*cursor, take func(*kgo.Record) error) error {
	f := &fetcher{log: l, client: l.client, topic: t, committed: true, bytes: spanBytes}
	for {
		c, err := f.first(ctx, cursors)
		if err != nil || c == nil {
			return err
		}
		if err := take(c.take()); err != nil {
			return err
		}
	}
}

// other reports whether another bridge writes the topic than those of some sessions.
func (x *index) other(sessions ...[8]byte) bool {
	return x.last.id != "" && !slices.Contains(sessions, x.last.session)
}
