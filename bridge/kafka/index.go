// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kgo"

	"tagbus/bridge/durable"
	"tagbus/tags"
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

// room reports whether a key may get a place.
//
// Errors: durable.ErrRefused, wrapped.
func (x *index) room(key durable.Key) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if _, ok := x.places[key]; ok || len(x.places) < x.log.cfg.MaxKeys {
		return nil
	}
	return x.full()
}

func (x *index) full() error {
	return refuse("topic %s has records of more than %d publishers and tags, each of which takes memory: raise MaxKeys, keep less in the topic (retention.ms), or write some of the tags to another one", x.log.cfg.Topic, x.log.cfg.MaxKeys)
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

// other reports whether another bridge writes the topic than those of some sessions.
func (x *index) other(sessions ...[8]byte) bool {
	return x.last.id != "" && !slices.Contains(sessions, x.last.session)
}
