// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"cmp"
	"errors"
	"slices"

	"tagbus/bus"
	"tagbus/tags"
)

// Verify reads all of a recording: it checks each checksum, and that the counters of each
// tag and publisher go on by one except where a Gap says so.
//
//   - files: the parts of one recording, in any order.
//
// Errors: ErrMixed. Everything else is in the report.
func Verify(files ...*Reader) (*Report, error) {
	groups := Readers(files).Recordings()
	if len(groups) > 1 {
		return nil, ErrMixed
	}
	v := verifier{series: make(map[verifiedKey]*SeriesReport), publishers: make(map[string]*PublisherReport)}
	if len(groups) == 1 {
		for _, r := range groups[0] {
			v.file(r)
		}
	}
	return v.end(), nil
}

// verifiedKey names the messages of one tag and publisher over all its connections.
type verifiedKey struct {
	instance string
	tag      tags.Tag
}

// verifier follows the counters through a recording.
type verifier struct {
	report     Report
	series     map[verifiedKey]*SeriesReport
	publishers map[string]*PublisherReport // by instance
	ofBlock    []*SeriesReport             // by the index of the series in the block
	block      int                         // for which ofBlock holds
}

// file follows one part.
func (v *verifier) file(r *Reader) {
	f := FileReport{Info: r.Info()}
	c := newCursor(r, &Query{}, true)
	v.block = -1
	for {
		ok, err := c.next()
		if !ok {
			break
		}
		switch damage := (*DamageError)(nil); {
		case errors.As(err, &damage):
			if f.Broken++; len(f.Damage) < mostErrors {
				f.Damage = append(f.Damage, damage)
			}
		case c.rec.Event != nil:
			v.event(c.rec.Event)
		default:
			v.message(c)
		}
	}
	v.report.Files = append(v.report.Files, f)
}

// message follows the counter of a message.
func (v *verifier) message(c *cursor) {
	rec := &c.rec
	if v.block != c.block {
		v.block = c.block
		v.ofBlock = append(v.ofBlock[:0], make([]*SeriesReport, len(c.series))...)
	}
	s := v.ofBlock[c.lastSeries]
	if s == nil {
		s = v.seriesOf(rec.Publisher, rec.Tag)
		v.ofBlock[c.lastSeries] = s
	}
	counter := rec.Counter
	if !s.known {
		s.known, s.position = true, counter-1
	}
	if s.Messages == 0 {
		s.First, s.Last = counter, counter
	}
	s.Messages++
	s.Bytes += uint64(len(rec.Data))
	s.First, s.Last = min(s.First, counter), max(s.Last, counter)
	switch next := s.position + 1; {
	case counter >= next:
		s.Missing += counter - next
		s.position = counter
	case counter == s.position:
		s.Repeated++
	default:
		s.Backward++
	}
}

// seriesOf returns the report on a tag of a publisher.
func (v *verifier) seriesOf(p *bus.Peer, tag tags.Tag) *SeriesReport {
	key := verifiedKey{instanceOf(p), tag}
	s := v.series[key]
	if s == nil {
		s = &SeriesReport{Tag: tag}
		v.series[key] = s
		v.publisher(p)
	}
	s.Peer = p
	return s
}

// publisher returns the report on a publisher.
func (v *verifier) publisher(p *bus.Peer) *PublisherReport {
	key := instanceOf(p)
	r := v.publishers[key]
	if r == nil {
		r = new(PublisherReport)
		v.publishers[key] = r
	}
	r.Peer = p
	return r
}

func instanceOf(p *bus.Peer) string {
	if p == nil {
		return ""
	}
	return p.Instance
}

// event follows what an event says.
func (v *verifier) event(e *Event) {
	switch e.Kind {
	case Position:
		if s := v.seriesOf(e.Peer, e.Tag); !s.known || e.Count > s.position {
			s.known, s.position = true, e.Count
		}
	case Gap:
		v.seriesOf(e.Peer, e.Tag).Lost[min(e.Cause, causes)%causes] += e.Count
	case Joined, Lost, Ended, Vanished:
		p := v.publisher(e.Peer)
		if p.State == Ended && e.Kind == Lost {
			break // everything was there before
		}
		p.State, p.Failed, p.Text = e.Kind, e.Failed, e.Text
		if e.Kind == Vanished {
			p.Vanished++
		}
	case Stopped:
		v.report.Stopped = e
	}
}

// end completes the report.
func (v *verifier) end() *Report {
	r := &v.report
	for _, s := range v.series {
		explained := s.Lost.Lost() + s.Lost[CauseLeftOut]
		s.Unexplained = s.Missing - min(s.Missing, explained)
		r.Series = append(r.Series, *s)
	}
	slices.SortFunc(r.Series, func(a, b SeriesReport) int {
		return cmp.Or(comparePeers(a.Peer, b.Peer), cmp.Compare(a.Tag, b.Tag))
	})
	for _, p := range v.publishers {
		r.Publishers = append(r.Publishers, *p)
	}
	slices.SortFunc(r.Publishers, func(a, b PublisherReport) int { return comparePeers(a.Peer, b.Peer) })
	r.Reasons = r.reasons()
	return r
}
