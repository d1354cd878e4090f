// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tagbus/bridge/durable"
)

// Log is a durable.Log in one topic. It is a reader until the first Append, with which it becomes the writer of the topic.
//
// Threads: any.
type Log struct {
	cfg      Config
	several  *several    // of which this is one topic; nil: it is the only one
	number   int         // of the topic among several
	client   *kgo.Client // for all but transactions and reads of spans
	connects *connects   // of all clients
	limit    int
	topic    topic
	index    topic   // no partitions: there is none, or it may not be read. With the turn of places
	self     [8]byte // its session, random
	began    time.Time
	places   index
	reads    reads

	stop    context.Context
	halt    context.CancelFunc
	running sync.WaitGroup
	work    chan struct{} // something was queued; has room for one

	mu      sync.Mutex
	over    bool
	refused error // what would be refused again; nil: nothing
	queue   []durable.Append

	writer writer // of the goroutine that writes
}

var _ durable.Log = (*Log)(nil)

// Open connects to the brokers, and looks at the topic, or at those of a pattern.
//
//   - Errors: those of Config.Validate; durable.ErrRefused, wrapped, for credentials, permissions or a topic that do
//     not fit; another one if no broker answers: see Away.
//   - Blocks: for the brokers, up to Config.AckTimeout.
func Open(ctx context.Context, cfg Config) (durable.Log, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	l := newLog(context.Background(), cfg.withDefaults())
	l.connects = new(connects)
	var err error
	if l.client, err = l.newClient(); err != nil {
		return nil, fmt.Errorf("bridge/kafka: %w", err)
	}
	looking, cancel := context.WithTimeout(ctx, l.cfg.AckTimeout)
	defer cancel()
	l.connects.call(func(err error) {
		if isRefused(l.explain(err)) {
			cancel() // the client would try it again and again
		}
	})
	defer l.connects.call(nil)
	log, begin := durable.Log(l), l.begin
	if isPattern(l.cfg.Topic) {
		s := newSeveral(l)
		log, begin = s, s.begin
	}
	if err := begin(looking); err != nil {
		err = l.blame(ctx, err)
		if !errors.Is(err, durable.ErrRefused) {
			err = fmt.Errorf("connect to %s: %w", l.cfg.redacted(), err)
		}
		return nil, errors.Join(err, log.Close())
	}
	return log, nil
}

// newLog returns a Log without a client, which ends with stop.
func newLog(stop context.Context, cfg Config) *Log {
	l := &Log{cfg: cfg, work: make(chan struct{}, 1), began: time.Now()}
	_, _ = rand.Read(l.self[:]) // it never fails
	l.stop, l.halt = context.WithCancel(stop)
	return l
}

// begin looks at the topic.
func (l *Log) begin(ctx context.Context) error {
	if err := l.look(ctx); err != nil {
		return err
	}
	l.places.begin(l)
	l.running.Go(l.write)
	return nil
}

// newClient returns a client whose errors of connections are noted.
func (l *Log) newClient(more ...kgo.Opt) (*kgo.Client, error) {
	return l.cfg.client(append(more, kgo.WithHooks(l.connects))...)
}

// connects notes why the last connection has failed, which a client does not say when time is up.
type connects struct {
	mu     sync.Mutex
	err    error
	failed func(error) // told of each; may be nil
}

// call sets what is told of errors.
func (c *connects) call(failed func(error)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failed = failed
}

// OnBrokerConnect implements kgo.HookBrokerConnect.
func (c *connects) OnBrokerConnect(_ kgo.BrokerMetadata, _ time.Duration, _ net.Conn, err error) {
	if errors.Is(err, context.Canceled) || errors.Is(err, kgo.ErrClientClosed) {
		return // by this program
	}
	c.mu.Lock()
	c.err = err
	failed := c.failed
	c.mu.Unlock()
	if err != nil && failed != nil {
		failed(err)
	}
}

// last returns the error of the last connection; nil: it came about.
func (c *connects) last() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// blame returns what an error means: the cause of the end of ctx, if that is what it is.
func (l *Log) blame(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case l.stop.Err() != nil:
		return durable.ErrClosed
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return l.explain(err)
}

// within returns a context for one request: with ctx, with the Log, or in time it ends.
func (l *Log) within(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.AckTimeout)
	unhook := context.AfterFunc(l.stop, cancel)
	return ctx, func() {
		unhook()
		cancel()
	}
}

// Name implements durable.Log.
func (l *Log) Name() string { return "topic " + l.cfg.Topic }

// MaxRecordBytes implements durable.Log.
func (l *Log) MaxRecordBytes() int { return l.limit }

// Close implements durable.Log.
func (l *Log) Close() error {
	l.mu.Lock()
	l.over = true
	l.mu.Unlock()
	l.halt()
	l.running.Wait()
	if l.several == nil {
		l.client.Close()
	}
	return nil
}
