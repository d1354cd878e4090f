// SPDX-License-Identifier: Apache-2.0

// Package memlog is a log in memory, for tests. It fails on demand in the ways in which an engine behind
// a network fails.
package memlog

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"tagbus/bridge/durable"
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

// Remake drops all entries and begins at the first position, as a log does that is deleted and made again.
func (l *Log) Remake() {
	d := l.data
	d.mu.Lock()
	defer d.mu.Unlock()
	d.entries, d.dropped = nil, 0
	clear(d.last)
	clear(d.ids)
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

// Close implements durable.Log.
func (l *Log) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}
