// SPDX-License-Identifier: Apache-2.0

package jetstream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"tagbus/bridge/durable"
)

// headerBytes is room for what stands in front of a record: its headers.
const headerBytes = 1024

// leastRecord is the smallest limit of a stream that a bridge can use.
const leastRecord = 4 << 10

// Log is a durable.Log in a stream.
//
// Threads: any.
type Log struct {
	cfg      Config
	subjects subjects
	conn     *nats.Conn
	js       jetstream.JetStream
	limit    int
	copy     string // of which stream this one is a copy, that takes no records; empty: none

	inactive time.Duration // how long the servers keep the place of a reader that asks for nothing

	inbox  string // of acknowledgements: this, and the number of the flight
	acks   *nats.Subscription
	ticker sync.WaitGroup
	closed chan struct{}
	absent chan struct{} // no stream has taken a record; has room for one

	mu      sync.Mutex
	over    bool
	refused error // what a server will refuse again; nil: nothing
	last    uint64
	flights map[uint64]flight
}

var _ durable.Log = (*Log)(nil)

// flight is an append that waits for its acknowledgement.
type flight struct {
	done  func(durable.Position, error)
	until time.Time
}

// Open connects to the servers, and looks at the stream.
//
//   - Errors: those of Config.Validate; durable.ErrRefused, wrapped, for credentials, permissions or a stream
//     that do not fit; that of nats.Connect if no server answers.
//   - Blocks: for the servers, as long as ctx lasts.
func Open(ctx context.Context, cfg Config) (*Log, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	l := &Log{cfg: cfg, inactive: inactive, flights: make(map[uint64]flight), closed: make(chan struct{}), absent: make(chan struct{}, 1)}
	l.subjects, _ = parseSubjects(cfg.Subject) // Validate has
	options, err := cfg.options()
	if err != nil {
		return nil, fmt.Errorf("bridge/jetstream: %w: %w", durable.ErrRefused, err)
	}
	options = append(options, nats.ErrorHandler(l.onError),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) { l.failAll(away(err)) }),
		nats.ClosedHandler(func(c *nats.Conn) { l.onClosed(c.LastError()) }))
	if l.conn, err = nats.Connect(cfg.URL, options...); err != nil {
		return nil, l.explain(fmt.Errorf("connect to %s: %w", redacted(cfg.URL), err))
	}
	if err := l.begin(ctx); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// begin looks at the stream, and subscribes to acknowledgements.
func (l *Log) begin(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.AckTimeout)
	defer cancel()
	if l.cfg.Domain == "" {
		l.js, err = jetstream.New(l.conn)
	} else {
		l.js, err = jetstream.NewWithDomain(l.conn, l.cfg.Domain)
	}
	if err != nil {
		return err
	}
	stream, err := l.js.Stream(ctx, l.cfg.Stream)
	if err != nil {
		return l.explain(err)
	}
	if err := l.look(stream.CachedInfo()); err != nil {
		return err
	}
	l.inbox = l.conn.NewInbox() + "."
	if l.acks, err = l.conn.Subscribe(l.inbox+"*", l.onAck); err != nil {
		return l.explain(err)
	}
	l.ticker.Go(l.watchTimes)
	l.ticker.Go(l.watchStream)
	return nil
}

// look reports whether a bridge can use the stream.
//
// Errors: durable.ErrRefused, wrapped.
func (l *Log) look(info *jetstream.StreamInfo) error {
	c := &info.Config
	most := l.conn.MaxPayload()
	if c.MaxMsgSize > 0 {
		most = min(most, int64(c.MaxMsgSize))
	}
	l.limit = int(most) - headerBytes
	all := l.subjects.all()
	switch {
	case c.Mirror != nil:
		l.copy = c.Mirror.Name
	case len(c.Sources) > 0 && len(c.Subjects) == 0:
		l.copy = c.Sources[0].Name
	case !slices.ContainsFunc(c.Subjects, func(s string) bool { return covers(s, all) }):
		return l.refuse("stream %s has the subjects %q, and not %s: add it to the stream, or name another subject", l.cfg.Stream, c.Subjects, all)
	}
	switch {
	case c.Retention != jetstream.LimitsPolicy:
		return l.refuse("stream %s has the retention %v, where records go when they are read: make one with the retention limits", l.cfg.Stream, c.Retention)
	case c.Sealed:
		return l.refuse("stream %s is sealed: name another one", l.cfg.Stream)
	case l.limit < leastRecord:
		return l.refuse("stream %s takes messages of %d bytes at most, want %d or more: raise its max_msg_size, or max_payload of the servers", l.cfg.Stream, most, leastRecord+headerBytes)
	}
	return nil
}

// Name implements durable.Log.
func (l *Log) Name() string { return "stream " + l.cfg.Stream }

// MaxRecordBytes implements durable.Log.
func (l *Log) MaxRecordBytes() int { return l.limit }

// onClosed takes the end of the connection: nats.go gives up where credentials are refused again.
func (l *Log) onClosed(err error) {
	l.mu.Lock()
	if !l.over && err != nil && l.refused == nil {
		l.refused = l.refuse("%v", err)
	}
	l.mu.Unlock()
	l.failAll(durable.ErrClosed)
}

// onError takes what a server says about no message in particular.
func (l *Log) onError(_ *nats.Conn, _ *nats.Subscription, err error) {
	if errors.Is(err, nats.ErrPermissionViolation) {
		l.giveUp(l.explain(err))
	}
}

// giveUp refuses all appends from now on.
//
//   - why: wraps durable.ErrRefused.
func (l *Log) giveUp(why error) {
	l.mu.Lock()
	if l.refused == nil {
		l.refused = why
	}
	l.mu.Unlock()
	l.failAll(durable.ErrClosed)
}

// Close implements durable.Log.
func (l *Log) Close() error {
	l.mu.Lock()
	first := !l.over
	l.over = true
	l.mu.Unlock()
	if first {
		close(l.closed)
		l.conn.Close()
		l.failAll(durable.ErrClosed)
	}
	l.ticker.Wait()
	return nil
}
