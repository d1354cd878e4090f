// SPDX-License-Identifier: Apache-2.0

package memlog

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"

	"tagbus/bridge/durable"
	"tagbus/tags"
)

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
