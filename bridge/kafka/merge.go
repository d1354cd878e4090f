// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"context"
	"errors"
	"iter"
	"math"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tagbus/bridge/durable"
)

// reader reads what a Query selects of one topic, or of several: in the order of time as far as records are there, and in that
// of each partition.
//
// Threads: one at a time.
type reader struct {
	base  *Log // with the configuration, and the errors of connections
	query durable.Query
	reads *reads

	// topics returns those that there are. Of one topic it says the same each time.
	topics func(ctx context.Context) ([]*Log, error)
	grows  bool // more of them may come

	known  map[*Log]bool
	looked time.Time // when topics was called last
}

// all yields the records.
func (r *reader) all(ctx context.Context) iter.Seq2[durable.Entry, error] {
	return func(yield func(durable.Entry, error) bool) {
		r.known = make(map[*Log]bool)
		if err := r.run(ctx, yield); err != nil {
			yield(durable.Entry{}, err)
		}
	}
}

// run calls yield until it is false, or until the end.
func (r *reader) run(ctx context.Context, yield func(durable.Entry, error) bool) error {
	f := &fetcher{log: r.base, committed: true}
	if err := r.add(ctx, f); err != nil {
		return err
	}
	var err error
	if f.client, err = r.base.newClient(); err != nil { // of its own: brokers answer one request of a connection after the other, and these take long
		return err
	}
	defer f.client.Close()
	if r.grows && r.query.Follow {
		f.grow = func(ctx context.Context) error { return r.addLater(ctx, f) }
	}
	last := durable.Position(0)
	defer func() { r.reads.note(last, f.cursors) }()
	for {
		c, err := f.first(ctx)
		var out *outOfRangeError
		switch {
		case errors.As(err, &out):
			return out.cursor.log.gap(ctx, out)
		case err != nil:
			return err
		case c == nil:
			return nil
		}
		e, err := c.log.entry(c.take())
		if err != nil {
			return err
		}
		if r.query.End.Reached(e.Position, e.Time) { // in its partition; others go on
			c.end, c.records = 0, nil
			continue
		}
		if !r.query.Tags.IsEmpty() && !r.query.Tags.Contains(e.Key.Tag) {
			continue
		}
		if last = e.Position; !yield(e, nil) {
			return nil
		}
	}
}

// add adds the partitions of topics that are new.
func (r *reader) add(ctx context.Context, f *fetcher) error {
	r.looked = time.Now()
	logs, err := r.topics(ctx)
	if err != nil {
		return err
	}
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		errs error
	)
	for _, l := range logs {
		if r.known[l] {
			continue
		}
		r.known[l] = true
		wg.Go(func() { // all at once: brokers may be far
			some, err := l.cursors(ctx, r.query, r.reads)
			mu.Lock()
			defer mu.Unlock()
			f.cursors, errs = append(f.cursors, some...), errors.Join(errs, l.named(err))
		})
	}
	wg.Wait()
	if len(f.cursors) > 0 {
		f.bytes = spanOf(len(f.cursors))
	}
	f.leaders = nil
	return errs
}

// looks is how often a reader that follows looks for new topics, in terms of Config.AckTimeout.
const looks = 2

// addLater adds topics from time to time. Without any it waits.
func (r *reader) addLater(ctx context.Context, f *fetcher) error {
	for {
		left := time.Until(r.looked.Add(looks * r.base.cfg.AckTimeout))
		switch {
		case left > 0 && len(f.cursors) > 0:
			return nil
		case left > 0:
			if err := r.base.pause(ctx, left); err != nil {
				return err
			}
			continue
		}
		before := len(f.cursors)
		if err := r.add(ctx, f); err != nil || before > 0 {
			return err
		}
	}
}

// cursor is a place in a partition, and what was read there.
type cursor struct {
	log       *Log
	topic     topic // of the log, or its index
	partition int32
	first     int64 // offset that there was at the beginning
	next      int64 // to be fetched
	end       int64 // offset behind the last one that is wanted
	records   []*kgo.Record
	quiet     bool // there was nothing more at the last look
}

// endless is the end of a cursor that follows.
const endless = math.MaxInt64

// idle reports whether more has to be fetched.
func (c *cursor) idle() bool { return len(c.records) == 0 && c.next < c.end }

// followWait is how long brokers wait for a record that is followed.
const followWait = 500 * time.Millisecond

// othersWait is how long one of several brokers waits at most: what others have answered meanwhile is not read before.
const othersWait = 50 * time.Millisecond

// first returns the cursor whose next record was stored first, among what is there; nil at the end of all.
//
// Errors: those of fill; errTimeout for what is there and does not come.
func (f *fetcher) first(ctx context.Context) (*cursor, error) {
	deadline := time.Now().Add(f.log.cfg.AckTimeout)
	for {
		if f.grow != nil {
			if err := f.grow(ctx); err != nil {
				return nil, err
			}
		}
		var earliest *cursor
		look, waits, follows := false, false, false
		for _, c := range f.cursors {
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
		if err := f.fill(ctx, min(wait, f.log.cfg.AckTimeout)); err != nil {
			return nil, err
		}
		for _, c := range f.cursors {
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
