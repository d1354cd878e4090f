// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// leaderPause is how long a reader waits for a new leader before it asks again.
const leaderPause = 50 * time.Millisecond

// outOfRangeError means that a partition has no record with an offset.
type outOfRangeError struct {
	partition int32
	offset    int64
}

// Error names the place.
func (e *outOfRangeError) Error() string { return "no such offset" }

// cursor is a place in a partition, and what was read there.
type cursor struct {
	partition int32
	next      int64 // to be fetched
	end       int64 // offset behind the last one that is wanted
	records   []*kgo.Record
	quiet     bool // there was nothing more at the last look
}

// endless is the end of a cursor that follows.
const endless = math.MaxInt64

// idle reports whether more has to be fetched.
func (c *cursor) idle() bool { return len(c.records) == 0 && c.next < c.end }

// fetcher reads partitions of a topic: what is committed, or all.
//
// Threads: one at a time.
type fetcher struct {
	log       *Log
	client    *kgo.Client
	topic     topic
	committed bool
	bytes     int32   // of a partition in an answer
	leaders   []int32 // by partition; nil: to be asked
}

// fill fetches more for the cursors that are idle.
//
//   - wait: how long brokers wait for a first record.
//   - Errors: an *outOfRangeError; those of the brokers, except that a leader has changed; the cause of the end of
//     ctx.
func (f *fetcher) fill(ctx context.Context, cursors []*cursor, wait time.Duration) error {
	deadline := time.Now().Add(f.log.cfg.AckTimeout)
	for {
		err := f.ask(ctx, cursors, wait)
		late := time.Now().After(deadline)
		if late && errors.Is(err, kerr.UnknownTopicOrPartition) {
			err = kerr.UnknownTopicID // brokers that have just begun may not know a topic, but not for so long
		}
		if late || !moved(err) {
			return f.log.blame(ctx, err)
		}
		f.leaders = nil
		pause := time.NewTimer(leaderPause)
		select {
		case <-pause.C:
		case <-ctx.Done():
		case <-f.log.stop.Done():
		}
		pause.Stop()
	}
}

// moved reports whether another broker is the one to be asked now.
func moved(err error) bool {
	var out *outOfRangeError
	return err != nil && !errors.As(err, &out) && kerr.IsRetriable(err) && !errors.Is(err, kerr.UnknownTopicID)
}

// ask asks each leader once.
func (f *fetcher) ask(ctx context.Context, cursors []*cursor, wait time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, wait+f.log.cfg.AckTimeout)
	defer cancel()
	defer context.AfterFunc(f.log.stop, cancel)()
	if f.leaders == nil {
		if err := f.findLeaders(ctx); err != nil {
			return err
		}
	}
	byLeader := make(map[int32][]*cursor)
	for _, c := range cursors {
		if c.idle() {
			leader := f.leaders[c.partition]
			byLeader[leader] = append(byLeader[leader], c)
		}
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
	resp, err := metadata(ctx, f.client, f.topic.name)
	if err != nil {
		return err
	}
	leaders := slices.Repeat([]int32{-1}, f.topic.partitions)
	for i := range resp.Topics {
		t := &resp.Topics[i]
		if err := kerr.ErrorForCode(t.ErrorCode); err != nil {
			return err
		}
		switch {
		case t.TopicID != f.topic.id:
			return kerr.UnknownTopicID
		case len(t.Partitions) > f.topic.partitions:
			return refuse("topic %s has %d partitions now, and had %d: start again", f.topic.name, len(t.Partitions), f.topic.partitions)
		}
		for _, p := range t.Partitions {
			if p.Leader < 0 || p.Partition < 0 || int(p.Partition) >= len(leaders) {
				return kerr.LeaderNotAvailable
			}
			leaders[p.Partition] = p.Leader
		}
	}
	if slices.Contains(leaders, -1) {
		return kerr.LeaderNotAvailable
	}
	f.leaders = leaders
	return nil
}

// fetch asks one leader for its partitions.
func (f *fetcher) fetch(ctx context.Context, leader int32, cursors []*cursor, wait time.Duration) error {
	req := kmsg.NewPtrFetchRequest()
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes = int32(wait.Milliseconds()), 1, fetchBytes
	if f.committed {
		req.IsolationLevel = 1
	}
	asked := kmsg.NewFetchRequestTopic()
	asked.Topic, asked.TopicID = f.topic.name, f.topic.id
	waiting := make(map[int32]*cursor, len(cursors))
	for _, c := range cursors {
		waiting[c.partition] = c
		p := kmsg.NewFetchRequestTopicPartition()
		p.Partition, p.FetchOffset, p.PartitionMaxBytes = c.partition, c.next, f.bytes
		asked.Partitions = append(asked.Partitions, p)
	}
	req.Topics = append(req.Topics, asked)
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
		for j := range resp.Topics[i].Partitions {
			p := &resp.Topics[i].Partitions[j]
			c := waiting[p.Partition]
			if c == nil {
				continue
			}
			delete(waiting, p.Partition) // a second answer would take the place of the first
			if err := f.store(p, c); err != nil {
				return err
			}
		}
	}
	return nil
}

// store reads what a leader has answered for a partition.
func (f *fetcher) store(p *kmsg.FetchResponseTopicPartition, c *cursor) error {
	err := kerr.ErrorForCode(p.ErrorCode)
	if errors.Is(err, kerr.OffsetOutOfRange) {
		return &outOfRangeError{c.partition, c.next}
	}
	if err != nil {
		return err
	}
	opts := kgo.ProcessFetchPartitionOpts{Offset: c.next, Topic: f.topic.name, Partition: c.partition, IsolationLevel: kgo.ReadUncommitted()}
	if f.committed {
		opts.IsolationLevel = kgo.ReadCommitted()
	}
	decompressor, _ := f.client.OptValue(kgo.WithDecompressor).(kgo.Decompressor) // the one with the limit
	read, next := kgo.ProcessFetchPartition(opts, p, &unpacker{decompressor, unpacked * int64(f.bytes)}, nil)
	if read.Err != nil && !errors.Is(read.Err, errUnpacked) {
		return refuse("topic %s, partition %d, from offset %d: %v", f.topic.name, c.partition, c.next, read.Err)
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

// followWait is how long brokers wait for a record that is followed.
const followWait = 500 * time.Millisecond

// first returns the cursor whose next record was stored first, among what is there; nil at the end of all.
//
// Errors: those of fill; errTimeout for what is there and does not come.
func (f *fetcher) first(ctx context.Context, cursors []*cursor) (*cursor, error) {
	deadline := time.Now().Add(f.log.cfg.AckTimeout)
	for {
		var earliest *cursor
		look, waits, follows := false, false, false
		for _, c := range cursors {
			if len(c.records) > 0 && (earliest == nil || c.records[0].Timestamp.Before(earliest.records[0].Timestamp)) {
				earliest = c
			}
			look = look || c.idle() && !c.quiet
			waits = waits || c.idle()
			follows = follows || c.end == endless
		}
		switch {
		case earliest != nil && !look:
			return earliest, nil
		case earliest == nil && !waits:
			return nil, nil
		case earliest == nil && !follows && time.Now().After(deadline):
			return nil, errTimeout
		}
		wait := followWait
		if earliest != nil {
			wait = 0
		}
		if err := f.fill(ctx, cursors, min(wait, f.log.cfg.AckTimeout)); err != nil {
			return nil, err
		}
		for _, c := range cursors {
			c.quiet = c.idle()
		}
	}
}

// take takes the next record of a cursor.
func (c *cursor) take() *kgo.Record {
	r := c.records[0]
	c.records[0] = nil // it may be large
	c.records = c.records[1:]
	return r
}
