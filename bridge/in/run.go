// SPDX-License-Identifier: Apache-2.0

package in

import (
	"context"
	"errors"
	"maps"
	"time"

	"tagbus/bridge/durable"
	"tagbus/bridge/internal/follow"
	"tagbus/bridge/record"
	"tagbus/bus"
	"tagbus/tags"
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

	Lost     uint64 // messages that the log names as lost
	Hole     uint64 // counters that no record covers: the retention has dropped some in the middle
	Unknown  uint64 // chains that end with a publisher which has gone without goodbye
	Repeated uint64 // counters that several records cover: published once

	Undelivered uint64 // messages that subscribers have not received, counted for each
	Unconfirmed uint64 // messages that they have received or not: they have gone without saying so

	Last durable.Position // of the record that was published last: a later Run starts after it
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
	away      bool                        // the log, since the last record
	keeper    *keeper                     // nil: there is no Config.Position
	behind    map[string]durable.Position // of each part, the last record that was read
	resumed   bool                        // the position is that of an earlier run
	within    within                      // what that has published of a record
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
//   - Errors: those of Config.Validate; a *PositionError; ErrNotStored; those of the log; a *TooManyError; a *CircleError; a *ReadError; those of NewPublisher, of
//     PublishBatchContext and Drain; ErrNotTaken, unless there is a Config.Position, of which the next Run publishes it again; the cause of the end of ctx, except with Follow, which only ends so.
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
	if err := r.resume(); err != nil {
		return err
	}
	err := r.begin()
	if err == nil {
		err = r.readAll()
	}
	why := err // that subscribers are told
	if err != nil && r.ctx.Err() != nil && errors.Is(err, context.Cause(r.ctx)) {
		why = nil
		if r.cfg.Query.Follow {
			err = nil
		}
	}
	return errors.Join(err, r.leave(why))
}

// begin serves the tags that the log has. With Follow it waits for a log that is away.
func (r *run) begin() error {
	for {
		known, err := r.tails()
		if err != nil && r.cfg.Query.Follow && mayGo(err) {
			if err := r.sitOut(err); err != nil {
				return err
			}
			continue
		}
		r.away = false
		if err == nil && len(known) > 0 {
			err = r.serve(tags.Of(known...))
		}
		return err
	}
}

// tails returns the tags that the log has.
func (r *run) tails() (known []tags.Tag, err error) {
	for e, err := range r.log.Tails(r.ctx, r.wanted()) {
		if err != nil {
			return nil, err
		}
		if len(known) == r.cfg.MaxChains {
			return nil, &TooManyError{Log: r.log.Name(), Key: e.Key, What: follow.Keys, Limit: r.cfg.MaxChains}
		}
		known = append(known, e.Key.Tag)
	}
	return known, nil
}

// resume goes on where an earlier run has ended, if there is a Config.Position.
func (r *run) resume() error {
	start := &r.cfg.Query.Start
	if r.cfg.Position == "" {
		return nil
	}
	file := &placeFile{path: r.cfg.Position}
	now := &place{Log: r.log.Name(), After: start.After, Time: start.Time}
	found, err := file.load(now.Log)
	if err != nil {
		return err
	}
	if found != nil {
		now, r.resumed = found, true
		*start = durable.Start{After: now.After, Time: now.Time, Behind: maps.Clone(now.Behind)}
		if now.Within != nil {
			r.within = *now.Within
		}
	}
	if now.Behind == nil {
		now.Behind = make(map[string]durable.Position)
	}
	if err := file.store(*now); err != nil {
		file.close()
		return &PositionError{File: file.path, Want: now.Log, Err: err}
	}
	r.keeper = keep(file, *now, r.cfg.OnProblem)
	return nil
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
	r.behind = maps.Clone(q.Start.Behind)
	if r.behind == nil {
		r.behind = make(map[string]durable.Position)
	}
	for {
		away, err := r.read(q)
		if !away || !q.Follow {
			return r.misplaced(err)
		}
		if err := r.sitOut(err); err != nil {
			return err
		}
		q.Start.Behind = maps.Clone(r.behind)
	}
}

// misplaced names the position that is the cause of an error.
func (r *run) misplaced(err error) error {
	gap := (*durable.GapError)(nil)
	if err == nil || !r.resumed || r.report.Records > 0 || !errors.As(err, &gap) && !errors.Is(err, durable.ErrRefused) {
		return err
	}
	return &PositionError{File: r.cfg.Position, Want: r.log.Name(), Err: err}
}

// mayGo reports whether an error of the log may go by itself.
func mayGo(err error) bool {
	gap, many := (*durable.GapError)(nil), (*TooManyError)(nil)
	return !errors.Is(err, durable.ErrRefused) && !errors.Is(err, durable.ErrClosed) && !errors.As(err, &gap) && !errors.As(err, &many)
}

// read publishes what a query selects. away reports whether the error is one of the log that may go.
func (r *run) read(q durable.Query) (away bool, err error) {
	for e, err := range r.log.Read(r.ctx, q) {
		if err != nil {
			return mayGo(err), err
		}
		rec, err := follow.Parse(e)
		if err != nil {
			return false, &ReadError{Log: r.log.Name(), Position: e.Position, Err: err}
		}
		if err := r.take(e, rec); err != nil {
			return false, err
		}
		r.report.Records++
		r.report.Last, r.behind[e.Part] = e.Position, e.Position
		r.keeper.passed(e.Part, e.Position)
		r.away = false
	}
	return false, nil
}

// sitOut waits before a log is asked again that is away, which is told once for each outage.
//
//   - Errors: the cause of the end of ctx, of which the log may say that it is away.
func (r *run) sitOut(err error) error {
	if r.ctx.Err() == nil {
		if !r.away && r.cfg.OnProblem != nil {
			r.cfg.OnProblem(err)
		}
		r.away = true
	}
	return r.pause(retryTime)
}

// take publishes what is new of a record.
func (r *run) take(e durable.Entry, rec *record.Record) error {
	if r.publisher != nil && e.Key.Instance == r.publisher.Instance() {
		return &CircleError{Log: r.log.Name(), Position: e.Position}
	}
	c, err := r.chains.Of(e.Key)
	if err != nil {
		return err
	}
	from, hole := c.Follow(rec)
	if w := r.within; w.Next > from && w == withinOf(e.Key, w.Next) {
		from = min(w.Next, rec.Next())
	}
	r.report.Hole = follow.Sum(r.report.Hole, hole)
	r.report.Repeated = follow.Sum(r.report.Repeated, from-rec.First)
	c.Value.unknown = rec.Kind == record.End && (rec.How == record.Vanished || rec.How == record.Away)
	switch rec.Kind {
	case record.Messages:
		next, err := r.publish(rec, from)
		if err != nil && next > 0 {
			r.keeper.within(withinOf(e.Key, next))
		}
		return err
	case record.Lost:
		r.report.Lost = follow.Sum(r.report.Lost, rec.Next()-from)
	default:
	}
	return nil
}
