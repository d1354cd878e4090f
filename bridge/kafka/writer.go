// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"tagbus/bridge/durable"
)

// writer appends transactions to a topic and its index. One goroutine has it.
type writer struct {
	client *kgo.Client // nil: it has to begin, or to begin again
	tried  bool        // it has begun before, or tried to
	before [8]byte     // the session that it has followed

	flushing map[durable.Key]struct{} // keys whose places are on their way to the index topic; nil: none
	upTo     []int64                  // of each partition: what the index topic has when they are there
	flushed  []int64                  // what it has now

	missing time.Time // since when the brokers do not know the topic; zero: they do
}

// ready begins, unless the writer has begun.
//
//   - Errors: a *TakenError; those of the brokers.
func (w *writer) ready(l *Log) error {
	if w.client != nil {
		return nil
	}
	if err := w.begin(l); err != nil {
		w.end()
		return err
	}
	return nil
}

// begin ends the writer that was there before, reads what it has left, and says in the index that this one writes now.
//
// A writer that has begun before does not end another one that has begun after it.
func (w *writer) begin(l *Log) error {
	x := &l.places
	select {
	case x.turn <- struct{}{}:
	case <-l.stop.Done():
		return durable.ErrClosed
	}
	defer func() { <-x.turn }()
	ctx, cancel := l.transaction()
	defer cancel()
	if err := w.lookAgain(ctx, l); err != nil {
		return err
	}
	if err := x.readIndex(l.stop); err != nil {
		return err
	}
	switch {
	case !w.tried:
		w.before = x.last.session
		if id := x.last.id; id != "" && id != l.cfg.TransactionalID {
			return refuse("topic %s is written with the transactional id %s, and not %s, which would not keep two bridges apart: name that one, or delete the index %s to change it", l.cfg.Topic, id, l.cfg.TransactionalID, l.cfg.Index)
		}
		w.tried = true
	case x.other(l.self, w.before):
		return &TakenError{Topic: l.cfg.Topic, Writer: x.last.writer, Since: time.UnixMilli(x.last.since)}
	}
	if err := w.connect(l); err != nil {
		return err
	}
	// Nothing comes any more from the writer before: its transaction has ended, and the next one is refused.
	if err := x.readIndex(l.stop); err != nil {
		return err
	}
	if err := x.readTopic(l.stop); err != nil {
		return err
	}
	if x.other(l.self, w.before) {
		return &TakenError{Topic: l.cfg.Topic, Writer: x.last.writer, Since: time.UnixMilli(x.last.since)}
	}
	x.appendedUpToRead()
	if w.flushed == nil {
		w.flushed = make([]int64, l.topic.partitions)
		copy(w.flushed, x.last.next)
	}
	return w.send(l, []*kgo.Record{w.state(l, w.flushed)})
}

// lookAgain reports whether the topics are those of Open. Brokers that have just begun may not know a topic, so that
// counts when it lasts.
func (w *writer) lookAgain(ctx context.Context, l *Log) error {
	if !w.tried {
		return l.lookAtIndex(ctx)
	}
	data, index, err := l.topics(ctx)
	switch {
	case err != nil:
		return err
	case data.partitions > 0 && data.id != l.topic.id:
		return kerr.UnknownTopicID
	case index.partitions > 0 && index.id != l.index.id: // it has no places, and may not say that it has
		return kerr.UnknownTopicID
	case data.partitions > 0:
		w.missing = time.Time{}
		return nil
	case w.missing.IsZero():
		w.missing = time.Now()
	case time.Since(w.missing) > l.cfg.AckTimeout:
		return kerr.UnknownTopicID
	}
	return kerr.UnknownTopicOrPartition
}

// connect makes a client, as which the brokers end that of the writer before.
func (w *writer) connect(l *Log) (err error) {
	w.client, err = l.newClient(
		kgo.TransactionalID(l.cfg.TransactionalID), kgo.TransactionTimeout(l.cfg.transactionTimeout()),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.RequiredAcks(kgo.AllISRAcks()), kgo.ProducerBatchCompression(kgo.NoCompression()),
		kgo.ProducerBatchMaxBytes(int32(l.limit+overheadBytes)), kgo.MaxBufferedRecords(2*(maxRecords+maxPlaces)),
		kgo.ProducerLinger(time.Second), // a transaction is flushed at once
		kgo.ConcurrentTransactionsBackoff(5*time.Millisecond),
	)
	if err != nil {
		return err
	}
	ctx, cancel := l.transaction()
	defer cancel()
	if _, _, err = w.client.ProducerID(ctx); err != nil {
		return err
	}
	return w.acquaint(ctx, l.cfg.Topic, l.cfg.Index)
}

// errAcquainted is what is expected of acquaint.
var errAcquainted = errors.New("bridge/kafka: a record for no partition was taken")

// acquaint makes the client know the partitions of topics before the first transaction with records.
//
// EndTransaction of franz-go 1.22.3 looks at the partitions that it has stored, and stores those of a new topic after it has
// begun to send the records that have waited for them. A transaction that ends in between is aborted, and reported as
// committed. A record for no partition is refused when the partitions are known, and later ones find them stored.
func (w *writer) acquaint(ctx context.Context, topics ...string) error {
	if err := w.client.BeginTransaction(); err != nil {
		return err
	}
	for _, topic := range topics {
		err := w.client.ProduceSync(ctx, &kgo.Record{Topic: topic, Partition: -1}).FirstErr()
		switch {
		case err == nil:
			return errAcquainted
		case ctx.Err() != nil:
			return ctx.Err()
		case !strings.Contains(err.Error(), "invalid record partitioning choice"):
			return err
		}
	}
	return w.client.EndTransaction(ctx, kgo.TryAbort)
}

// state returns the record of the index that says who writes.
func (w *writer) state(l *Log, next []int64) *kgo.Record {
	host, err := os.Hostname()
	if err != nil {
		host = "an unknown host"
	}
	st := state{
		topic: l.topic.id, session: l.self, since: l.began.UnixMilli(), writer: fmt.Sprintf("%s on %s, process %d", l.cfg.Name, host, os.Getpid()),
		id: l.cfg.TransactionalID, next: next,
	}
	return &kgo.Record{Topic: l.cfg.Index, Key: []byte{stateKey}, Value: marshalState(&st)}
}

// maxPlaces is how many places go to the index topic with a transaction.
const maxPlaces = 4096

// commit appends records of distinct keys in one transaction, and some places when it is time to bring the index topic up to
// date.
func (w *writer) commit(l *Log, records []*kgo.Record) error {
	x := &l.places
	w.startFlush(l)
	places, keys := w.placesOf(l)
	if err := w.send(l, append(slices.Clone(records), places...)); err != nil {
		w.end()
		return err
	}
	for _, r := range records {
		key, _ := parseKey(r.Key)
		x.put(r, key)
		x.appended(r.Partition, r.Offset+1)
	}
	for _, key := range keys {
		delete(w.flushing, key)
	}
	if w.flushing != nil && len(w.flushing) == 0 {
		w.flushed, w.flushing = w.upTo, nil
	}
	return nil
}

// startFlush begins to bring the index topic up to date if it is time.
func (w *writer) startFlush(l *Log) {
	x := &l.places
	x.mu.Lock()
	defer x.mu.Unlock()
	if w.flushing != nil || x.since < max(l.cfg.CheckpointBytes, flushShare*x.dirtyBytes) {
		return
	}
	w.flushing, x.dirty = x.dirty, make(map[durable.Key]struct{})
	x.dirtyBytes, x.since = 0, 0
	w.upTo = slices.Clone(x.acked)
}

// flushShare is how many times as much is written to the topic as to its index.
const flushShare = 4

// placesOf returns the next records for the index topic, and their keys; with the last of them the state.
func (w *writer) placesOf(l *Log) (records []*kgo.Record, keys []durable.Key) {
	if w.flushing == nil {
		return nil, nil
	}
	for key := range maps.Keys(w.flushing) {
		if len(keys) == maxPlaces {
			return records, keys
		}
		keys = append(keys, key)
		r := &kgo.Record{Topic: l.cfg.Index, Key: appendPlaceKey(nil, key)}
		if at, ok := l.places.get(key); ok {
			r.Value = marshalPlace(l.topic.id, at)
		}
		records = append(records, r)
	}
	return append(records, w.state(l, w.upTo)), keys
}

// send sends records in one transaction, and sets their offsets.
func (w *writer) send(l *Log, records []*kgo.Record) error {
	ctx, cancel := l.transaction()
	defer cancel()
	if err := w.client.BeginTransaction(); err != nil {
		return err
	}
	var (
		mu    sync.Mutex
		first error
		wg    sync.WaitGroup
	)
	wg.Add(len(records))
	for _, r := range records {
		w.client.Produce(ctx, r, func(_ *kgo.Record, err error) {
			defer wg.Done()
			mu.Lock()
			defer mu.Unlock()
			if first == nil {
				first = err
			}
		})
	}
	err := w.client.Flush(ctx)
	if err != nil {
		mu.Lock()
		first = cmp.Or(first, err)
		mu.Unlock()
		w.client.Close() // it is done with all records then: they are the callers'
	}
	wg.Wait()
	if first != nil {
		return first
	}
	return w.client.EndTransaction(ctx, kgo.TryCommit)
}

// end ends the client. What it has appended may be there or not: the next one finds out.
func (w *writer) end() {
	if w.client != nil {
		w.client.Close()
		w.client = nil
	}
}

// isRefused reports whether an error would come again.
func isRefused(err error) bool { return errors.Is(err, durable.ErrRefused) }
