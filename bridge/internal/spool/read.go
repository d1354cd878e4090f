// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"errors"
	"fmt"
	"iter"
	"math"

	"tagbus/bridge/durable"
	"tagbus/bridge/record"
	"tagbus/recording"
)

// Read yields the records of a segment, each message alone, with Begin for each place where a chain begins or goes on behind a
// gap. What cannot be read is an error, behind which the iteration goes on if the rest can.
//
// The data of messages is valid until the next step.
func (s *Spool) Read(seg *Segment) iter.Seq2[*Record, error] {
	return func(yield func(*Record, error) bool) {
		r, file, err := s.open(seg)
		if err != nil {
			seg.Damaged = true
			yield(nil, err)
			return
		}
		defer func() { _ = file.Close() }() // it was only read
		if d := r.Info(); d.HeaderDamage != nil || d.IndexDamaged || d.Skipped > 0 {
			seg.Damaged = true
			if !yield(nil, s.named(fmt.Errorf("%s is damaged", d.File))) {
				return
			}
		}
		places := make(map[durable.Key]uint64)
		for rec, err := range r.Records(recording.Query{}) {
			var one *Record
			if err == nil {
				one, err = take(places, &rec)
			}
			if err != nil {
				seg.Damaged = true
				err = s.named(err)
			}
			if (one != nil || err != nil) && !yield(one, err) {
				return
			}
		}
	}
}

// errNoPlace means that a record of a segment has no place in its chain.
var errNoPlace = errors.New("a loss has no place: what was before it cannot be read")

// take returns what a record of a recording is; nil: nothing.
//
//   - places: where each chain goes on.
func take(places map[durable.Key]uint64, rec *recording.Record) (*Record, error) {
	e := rec.Event
	if e == nil {
		if rec.Publisher == nil || rec.Counter == 0 || rec.Counter >= math.MaxInt64 {
			return nil, recording.ErrMalformed
		}
		places[durable.Key{Tag: rec.Tag, Instance: rec.Publisher.Instance}] = rec.Counter + 1
		return &Record{Record: record.Record{
			Kind: record.Messages, Peer: rec.Publisher, Tag: rec.Tag, First: rec.Counter, Count: 1, Time: rec.Time,
		}, Message: &rec.Message}, nil
	}
	if e.Peer == nil {
		return nil, nil // of a newer version
	}
	r := &Record{Record: record.Record{Peer: e.Peer, Tag: e.Tag, Time: e.Time, Text: e.Text}}
	key := durable.Key{Tag: e.Tag, Instance: e.Peer.Instance}
	switch e.Kind {
	case recording.Position:
		r.Kind, r.First = record.Begin, e.Count+1
		places[key] = r.First
	case recording.Gap:
		r.Kind, r.First, r.Count = record.Lost, places[key], e.Count
		if r.First == 0 {
			return nil, errNoPlace
		}
		if !e.Failed {
			r.Causes = []record.Share{{Cause: record.Cause(e.Cause), Count: e.Count}}
		}
		places[key] += e.Count
	case recording.Ended, recording.Vanished, recording.Lost:
		r.Kind, r.First, r.How = record.End, e.Count, record.How(e.Cause)
	default:
		return nil, nil
	}
	if r.First == 0 || r.First > math.MaxInt64 || r.Count > math.MaxInt64-r.First {
		return nil, recording.ErrMalformed
	}
	return r, nil
}
