// SPDX-License-Identifier: Apache-2.0

package jetstream

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"tagbus/bridge/durable"
)

// pull is a reader at work. Its place in the stream is a consumer at a server, and it makes another one if the servers have
// forgotten that.
type pull struct {
	log     *Log
	query   durable.Query
	tails   bool // the last record of each subject
	filters []string
	yield   func(durable.Entry, error) bool

	stream jetstream.Stream
	part   string // of the stream
	first  uint64 // the first record that is asked for; 0: Time says it, or it is the first of all
	end    uint64 // the last record, as it was at the beginning; not with Follow
	read   uint64 // the last record that has come; 0: none has
}

// run calls yield until it is false, or until the end.
func (p *pull) run(ctx context.Context) error {
	if err := p.begin(ctx); err != nil {
		return err
	}
	// The server that has the consumer may lag behind the others: what it says of what is left is no end.
	if q := p.query; !q.Follow {
		end, at, err := p.log.end(ctx, p.filters)
		if err != nil || end < max(1, p.first) || p.first == 0 && !q.Start.Time.IsZero() && at.Before(q.Start.Time) {
			return err
		}
		p.end = end
	}
	for {
		forgotten, err := p.consume(ctx)
		if !forgotten {
			return err
		}
		if err := p.goOn(ctx); err != nil {
			return err
		}
	}
}

// begin looks at the stream, and at where the reader begins.
func (p *pull) begin(ctx context.Context) error {
	state, behind, err := p.look(ctx, p.query.Start.Behind)
	if err != nil {
		return err
	}
	after := uint64(p.query.Start.After)
	if behind > 0 {
		after = behind
	}
	if after == 0 {
		return nil
	}
	if p.first = after + 1; p.first < state.FirstSeq {
		return &durable.GapError{Log: p.log.Name(), Want: durable.Position(p.first), First: durable.Position(state.FirstSeq)}
	}
	return nil
}

// goOn looks at the stream again, and goes on behind the last record that has come. Those that the retention has dropped since are passed
// over, as they are by a consumer.
func (p *pull) goOn(ctx context.Context) error {
	if p.read == 0 {
		_, _, err := p.look(ctx, p.query.Start.Behind)
		return err
	}
	state, behind, err := p.look(ctx, map[string]durable.Position{p.part: durable.Position(p.read)})
	p.first = max(behind+1, state.FirstSeq)
	return err
}

// lag is how long a server that has just become the leader of a stream, or has begun to mirror one, may lack the last records.
const lag = time.Second

// look looks at the stream.
//
//   - behind: the last record of each part that is not read any more; done: the one of this stream.
//   - Errors: durable.ErrRefused, wrapped, if it has never had that; those of the servers.
func (p *pull) look(ctx context.Context, behind map[string]durable.Position) (state jetstream.StreamState, done uint64, err error) {
	l := p.log
	for again := false; ; again = true {
		if p.stream, err = l.js.Stream(ctx, l.cfg.Stream); err != nil {
			return state, 0, l.explain(err)
		}
		info := p.stream.CachedInfo()
		state, p.part = info.State, partOf(info)
		if done, err = l.behind(p.part, behind); err != nil || done <= state.LastSeq {
			return state, done, err
		}
		if again {
			return state, 0, l.refuse("stream %s ends at record %d, and one behind record %d was asked for: it was deleted and made again, so begin at another record", l.cfg.Stream, state.LastSeq, done)
		}
		pause := time.NewTimer(lag)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return state, 0, context.Cause(ctx)
		}
	}
}

// partOf returns the name of a stream in a Start: when it was made, for one that is deleted and made again has other records by the
// same numbers. A mirror has those of its source, however often it is made: "".
func partOf(info *jetstream.StreamInfo) string {
	if info.Config.Mirror != nil {
		return ""
	}
	return info.Created.UTC().Format(time.RFC3339Nano)
}

// behind returns which record of a stream is not read any more; 0: none is named. Positions of earlier versions, and those of mirrors,
// name no stream.
func (l *Log) behind(part string, all map[string]durable.Position) (at uint64, err error) {
	_, known := all[part]
	for of, n := range all {
		if of != part && of != "" && part != "" && !known {
			return 0, l.refuse("stream %s is one of %s, and the records that were read are of one of %s: it was deleted and made again, so begin at another record", l.cfg.Stream, part, of)
		}
		at = max(at, uint64(n))
	}
	return at, nil
}

// config returns what the servers are asked for.
func (p *pull) config() jetstream.ConsumerConfig {
	cfg := jetstream.ConsumerConfig{
		FilterSubjects: p.filters, DeliverPolicy: jetstream.DeliverAllPolicy, AckPolicy: jetstream.AckNonePolicy, MaxDeliver: 1,
		MemoryStorage: true, Replicas: 1, InactiveThreshold: p.log.inactive,
	}
	switch start := p.query.Start; {
	case p.tails:
		cfg.DeliverPolicy = jetstream.DeliverLastPerSubjectPolicy
	case p.first > 0:
		cfg.DeliverPolicy, cfg.OptStartSeq = jetstream.DeliverByStartSequencePolicy, p.first
	case !start.Time.IsZero():
		cfg.DeliverPolicy, cfg.OptStartTime = jetstream.DeliverByStartTimePolicy, &start.Time
	}
	return cfg
}

// consume calls yield until it is false, or until the end.
//
//   - forgotten: the servers have forgotten the consumer, and answer.
func (p *pull) consume(ctx context.Context) (forgotten bool, err error) {
	l := p.log
	consumer, err := l.consumer(ctx, p.stream, p.config())
	if err != nil {
		return false, err
	}
	messages, err := consumer.Messages(jetstream.PullMaxBytes(max(readAhead, 4*l.conn.MaxPayload())), jetstream.PullHeartbeat(l.heartbeat()))
	if err != nil {
		return false, l.explain(err)
	}
	defer messages.Stop()
	for n := uint64(1); ; n++ {
		m, err := l.next(ctx, messages, p.query.Follow)
		if !p.query.Follow && errors.Is(err, errSilent) && l.gone(ctx, p.filters, max(p.read, max(1, p.first)-1)) {
			return false, nil
		}
		if err != nil {
			return !p.tails && p.isForgotten(ctx, consumer, err), err
		}
		if more, err := p.take(m, n); !more {
			return false, err
		}
	}
}

// take yields a record, and reports whether there are to be more.
//
//   - n: its number among those that the consumer gets.
func (p *pull) take(m jetstream.Msg, n uint64) (more bool, err error) {
	l, q := p.log, p.query
	meta, err := m.Metadata()
	if err != nil {
		return false, l.explain(err)
	}
	if meta.Sequence.Consumer != n {
		return false, errSkipped
	}
	at := meta.Sequence.Stream
	if q.End.Reached(durable.Position(at), meta.Timestamp) {
		return false, nil
	}
	key, ok := l.subjects.key(m.Subject())
	if !ok {
		return false, l.refuse("entry %d of stream %s has the subject %q, which no bridge writes: give the bridge subjects of its own", at, l.cfg.Stream, m.Subject())
	}
	if q.Tags.IsEmpty() || q.Tags.Contains(key.Tag) {
		if !p.yield(durable.Entry{Key: key, Part: p.part, Position: durable.Position(at), Time: meta.Timestamp, Data: m.Data()}, nil) {
			return false, nil
		}
	}
	p.read = at
	return q.Follow || at < p.end, nil
}

// isForgotten reports whether an error of a consumer is that the servers have forgotten it, as they do when it has asked for nothing for a
// while: what it had asked for ahead has taken that long. It is so, too, if the server is gone that had it.
func (p *pull) isForgotten(ctx context.Context, c jetstream.Consumer, err error) bool {
	if !errors.Is(err, jetstream.ErrNoHeartbeat) && !errors.Is(err, jetstream.ErrConsumerDeleted) && !errors.Is(err, errSilent) {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, p.log.cfg.AckTimeout)
	defer cancel()
	_, err = p.stream.Consumer(ctx, c.CachedInfo().Name)
	return errors.Is(err, jetstream.ErrConsumerNotFound)
}
