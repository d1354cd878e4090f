// SPDX-License-Identifier: Apache-2.0

// Package memlog is a log in memory, for tests. It fails on demand in the ways in which an engine behind
// a network fails.
package memlog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"tagbus/bridge/durable"
	"tagbus/tags"
)

// ErrAway is what is reported while the log is away, and for an Append whose outcome is not told.
var ErrAway = errors.New("memlog: no answer")

// window is how long the log knows a record again by its id, as a stream of JetStream does by default.
const window = 2 * time.Minute

// Fate is what becomes of an Append. The zero value stores it and says so at once.
type Fate struct {
	Lost   bool          // it never reaches the log
	Silent bool          // its outcome is not told: the error is ErrAway
	Store  time.Duration // how long until it is stored, or refused
	Answer time.Duration // how long until Done is called
}

// Log is a durable.Log in memory. Entries outlive Close, so that Reopen is another bridge's.
//
// Threads: any.
type Log struct {
	limit int
	fate  func(durable.Append) Fate
	data  *data

	mu     sync.Mutex
	away   bool
	closed chan struct{}
	once   sync.Once
}

// data is what several Logs share.
type data struct {
	mu      sync.Mutex
	entries []durable.Entry // position i+1
	last    map[durable.Key]durable.Position
	ids     map[string]durable.Position // of Append, for window
	dropped int                         // entries at the begin that the retention has dropped
	grown   chan struct{}               // closed when an entry comes
}

// New returns an empty log.
//
//   - limit: bytes of a record.
//   - fate: decides about each Append; nil: the zero Fate. It is called on the goroutine of Append.
func New(limit int, fate func(durable.Append) Fate) *Log {
	return open(&data{last: make(map[durable.Key]durable.Position), ids: make(map[string]durable.Position), grown: make(chan struct{})}, limit, fate)
}

// Reopen returns another Log with the same entries.
func (l *Log) Reopen(fate func(durable.Append) Fate) *Log { return open(l.data, l.limit, fate) }

func open(d *data, limit int, fate func(durable.Append) Fate) *Log {
	if fate == nil {
		fate = func(durable.Append) Fate { return Fate{} }
	}
	return &Log{limit: limit, fate: fate, data: d, closed: make(chan struct{})}
}

// SetAway says if all that is asked fails.
func (l *Log) SetAway(away bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.away = away
}

// Drop drops the first n entries, as a retention does.
func (l *Log) Drop(n int) {
	d := l.data
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dropped = max(d.dropped, n)
	for key, at := range d.last {
		if int(at) <= d.dropped {
			delete(d.last, key)
		}
	}
}

// Entries returns all entries.
func (l *Log) Entries() []durable.Entry {
	l.data.mu.Lock()
	defer l.data.mu.Unlock()
	return slices.Clone(l.data.entries[l.data.dropped:])
}

// Name implements durable.Log.
func (l *Log) Name() string { return "memory" }

// MaxRecordBytes implements durable.Log.
func (l *Log) MaxRecordBytes() int { return l.limit }

// Append implements durable.Log.
func (l *Log) Append(a durable.Append) {
	if err := l.state(); err != nil {
		a.Done(0, err)
		return
	}
	if len(a.Data) > l.limit {
		a.Done(0, fmt.Errorf("memlog: %w: a record of %d bytes, and the limit is %d", durable.ErrRefused, len(a.Data), l.limit))
		return
	}
	f := l.fate(a)
	a.Data = slices.Clone(a.Data)
	outcome := struct {
		at  durable.Position
		err error
	}{err: ErrAway}
	var mu sync.Mutex
	after(f.Store, func() {
		mu.Lock()
		defer mu.Unlock()
		if !f.Lost {
			at, err := l.data.append(a)
			if !f.Silent {
				outcome.at, outcome.err = at, err
			}
		}
	})
	after(f.Answer, func() {
		mu.Lock()
		o := outcome
		mu.Unlock()
		a.Done(o.at, o.err)
	})
}

// after calls f, later or at once.
func after(d time.Duration, f func()) {
	if d == 0 {
		f()
		return
	}
	time.AfterFunc(d, f)
}

func (d *data) append(a durable.Append) (durable.Position, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if at := d.ids[a.ID]; at > 0 && time.Since(d.entries[at-1].Time) < window {
		return at, nil
	}
	if d.last[a.Key] != a.After {
		return 0, durable.ErrConflict
	}
	at := durable.Position(len(d.entries) + 1)
	d.entries = append(d.entries, durable.Entry{Key: a.Key, Position: at, Time: time.Now(), Data: a.Data})
	d.last[a.Key] = at
	if a.ID != "" {
		d.ids[a.ID] = at
	}
	close(d.grown)
	d.grown = make(chan struct{})
	return at, nil
}

// state returns why nothing can be asked; nil: all can.
func (l *Log) state() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.closed:
		return durable.ErrClosed
	default:
	}
	if l.away {
		return ErrAway
	}
	return nil
}

// Last implements durable.Log.
func (l *Log) Last(_ context.Context, key durable.Key) (durable.Entry, error) {
	if err := l.state(); err != nil {
		return durable.Entry{}, err
	}
	d := l.data
	d.mu.Lock()
	defer d.mu.Unlock()
	if at := d.last[key]; at > 0 {
		return d.entries[at-1], nil
	}
	return durable.Entry{Key: key}, nil
}

// Tails implements durable.Log.
func (l *Log) Tails(_ context.Context, set tags.Set) iter.Seq2[durable.Entry, error] {
	return func(yield func(durable.Entry, error) bool) {
		if err := l.state(); err != nil {
			yield(durable.Entry{}, err)
			return
		}
		for _, e := range l.data.tails(set) {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (d *data) tails(set tags.Set) (all []durable.Entry) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for key, at := range d.last {
		if set.Contains(key.Tag) {
			all = append(all, d.entries[at-1])
		}
	}
	slices.SortFunc(all, func(a, b durable.Entry) int { return cmp.Compare(a.Position, b.Position) })
	return all
}

// Read implements durable.Log.
func (l *Log) Read(ctx context.Context, q durable.Query) iter.Seq2[durable.Entry, error] {
	return func(yield func(durable.Entry, error) bool) {
		d := l.data
		d.mu.Lock()
		end, first := len(d.entries), d.dropped
		d.mu.Unlock()
		if behind := q.Start.Behind[""]; behind > 0 {
			q.Start.After = behind
		}
		at := int(q.Start.After)
		if len(q.Start.Behind) > 0 && at > end {
			yield(durable.Entry{}, fmt.Errorf("memlog: %w: record %d was asked for of %d", durable.ErrRefused, at, end))
			return
		}
		if at > 0 && at < first {
			yield(durable.Entry{}, &durable.GapError{Log: l.Name(), Want: q.Start.After + 1, First: durable.Position(first + 1)})
			return
		}
		for at = max(at, first); ; at++ {
			if !q.Follow && at >= end {
				return
			}
			e, err := l.entry(ctx, at)
			if err != nil {
				yield(durable.Entry{}, err)
				return
			}
			if q.End.Reached(e.Position, e.Time) {
				return
			}
			if e.Time.Before(q.Start.Time) || !q.Tags.IsEmpty() && !q.Tags.Contains(e.Key.Tag) {
				continue
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

// entry returns the entry with an index, and waits for it.
func (l *Log) entry(ctx context.Context, at int) (durable.Entry, error) {
	for {
		if err := l.state(); err != nil {
			return durable.Entry{}, err
		}
		l.data.mu.Lock()
		grown := l.data.grown
		if at < len(l.data.entries) {
			defer l.data.mu.Unlock()
			return l.data.entries[at], nil
		}
		l.data.mu.Unlock()
		select {
		case <-grown:
		case <-ctx.Done():
			return durable.Entry{}, context.Cause(ctx)
		case <-l.closed:
			return durable.Entry{}, durable.ErrClosed
		}
	}
}

// Close implements durable.Log.
func (l *Log) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}
