// SPDX-License-Identifier: Apache-2.0

package in

import (
	"context"
	"errors"
	"time"

	"tagbus/bus"
	"tagbus/recording"
	"tagbus/tags"

	"tagbus/bridge/durable"
	"tagbus/bridge/internal/follow"
	"tagbus/bridge/record"
)

// Opener opens publishers; a *node.Node does.
type Opener interface {
	NewPublisher(cfg bus.PublisherConfig) (*bus.Publisher, error)
}

// Report says what was published, and what of it was missing in the log.
type Report struct {
	Messages uint64 // that were published
	Bytes    uint64 // payload of those
	Records  uint64 // that were read
	Chains   int    // publishers and tags

	Lost     uint64           // messages that the log names as lost
	Hole     uint64           // counters that no record covers: the retention has dropped some in the middle
	Unknown  uint64           // chains that end with a publisher which has gone without goodbye
	Repeated uint64           // counters that several records cover: published once
	Last     durable.Position // of the record that was published last: a later Run starts after it
}

// run is one Run.
type run struct {
	ctx       context.Context
	open      Opener
	log       durable.Log
	cfg       Config
	publisher *bus.Publisher
	tags      tags.Set // of the publisher
	chains    follow.Chains[ending]
	report    Report
	away      bool // the log, since the last record
	page      []bus.Message

	began time.Time // when the first message was due
	first time.Time // its time in the log
}

// ending is what is known of the end of a publisher and tag.
type ending struct{ unknown bool }

// maxPage is how many messages are published at once: in memory each takes more than its bytes in a record.
const maxPage = 1024

// Run publishes what a Query selects, and waits until subscribers have it. A log that is away ends it, unless it follows.
//
//   - Result: what was published, also with an error.
//   - Errors: those of Config.Validate; those of the log; a *TooManyError; a *record.FormatError in a *ReadError; those of NewPublisher, of
//     PublishBatchContext and Drain; the cause of the end of ctx, except with Follow, which only ends so.
//   - Blocks: for the log, and for subscribers.
func Run(ctx context.Context, open Opener, log durable.Log, cfg Config) (Report, error) {
	if err := cfg.Validate(); err != nil {
		return Report{}, err
	}
	cfg = cfg.withDefaults()
	r := &run{ctx: ctx, open: open, log: log, cfg: cfg, chains: follow.Chains[ending]{Log: log.Name(), Max: cfg.MaxChains}}
	err := r.run()
	r.chains.All(func(c *follow.Chain[ending]) {
		if c.Value.unknown {
			r.report.Unknown++
		}
	})
	r.report.Chains = r.chains.Len()
	return r.report, err
}

func (r *run) run() error {
	var known []tags.Tag
	for e, err := range r.log.Tails(r.ctx, r.wanted()) {
		if err != nil {
			return err
		}
		if len(known) == r.cfg.MaxChains {
			return &TooManyError{Log: r.log.Name(), Key: e.Key, What: "publishers and tags", Limit: r.cfg.MaxChains}
		}
		known = append(known, e.Key.Tag)
	}
	if len(known) > 0 {
		if err := r.serve(tags.Of(known...)); err != nil {
			return err
		}
	}
	err := r.readAll()
	if r.cfg.Query.Follow && err != nil && r.ctx.Err() != nil && errors.Is(err, context.Cause(r.ctx)) {
		err = nil
	}
	return errors.Join(err, r.leave(err))
}

// wanted returns the tags that are published.
func (r *run) wanted() tags.Set {
	if r.cfg.Query.Tags.IsEmpty() {
		return tags.Everything()
	}
	return r.cfg.Query.Tags
}

// retryTime is how long a Run that follows waits before it asks a log again that was away.
const retryTime = time.Second

// readAll publishes record by record. With Follow it goes on behind the last one when the log is back that was away.
func (r *run) readAll() error {
	q := r.cfg.Query
	for {
		away, err := r.read(q)
		if !away || !q.Follow {
			return err
		}
		r.problem(err)
		if err := r.pause(retryTime); err != nil {
			return err
		}
		if r.report.Last > 0 {
			q.Start = durable.Start{After: r.report.Last}
		}
	}
}

// read publishes what a query selects. away reports whether the error is one of the log that may go.
func (r *run) read(q durable.Query) (away bool, err error) {
	for e, err := range r.log.Read(r.ctx, q) {
		if err != nil {
			gap := (*durable.GapError)(nil)
			return r.ctx.Err() == nil && !errors.Is(err, durable.ErrRefused) && !errors.Is(err, durable.ErrClosed) && !errors.As(err, &gap), err
		}
		rec, err := record.Parse(e.Data)
		if err != nil {
			return false, &ReadError{Log: r.log.Name(), Position: e.Position, Err: err}
		}
		if err := r.take(e, rec); err != nil {
			return false, err
		}
		r.report.Records++
		r.report.Last = e.Position
		r.away = false
	}
	return false, nil
}

// problem tells that the log is away, once for each outage.
func (r *run) problem(err error) {
	if !r.away && r.cfg.OnProblem != nil {
		r.cfg.OnProblem(err)
	}
	r.away = true
}

// take publishes what is new of a record.
func (r *run) take(e durable.Entry, rec *record.Record) error {
	c, err := r.chains.Of(e.Key)
	if err != nil {
		return err
	}
	from, hole := c.Follow(rec)
	r.report.Hole = follow.Sum(r.report.Hole, hole)
	r.report.Repeated = follow.Sum(r.report.Repeated, from-rec.First)
	c.Value.unknown = rec.Kind == record.End && (rec.How == record.Vanished || rec.How == record.Away)
	switch rec.Kind {
	case record.Messages:
		return r.publish(rec, from)
	case record.Lost:
		r.report.Lost = follow.Sum(r.report.Lost, rec.Next()-from)
	default:
	}
	return nil
}

// publish publishes the messages of a record from a counter on.
func (r *run) publish(rec *record.Record, from uint64) error {
	if !r.tags.Contains(rec.Tag) {
		if err := r.serve(tags.Of(rec.Tag)); err != nil {
			return err
		}
	}
	r.page = r.page[:0]
	for m := range rec.Messages() {
		if m.Counter < from {
			continue
		}
		if wait := r.due(&m); wait > 0 {
			if err := r.send(); err != nil {
				return err
			}
			if err := r.pause(wait); err != nil {
				return err
			}
		}
		if r.page = append(r.page, m.Message); len(r.page) == maxPage {
			if err := r.send(); err != nil {
				return err
			}
		}
	}
	return r.send()
}

// due returns how long a message is to be waited for.
func (r *run) due(m *recording.Message) time.Duration {
	if r.cfg.Speed == 0 {
		return 0
	}
	if r.first.IsZero() {
		r.first, r.began = m.Time, time.Now()
	}
	at := time.Duration(float64(m.Time.Sub(r.first)) / r.cfg.Speed)
	return at - time.Since(r.began)
}

// pause waits.
func (r *run) pause(d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-r.ctx.Done():
		return context.Cause(r.ctx)
	}
}

// send publishes the messages that have gathered.
func (r *run) send() error {
	n, err := r.publisher.PublishBatchContext(r.ctx, r.page)
	for i := range n {
		r.report.Bytes += uint64(len(r.page[i].Data))
	}
	r.report.Messages += uint64(n)
	r.publisher.Flush()
	r.page = r.page[:0]
	return err
}

// serve adds tags to those of the publisher, which it opens if there is none.
func (r *run) serve(set tags.Set) (err error) {
	r.tags = r.tags.Union(set)
	if r.publisher != nil {
		return r.publisher.AddTags(set)
	}
	cfg := r.cfg.Publisher
	cfg.Tags = set
	if r.publisher, err = r.open.NewPublisher(cfg); err != nil {
		return err
	}
	if tell := r.cfg.OnPublisher; tell != nil {
		if err := tell(r.publisher); err != nil {
			return err
		}
	}
	if n := r.cfg.Subscribers; n > 0 {
		return r.publisher.WaitSubscribers(r.ctx, n, set)
	}
	return nil
}

// leave waits until subscribers have everything, and says goodbye.
//
//   - why: what has failed; nil: nothing.
func (r *run) leave(why error) error {
	if r.publisher == nil {
		return nil
	}
	err := r.publisher.DrainFailed(r.ctx, why)
	if r.ctx.Err() != nil {
		err = nil // the caller has ended it
	}
	return errors.Join(err, r.publisher.Close())
}
