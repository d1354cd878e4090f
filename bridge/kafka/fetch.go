// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tagbus/bridge/durable"
)

// leaderPause is how long a reader waits for a new leader before it asks again.
const leaderPause = 50 * time.Millisecond

// outOfRangeError means that a partition has no record with an offset.
type outOfRangeError struct {
	cursor *cursor
	offset int64
}

// Error names the place.
func (e *outOfRangeError) Error() string { return "no such offset" }

// topicError is one about a topic of several. Log is that of the topic.
type topicError struct {
	log *Log
	err error
}

// Error returns the text of what it is.
func (e *topicError) Error() string { return e.err.Error() }

// Unwrap returns what it is.
func (e *topicError) Unwrap() error { return e.err }

// fetcher reads partitions of one topic, or of several: what is committed, or all.
//
// Threads: one at a time.
type fetcher struct {
	log       *Log // how long to wait, and for what errors stand that are about no topic
	client    *kgo.Client
	cursors   []*cursor
	committed bool
	bytes     int32                           // of a partition in an answer
	grow      func(ctx context.Context) error // called before each look, adds cursors; nil: none come
	leaders   map[string][]int32              // by topic and partition; nil: to be asked
}

// fill fetches more for the cursors that are idle.
//
//   - wait: how long brokers wait for a first record.
//   - Errors: an *outOfRangeError; those of the brokers, except that a leader has changed; the cause of the end of
//     ctx.
func (f *fetcher) fill(ctx context.Context, wait time.Duration) error {
	deadline := time.Now().Add(f.log.cfg.AckTimeout)
	for {
		err := f.ask(ctx, wait)
		late := time.Now().After(deadline)
		if late || !moved(err) {
			return f.blame(ctx, err, late)
		}
		f.leaders = nil
		if err := f.log.pause(ctx, leaderPause); err != nil {
			return err
		}
	}
}

// pause waits.
//
// Errors: durable.ErrClosed, the cause of the end of ctx.
func (l *Log) pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-l.stop.Done():
		return durable.ErrClosed
	}
}

// blame returns what an error means, of a fetcher that waits no longer if it is late.
func (f *fetcher) blame(ctx context.Context, err error, late bool) error {
	l := f.log
	of := (*topicError)(nil)
	about := errors.As(err, &of)
	if about {
		l = of.log
	}
	if late && errors.Is(err, kerr.UnknownTopicOrPartition) {
		err = kerr.UnknownTopicID // brokers that have just begun may not know a topic, but not for so long
	}
	if err = l.blame(ctx, err); about {
		err = l.named(err)
	}
	return err
}

// moved reports whether another broker is the one to be asked now.
func moved(err error) bool {
	var out *outOfRangeError
	return err != nil && !errors.As(err, &out) && kerr.IsRetriable(err) && !errors.Is(err, kerr.UnknownTopicID)
}

// ask asks each leader once.
func (f *fetcher) ask(ctx context.Context, wait time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, wait+f.log.cfg.AckTimeout)
	defer cancel()
	defer context.AfterFunc(f.log.stop, cancel)()
	if f.leaders == nil {
		if err := f.findLeaders(ctx); err != nil {
			return err
		}
	}
	byLeader := make(map[int32][]*cursor)
	for _, c := range f.cursors {
		if c.idle() {
			leader := f.leaders[c.topic.name][c.partition]
			byLeader[leader] = append(byLeader[leader], c)
		}
	}
	if len(byLeader) > 1 {
		wait = min(wait, othersWait)
	}
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		errs error
	)
	for leader, some := range byLeader {
		wg.Go(func() {
			if err := f.fetch(ctx, leader, some, wait); err != nil {
				mu.Lock()
				defer mu.Unlock()
				errs = errors.Join(errs, err)
			}
		})
	}
	wg.Wait()
	return errs
}

// findLeaders asks which broker leads each partition.
func (f *fetcher) findLeaders(ctx context.Context) error {
	of := make(map[string]*cursor) // any of the topic
	for _, c := range f.cursors {
		of[c.topic.name] = c
	}
	resp, err := metadata(ctx, f.client, slices.Collect(maps.Keys(of))...)
	if err != nil {
		return err
	}
	all := make(map[string][]int32)
	for i := range resp.Topics {
		t := &resp.Topics[i]
		if t.Topic == nil || of[*t.Topic] == nil {
			continue
		}
		c := of[*t.Topic]
		if all[c.topic.name], err = leadersOf(t, c.topic); err != nil {
			return &topicError{c.log, err}
		}
	}
	for name, c := range of {
		if len(all[name]) == 0 {
			return &topicError{c.log, kerr.LeaderNotAvailable}
		}
	}
	f.leaders = all
	return nil
}

// leadersOf returns the leader of each partition of a topic.
func leadersOf(t *kmsg.MetadataResponseTopic, known topic) ([]int32, error) {
	if err := kerr.ErrorForCode(t.ErrorCode); err != nil {
		return nil, err
	}
	switch {
	case t.TopicID != known.id:
		return nil, kerr.UnknownTopicID
	case len(t.Partitions) > known.partitions:
		return nil, refuse("topic %s has %d partitions now, and had %d: start again", known.name, len(t.Partitions), known.partitions)
	}
	leaders := slices.Repeat([]int32{-1}, known.partitions)
	for _, p := range t.Partitions {
		if p.Leader < 0 || p.Partition < 0 || int(p.Partition) >= len(leaders) {
			return nil, kerr.LeaderNotAvailable
		}
		leaders[p.Partition] = p.Leader
	}
	if slices.Contains(leaders, -1) {
		return nil, kerr.LeaderNotAvailable
	}
	return leaders, nil
}

// answered returns the name of a topic in an answer. Brokers since 3.1 give its id alone.
func answered(req *kmsg.FetchRequest, got *kmsg.FetchResponseTopic) string {
	for i := range req.Topics {
		if t := &req.Topics[i]; got.Topic == "" && t.TopicID == got.TopicID {
			return t.Topic
		}
	}
	return got.Topic
}

// fetch asks one leader for its partitions.
func (f *fetcher) fetch(ctx context.Context, leader int32, cursors []*cursor, wait time.Duration) error {
	req := kmsg.NewPtrFetchRequest()
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes = int32(wait.Milliseconds()), 1, fetchBytes
	if f.committed {
		req.IsolationLevel = 1
	}
	waiting := make(map[part]*cursor, len(cursors))
	for _, c := range cursors {
		if n := len(req.Topics); n == 0 || req.Topics[n-1].Topic != c.topic.name { // those of a topic stand together
			t := kmsg.NewFetchRequestTopic()
			t.Topic, t.TopicID = c.topic.name, c.topic.id
			req.Topics = append(req.Topics, t)
		}
		waiting[part{c.topic.name, c.partition}] = c
		p := kmsg.NewFetchRequestTopicPartition()
		p.Partition, p.FetchOffset, p.PartitionMaxBytes = c.partition, c.next, f.bytes
		t := &req.Topics[len(req.Topics)-1]
		t.Partitions = append(t.Partitions, p)
	}
	got, err := f.client.Broker(int(leader)).RetriableRequest(ctx, req)
	if err != nil {
		return err
	}
	resp, ok := got.(*kmsg.FetchResponse)
	if !ok {
		return errors.New("a broker answers something else")
	}
	if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
		return err
	}
	for i := range resp.Topics {
		name := answered(req, &resp.Topics[i])
		for j := range resp.Topics[i].Partitions {
			p := &resp.Topics[i].Partitions[j]
			place := part{name, p.Partition}
			c := waiting[place]
			if c == nil {
				continue
			}
			delete(waiting, place) // a second answer would take the place of the first
			if err := f.store(p, c); err != nil {
				return &topicError{c.log, err}
			}
		}
	}
	return nil
}

// store reads what a leader has answered for a partition.
func (f *fetcher) store(p *kmsg.FetchResponseTopicPartition, c *cursor) error {
	err := kerr.ErrorForCode(p.ErrorCode)
	if errors.Is(err, kerr.OffsetOutOfRange) {
		return &outOfRangeError{c, c.next}
	}
	if err != nil {
		return err
	}
	opts := kgo.ProcessFetchPartitionOpts{Offset: c.next, Topic: c.topic.name, Partition: c.partition, IsolationLevel: kgo.ReadUncommitted()}
	if f.committed {
		opts.IsolationLevel = kgo.ReadCommitted()
	}
	var first int
	if p.RecordBatches, first = spare(p.RecordBatches, unpacked*int64(f.bytes)); first > mostBatch {
		return refuse("topic %s, partition %d, from offset %d: a batch of %d records, of which a bridge makes none: at most %d are read", c.topic.name, c.partition, c.next, first, mostBatch)
	}
	decompressor, _ := f.client.OptValue(kgo.WithDecompressor).(kgo.Decompressor) // the one with the limit
	read, next := kgo.ProcessFetchPartition(opts, p, &unpacker{decompressor, unpacked * int64(f.bytes)}, nil)
	if read.Err != nil && !errors.Is(read.Err, errUnpacked) {
		return refuse("topic %s, partition %d, from offset %d: %v", c.topic.name, c.partition, c.next, read.Err)
	}
	c.records, c.next = read.Records, max(next, c.next)
	for i, r := range c.records {
		if r.Offset >= c.end {
			c.records = c.records[:i]
			break
		}
	}
	return nil
}
