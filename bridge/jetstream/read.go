// SPDX-License-Identifier: Apache-2.0

package jetstream

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"tagbus/bridge/durable"
	"tagbus/tags"
)

// readAhead is how many bytes of records a reader asks for at once. By default it would be 500 records, however large.
const readAhead = 32 << 20

// stored is the answer of a stream that is asked for a message.
type stored struct {
	Message *struct {
		Subject  string    `json:"subject"`
		Sequence uint64    `json:"seq"`
		Data     []byte    `json:"data"`
		Time     time.Time `json:"time"`
	} `json:"message"`
	Error *jetstream.APIError `json:"error"`
}

// Last implements durable.Log.
func (l *Log) Last(ctx context.Context, key durable.Key) (durable.Entry, error) {
	got, err := l.lastOf(ctx, l.subjects.of(key))
	if err != nil || got.Message == nil {
		return durable.Entry{Key: key}, err
	}
	m := got.Message
	return durable.Entry{Key: key, Position: durable.Position(m.Sequence), Time: m.Time, Data: m.Data}, nil
}

// lastOf returns the last record of a subject, which may have wildcards; without a message there is none. It asks the
// leader of the stream: another replica may not have the last record.
func (l *Log) lastOf(ctx context.Context, subject string) (answer stored, err error) {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.AckTimeout)
	defer cancel()
	question, err := json.Marshal(map[string]string{"last_by_subj": subject})
	if err != nil {
		return answer, err
	}
	m, err := l.conn.RequestWithContext(ctx, l.cfg.prefix()+"STREAM.MSG.GET."+l.cfg.Stream, question)
	if err != nil {
		return answer, l.explain(err)
	}
	if err := json.Unmarshal(m.Data, &answer); err != nil {
		return answer, l.refuse("what answers for stream %s is no JetStream: %v", l.cfg.Stream, err)
	}
	switch {
	case answer.Error != nil && answer.Error.ErrorCode == jetstream.JSErrCodeMessageNotFound:
		return stored{}, nil
	case answer.Error != nil:
		return answer, l.explain(answer.Error)
	case answer.Message == nil:
		return answer, l.refuse("stream %s answers without a message", l.cfg.Stream)
	}
	return answer, nil
}

// end returns the sequence of the last record of some subjects, and when it was stored; 0: there is none. It asks for all at once:
// the servers may be far.
func (l *Log) end(ctx context.Context, filters []string) (end uint64, at time.Time, err error) {
	var (
		wg sync.WaitGroup
		mu sync.Mutex
	)
	for _, subject := range filters {
		wg.Go(func() {
			got, failed := l.lastOf(ctx, subject)
			mu.Lock()
			defer mu.Unlock()
			if err = cmp.Or(err, failed); failed != nil {
				return
			}
			if m := got.Message; m != nil && m.Sequence > end {
				end, at = m.Sequence, m.Time
			}
		})
	}
	wg.Wait()
	return end, at, err
}

// Tails implements durable.Log.
func (l *Log) Tails(ctx context.Context, set tags.Set) iter.Seq2[durable.Entry, error] {
	return l.read(ctx, durable.Query{Tags: set}, true)
}

// Read implements durable.Log.
func (l *Log) Read(ctx context.Context, q durable.Query) iter.Seq2[durable.Entry, error] {
	return l.read(ctx, q, false)
}

// read yields what consumers get.
func (l *Log) read(ctx context.Context, q durable.Query, tails bool) iter.Seq2[durable.Entry, error] {
	return func(yield func(durable.Entry, error) bool) {
		p := &pull{log: l, query: q, tails: tails, filters: l.subjects.filters(q.Tags), yield: yield}
		if err := p.run(ctx); err != nil {
			yield(durable.Entry{}, err)
		}
	}
}

// gone reports whether no record is left behind one, as retention has dropped those that were there at the beginning.
func (l *Log) gone(ctx context.Context, filters []string, read uint64) bool {
	end, _, err := l.end(ctx, filters)
	return err == nil && end <= read
}

// errSkipped is the end of a reader to which the servers have sent records that did not come: the connection was lost.
var errSkipped = errors.New("bridge/jetstream: records were lost on their way from the servers: read again behind the last one")

// silence is how long servers may take for a record that there is, in terms of Config.AckTimeout.
const silence = 3

// errSilent is the end of a reader that waits for a record that there is.
var errSilent = errors.New("bridge/jetstream: the servers send nothing of the stream: they are away, or it has no leader")

// consumer makes a consumer, which the servers forget when it is not used. It ends with the server that has it: an ordered
// one of nats.go would be made again, and again while servers hang, whatever becomes of ctx.
func (l *Log) consumer(ctx context.Context, stream jetstream.Stream, cfg jetstream.ConsumerConfig) (jetstream.Consumer, error) {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.AckTimeout)
	defer cancel()
	c, err := stream.CreateConsumer(ctx, cfg)
	if err != nil {
		return nil, l.explain(err)
	}
	return c, nil
}

// inactive is Log.inactive outside of tests.
const inactive = time.Minute

// heartbeat is the longest silence of a server, twice which ends a reader.
func (l *Log) heartbeat() time.Duration {
	return min(max(l.cfg.AckTimeout, 500*time.Millisecond), 15*time.Second) // which nats.go takes
}

// next waits for a record; unless it follows, there is one.
func (l *Log) next(ctx context.Context, messages jetstream.MessagesContext, follow bool) (jetstream.Msg, error) {
	for {
		m, err := l.nextInTime(ctx, messages)
		// Without its connection nats.go waits for the next one, for ever if there is none.
		if !follow || !errors.Is(err, errSilent) || !l.conn.IsConnected() {
			return m, err
		}
	}
}

// nextInTime waits for a record.
//
// Errors: errSilent; the cause of the end of ctx.
func (l *Log) nextInTime(ctx context.Context, messages jetstream.MessagesContext) (jetstream.Msg, error) {
	limited, cancel := context.WithTimeoutCause(ctx, silence*l.cfg.AckTimeout, errSilent)
	defer cancel()
	m, err := messages.Next(jetstream.NextContext(limited))
	if err != nil {
		if ended := context.Cause(limited); ended != nil && errors.Is(err, limited.Err()) {
			return nil, ended
		}
		return nil, l.explain(err)
	}
	return m, nil
}
