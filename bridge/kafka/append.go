// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"context"

	"github.com/twmb/franz-go/pkg/kgo"

	"tagbus/bridge/durable"
)

// Limits of a transaction. What is more waits for the next one.
const (
	maxRecords = 4096
	maxBytes   = 64 << 20
)

// Append implements durable.Log. Records that come while a transaction is on its way share the next one.
func (l *Log) Append(a durable.Append) {
	if err := l.enqueue(a); err != nil {
		a.Done(0, err)
		return
	}
	select {
	case l.work <- struct{}{}:
	default: // it is awake
	}
}

func (l *Log) enqueue(a durable.Append) error {
	if len(a.Data) > l.limit {
		return refuse("a record of %d bytes, and topic %s takes %d at most: raise its max.message.bytes", len(a.Data), l.cfg.Topic, l.limit)
	}
	if n := len(a.Key.Instance); n == 0 || n > maxInstanceBytes {
		return refuse("a publisher whose instance has %d bytes, want 1 to %d", n, maxInstanceBytes)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.over:
		return durable.ErrClosed
	case l.refused != nil:
		return l.refused
	}
	l.queue = append(l.queue, a)
	return nil
}

// write appends what is queued, until the end.
func (l *Log) write() {
	defer l.writer.end()
	for {
		batch := l.dequeue()
		if len(batch) > 0 {
			l.store(batch)
			continue
		}
		select {
		case <-l.work:
		case <-l.stop.Done():
			l.fail(l.drain(), durable.ErrClosed)
			return
		}
	}
}

// dequeue takes what the next transaction may have: one record of a key at most, for the second one names the place of
// the first.
func (l *Log) dequeue() (batch []durable.Append) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return nil
	}
	keys := make(map[durable.Key]struct{}, min(len(l.queue), maxRecords))
	var later []durable.Append
	size := 0
	for i, a := range l.queue {
		_, twice := keys[a.Key]
		if len(batch) == maxRecords || len(batch) > 0 && size+len(a.Data) > maxBytes {
			later = append(later, l.queue[i:]...)
			break
		}
		if twice {
			later = append(later, a)
			continue
		}
		keys[a.Key] = struct{}{}
		size += len(a.Data)
		batch = append(batch, a)
	}
	l.queue = later
	return batch
}

// drain takes all that is queued.
func (l *Log) drain() (all []durable.Append) {
	l.mu.Lock()
	defer l.mu.Unlock()
	all, l.queue = l.queue, nil
	return all
}

func (l *Log) fail(batch []durable.Append, err error) {
	for _, a := range batch {
		a.Done(0, err)
	}
}

// store appends records in one transaction. An error of it ends the writer, so that what became of the records is read
// from the topic before another one is appended.
func (l *Log) store(batch []durable.Append) {
	if err := l.writer.ready(l); err != nil {
		err = l.failed(err)
		l.fail(batch, err)
		l.fail(l.drain(), err) // rather than each 4,096 of them after one more timeout
		return
	}
	var accepted []durable.Append
	var records []*kgo.Record
	for _, a := range batch {
		last, ok := l.places.get(a.Key)
		if at := l.position(last.partition, last.offset); ok && at != a.After || !ok && a.After != 0 {
			a.Done(0, durable.ErrConflict)
			continue
		}
		if err := l.places.room(a.Key); err != nil {
			a.Done(0, l.failed(err))
			continue
		}
		accepted = append(accepted, a)
		records = append(records, &kgo.Record{Topic: l.cfg.Topic, Partition: l.partition(a.Key, last, ok), Key: appendKey(nil, a.Key), Value: a.Data})
	}
	if len(records) == 0 {
		return
	}
	if err := l.writer.commit(l, records); err != nil {
		l.fail(accepted, l.failed(err))
		return
	}
	for i, a := range accepted {
		a.Done(l.position(records[i].Partition, records[i].Offset), nil)
	}
}

// failed returns what an error of the writer means, and notes what would come again.
func (l *Log) failed(err error) error {
	err = l.named(l.blame(l.stop, err))
	if isRefused(err) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.refused == nil {
			l.refused = err
		}
	}
	return err
}

// partition returns that of a key: the one of its last record, or for the first one that which other producers of Kafka
// choose for the key by default.
func (l *Log) partition(key durable.Key, last place, ok bool) int32 {
	if ok {
		return last.partition
	}
	return int32(partitioner.Partition(&kgo.Record{Key: appendKey(nil, key)}, l.topic.partitions))
}

var partitioner = kgo.StickyKeyPartitioner(nil).ForTopic("")

// ended returns a context for what a transaction may take.
func (l *Log) transaction() (context.Context, context.CancelFunc) {
	return context.WithTimeout(l.stop, l.cfg.AckTimeout)
}
