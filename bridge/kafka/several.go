// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"context"
	"errors"
	"iter"
	"sync"

	"tagbus/bridge/durable"
	"tagbus/tags"
)

// several is a durable.Log in the topics of a pattern. Each is a Log with an index and a writer of its own, and all of them have
// the connections of one client, except for transactions.
//
// The topics of Config.Tags are opened at the begin, those that come later when they are written or read. One that is away fails
// what is asked of it: appends to the others go on, and what asks all of them fails.
//
// Threads: any.
type several struct {
	base  *Log // in no topic
	names patterns
	limit int // of records: the least of the topics that there were at the begin
	reads reads

	running sync.WaitGroup

	mu    sync.Mutex
	over  bool
	slots map[string]*slot // by topic
	logs  []*Log           // by their number
}

var _ durable.Log = (*several)(nil)

// newSeveral returns one without topics, of a Log that has a client.
func newSeveral(base *Log) *several {
	s := &several{base: base, slots: make(map[string]*slot)}
	s.names, _ = base.cfg.patterns() // Validate has
	if base.cfg.Tags.IsEmpty() {
		base.cfg.Tags = tags.Everything()
	}
	return s
}

// begin opens the topics.
//
// Errors: durable.ErrRefused, wrapped, if there are none, and as Log.look; those of the brokers.
func (s *several) begin(ctx context.Context) error {
	logs, err := s.all(ctx)
	if err != nil {
		return err
	}
	if len(logs) == 0 {
		name := s.names.topics.of(0)
		return refuse("no topic is there of %s, such as %s: make those that are needed, as with %s, and for each an index, as with %s", s.names.topics.text, name, makeTopic(name), makeIndex(s.names.indexes.of(0)))
	}
	s.limit = logs[0].limit
	for _, l := range logs {
		s.limit = min(s.limit, l.limit)
	}
	return nil
}

// Name implements durable.Log.
func (s *several) Name() string { return s.base.Name() }

// MaxRecordBytes implements durable.Log.
func (s *several) MaxRecordBytes() int { return s.limit }

// Append implements durable.Log.
func (s *several) Append(a durable.Append) {
	s.with(a.Key.Tag, func(l *Log, err error) {
		if err != nil {
			a.Done(0, err)
			return
		}
		l.Append(a)
	})
}

// Last implements durable.Log.
func (s *several) Last(ctx context.Context, key durable.Key) (e durable.Entry, err error) {
	if err := s.await(ctx, key.Tag); err != nil {
		return durable.Entry{}, err
	}
	s.with(key.Tag, func(l *Log, failed error) { // at once
		if err = failed; err == nil {
			e, err = l.Last(ctx, key)
			err = l.named(err)
		}
	})
	return e, err
}

// loads is how many topics and their indexes are read at once.
const loads = 8

// Tails implements durable.Log.
func (s *several) Tails(ctx context.Context, set tags.Set) iter.Seq2[durable.Entry, error] {
	return func(yield func(durable.Entry, error) bool) {
		logs, err := s.of(ctx, set)
		if err == nil {
			err = update(ctx, logs)
		}
		if err != nil {
			yield(durable.Entry{}, err)
			return
		}
		for _, l := range logs {
			if !l.tails(ctx, set, yield) {
				return
			}
		}
	}
}

// update brings indexes up to date, some at once: brokers may be far.
func update(ctx context.Context, logs []*Log) (errs error) {
	var (
		wg sync.WaitGroup
		mu sync.Mutex
	)
	room := make(chan struct{}, loads)
	for _, l := range logs {
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room }()
			err := l.named(l.places.update(ctx))
			mu.Lock()
			defer mu.Unlock()
			errs = errors.Join(errs, err)
		})
	}
	wg.Wait()
	return errs
}

// of returns the topics that can have tags of a set; empty: of all.
func (s *several) of(ctx context.Context, set tags.Set) (some []*Log, err error) {
	logs, err := s.all(ctx)
	if err != nil || set.IsEmpty() {
		return logs, err
	}
	for _, l := range logs {
		first, last, _ := s.names.topics.span(l.cfg.Topic)
		if span, err := tags.Range(first, last); err == nil && span.Intersects(set) {
			some = append(some, l)
		}
	}
	return some, nil
}

// Read implements durable.Log. A topic is read from where it is at the begin, or from its first record if it comes later.
func (s *several) Read(ctx context.Context, q durable.Query) iter.Seq2[durable.Entry, error] {
	r := &reader{
		base: s.base, query: q, reads: &s.reads, grows: s.few() == nil,
		topics: func(ctx context.Context) ([]*Log, error) { return s.of(ctx, q.Tags) },
	}
	return r.all(ctx)
}

// Close implements durable.Log.
func (s *several) Close() (err error) {
	s.mu.Lock()
	s.over = true
	s.mu.Unlock()
	s.base.halt()
	s.running.Wait()
	for _, l := range s.logs {
		err = errors.Join(err, l.Close())
	}
	return errors.Join(err, s.base.Close())
}
