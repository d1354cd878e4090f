// SPDX-License-Identifier: Apache-2.0

package rec

import (
	"cmp"
	"context"
	"slices"

	"tagbus/bus"
	"tagbus/internal/sanitize"
	"tagbus/recording"
)

// series is what several recordings together have of one tag from one publisher.
type series struct {
	peer     *bus.Peer
	have     spans             // the counters that are in one of them
	start    uint64            // the counter behind which the first of them begins
	known    bool              // start
	position bool              // an event says where it begins
	end      uint64            // the largest counter that was sent, as far as it is known
	gaps     *recording.Losses // of each cause the most that one of them names; nil: none
	text     string            // of a loss of another cause
	skipped  []countersOf      // what a recording says not to be part of it, in its middle

	// Of the second pass:
	done    uint64          // the largest counter that was written; all before it are too
	waiting map[uint64]held // messages that another one comes in front of; nil: none
}

// oneSeries is what one recording has of a series.
type oneSeries struct {
	start, last uint64
	known       bool
	missing     uint64
	gaps        *recording.Losses // nil: none
}

// plan is the first pass: it finds out what all recordings together have.
type plan struct {
	all   map[infoKey]*series
	holes int
	named int64 // tags that events alone may still name
}

// read adds one recording.
func (p *plan) read(ctx context.Context, g recording.Readers, d *damage) (failed missing, err error) {
	one := make(map[infoKey]*oneSeries)
	p.named += mostEventTags(g)
	of := func(key infoKey, peer *bus.Peer) (*oneSeries, *series) {
		s, all := one[key], p.all[key]
		if s == nil {
			s = new(oneSeries)
			one[key] = s
		}
		if all == nil {
			all = new(series)
			p.all[key] = all
		}
		all.peer = peer
		return s, all
	}
	err = each(ctx, g, recording.Query{}, d, func(r recording.Record) error {
		e := r.Event
		if e == nil {
			s, all := of(keyOf(r), r.Publisher)
			s.message(r.Counter)
			return p.has(all, r.Counter)
		}
		if e.Kind == recording.Gap || e.Kind == recording.Position {
			if one[infoKey{instanceOf(e.Peer), e.Tag}] == nil {
				if p.named--; p.named < 0 {
					return errEventTags
				}
			}
		}
		switch e.Kind {
		case recording.Gap:
			s, all := of(infoKey{instanceOf(e.Peer), e.Tag}, e.Peer)
			s.gap(e)
			if e.Text != "" {
				all.text = sanitize.Cut(e.Text, mostTextBytes)
			}
		case recording.Position:
			s, all := of(infoKey{instanceOf(e.Peer), e.Tag}, e.Peer)
			if over := s.position(e.Count); over.last > 0 {
				if p.holes++; p.holes > maxHoles+len(p.all) {
					return errHoles
				}
				all.skipped = append(all.skipped, over)
			}
			all.position = true
		case recording.Stopped:
			failed = missing{}
			failed.addStopped(e)
		default:
		}
		return nil
	})
	for key, s := range one {
		p.all[key].fold(s)
	}
	return failed, err
}

// gap adds what an event says is lost.
func (s *oneSeries) gap(e *recording.Event) {
	if s.gaps == nil {
		s.gaps = new(recording.Losses)
	}
	s.gaps[causeOf(e)] += e.Count
}

// has notes a message of a series.
//
// Errors: errHoles.
func (p *plan) has(all *series, counter uint64) error {
	before := all.have.count
	all.have.add(counter)
	if p.holes += all.have.count - before; p.holes > maxHoles+len(p.all) {
		return errHoles
	}
	return nil
}

// message follows the counter of a message.
func (s *oneSeries) message(n uint64) {
	if !s.known { // what is named before the first message was in front of it
		s.start, s.known = n-1-min(n-1, s.named()), true
		s.last = s.start
	}
	if n > s.last {
		s.missing += n - s.last - 1
		s.last = n
	}
}

// position follows an event that says where a series begins, or goes on. It returns the
// counters that it passes over, zero if it begins.
func (s *oneSeries) position(n uint64) (over countersOf) {
	switch {
	case !s.known:
		s.start, s.last, s.known = n, n, true
	case n > s.last:
		lost := min(n-s.last, s.named()-min(s.named(), s.missing)) // is named already
		if s.missing += lost; s.last+lost < n {
			over = countersOf{s.last + lost + 1, n}
		}
		s.last = n
	}
	return over
}

// fold adds what one recording has.
func (s *series) fold(o *oneSeries) {
	if o.known && (!s.known || o.start < s.start) {
		s.start, s.known = o.start, true
	}
	if o.gaps != nil {
		if s.gaps == nil {
			s.gaps = new(recording.Losses)
		}
		for c, n := range o.gaps {
			s.gaps[c] = max(s.gaps[c], n)
		}
	}
	named := o.named()
	s.end = max(s.end, o.last+named-min(named, o.missing))
}

// named returns how many messages the gaps so far name.
func (s *oneSeries) named() (n uint64) {
	if s.gaps == nil {
		return 0
	}
	for _, k := range s.gaps {
		n += k
	}
	return n
}

// joinSkipped makes disjoint ranges in ascending order of what is skipped.
func (s *series) joinSkipped() {
	slices.SortFunc(s.skipped, func(a, b countersOf) int { return cmp.Compare(a.first, b.first) })
	joined := s.skipped[:0]
	for _, c := range s.skipped {
		if last := len(joined) - 1; last >= 0 && c.first <= joined[last].last {
			joined[last].last = max(joined[last].last, c.last)
			continue
		}
		joined = append(joined, c)
	}
	s.skipped = joined
}

func instanceOf(p *bus.Peer) string {
	if p == nil {
		return ""
	}
	return p.Instance
}

// causeOf returns the cause of a Gap, CauseOther for one of a newer version.
func causeOf(e *recording.Event) recording.Cause {
	if int(e.Cause) >= len(recording.Losses{}) {
		return recording.CauseOther
	}
	return e.Cause
}
