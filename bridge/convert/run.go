// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"container/heap"
	"context"
	"fmt"
	"time"

	"tagbus/bridge/durable"
	"tagbus/bridge/internal/follow"
	"tagbus/bridge/record"
	"tagbus/recording"
)

// Report says what is in the recording, and what of it was missing in the log.
type Report struct {
	Messages uint64
	Bytes    uint64 // of data
	Events   uint64
	Records  uint64 // that were read
	Chains   int    // publishers and tags

	Lost     uint64           // messages that the log names as lost
	Hole     uint64           // counters that no record covers: the retention has dropped some in the middle
	Begun    int              // chains that begin in the middle: the span begins behind their begin, or the retention has dropped it
	Unknown  int              // publishers that are gone without goodbye
	Repeated uint64           // counters that several records cover: they are in the recording once
	First    durable.Position // of the records that were read
	Last     durable.Position
}

// run is one Run.
type run struct {
	cfg        Config
	log        durable.Log
	to         *recording.Writer
	chains     follow.Chains[state]
	publishers map[string]*publisher // by instance
	peers      peers
	due        due // chains with records that are not written
	held       int // bytes of these
	last       time.Time
	report     Report
}

// Run appends what a Query selects to a recording, which it does not close.
//
//   - Result: what is in the recording, also with an error.
//   - Errors: those of Config.Validate; those of the log; ErrEmpty, wrapped; a *ReadError; a *TooManyError; those of the
//     Writer; the cause of the end of ctx.
//   - Blocks: for the log, and for the disk.
func Run(ctx context.Context, log durable.Log, to *recording.Writer, cfg Config) (Report, error) {
	if err := cfg.Validate(); err != nil {
		return Report{}, err
	}
	cfg = cfg.withDefaults()
	r := &run{
		cfg: cfg, log: log, to: to, chains: follow.Chains[state]{Log: log.Name(), Max: cfg.MaxChains}, publishers: make(map[string]*publisher),
	}
	err := r.run(ctx)
	r.report.Chains = r.chains.Len()
	for _, p := range r.publishers {
		if p.gone {
			r.report.Unknown++
		}
	}
	return r.report, err
}

func (r *run) run(ctx context.Context) error {
	for e, err := range r.log.Read(ctx, r.cfg.Query) {
		if err != nil {
			return err
		}
		if err := r.take(e); err != nil {
			return err
		}
		for r.held > r.cfg.WindowBytes {
			if err := r.write(ctx); err != nil {
				return err
			}
		}
	}
	if r.report.Records == 0 {
		return fmt.Errorf("bridge/convert: %s %w", r.log.Name(), ErrEmpty)
	}
	for len(r.due) > 0 {
		if err := r.write(ctx); err != nil {
			return err
		}
	}
	return r.event(recording.Event{
		Kind: recording.Stopped, Time: r.last, Text: fmt.Sprintf("converted from %s, records %d to %d", r.log.Name(), r.report.First, r.report.Last),
	})
}

// recordBytes is what a record takes in memory besides its bytes.
const recordBytes = 512

// take reads a record, and has it wait for its turn.
func (r *run) take(e durable.Entry) error {
	rec, err := follow.Parse(e)
	if err != nil {
		return &ReadError{r.log.Name(), e.Position, err}
	}
	if r.report.Records++; r.report.First == 0 {
		r.report.First = e.Position
	}
	r.report.First, r.report.Last = min(r.report.First, e.Position), max(r.report.Last, e.Position)
	c, err := r.chains.Of(e.Key)
	if err != nil {
		return err
	}
	rec.Peer = r.peers.of(*rec.Peer)
	p := &part{rec: rec, first: c.Next() == 0, bytes: len(e.Data) + recordBytes}
	p.from, p.hole = c.Follow(rec)
	r.report.Hole = follow.Sum(r.report.Hole, p.hole)
	r.report.Repeated = follow.Sum(r.report.Repeated, p.from-rec.First)
	p.begin()
	r.held += p.bytes
	r.due.add(c, p)
	return nil
}

// write writes the record that is the first by time, up to where one of another chain is.
func (r *run) write(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	c := r.due[0]
	p := c.Value.parts[0]
	until := r.due.second()
	for {
		done, err := r.step(c, p)
		if err != nil {
			return err
		}
		if done {
			break
		}
		if !p.time.Before(until) {
			heap.Fix(&r.due, 0)
			return nil
		}
	}
	r.held -= p.bytes
	if c.Value.parts = c.Value.parts[1:]; len(c.Value.parts) == 0 {
		c.Value.parts = nil
		heap.Pop(&r.due)
		return nil
	}
	heap.Fix(&r.due, 0)
	return nil
}

// step writes one message of a record, or what else it is. done: that was all of it.
func (r *run) step(c *chain, p *part) (done bool, err error) {
	if !p.started {
		p.started = true
		if err := r.before(c, p); err != nil {
			return false, err
		}
	}
	if p.rec.Kind != record.Messages {
		return true, r.mark(c, p)
	}
	if !p.some {
		return true, nil
	}
	m := &p.message
	if err := r.to.Append(m.Time, &m.Message); err != nil {
		return false, err
	}
	r.report.Messages++
	r.report.Bytes += uint64(len(m.Data))
	r.note(m.Time)
	return !p.next(), nil
}

// note notes the time of what is written.
func (r *run) note(at time.Time) {
	if at.After(r.last) {
		r.last = at
	}
}

// event writes an event.
func (r *run) event(e recording.Event) error {
	r.report.Events++
	r.note(e.Time)
	return r.to.AppendEvent(e)
}
