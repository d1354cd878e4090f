// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"cmp"
	"errors"
	"slices"

	"tagbus/bus"
	"tagbus/internal/sanitize"
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
	return verify(groups, mostPositions+bytesOf(files)/bytesPerPosition, MostLostSeries(files...)), nil
}

// verify is Verify with the most positions and series without messages that are followed.
func verify(groups []Readers, positions, lost int64) *Report {
	v := verifier{series: newTallies(positions, lost)}
	if len(groups) == 1 {
		for _, r := range groups[0] {
			v.file(r)
		}
	}
	return v.end()
}

// What is kept of texts: a compressed block has some of its whole size.
const (
	mostPublisherText = 256
	mostStoppedText   = 4096
)

// verifier follows the counters through a recording.
type verifier struct {
	report     Report
	publishers publisherReports
	series     tallies
	ofBlock    []*tally // by the index of the series in the block
	block      int      // for which ofBlock holds
}

// file follows one part.
func (v *verifier) file(r *Reader) {
	f := FileReport{Info: r.Info()}
	c := newCursor(r, &Query{}, true)
	c.event = new(Event)
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
		v.ofBlock = slices.Grow(v.ofBlock[:0], len(c.series))[:len(c.series)]
		clear(v.ofBlock)
	}
	t := v.ofBlock[c.lastSeries]
	if t == nil {
		t = v.series.ofMessages(v.publishers.number(rec.Publisher), rec.Tag)
		v.ofBlock[c.lastSeries] = t
	}
	t.message(rec.Counter, len(rec.Data))
	v.report.Clock.record(c.time)
}

// event follows what an event says.
func (v *verifier) event(e *Event) {
	if ns := e.Time.UnixNano(); e.Kind == Stepped {
		v.report.Clock.add(ns, e.Step())
	} else {
		v.report.Clock.record(ns)
	}
	switch e.Kind {
	case Position:
		v.series.position(v.publishers.number(e.Peer), e.Tag, e.Count)
	case Gap:
		v.series.gap(v.publishers.number(e.Peer), e.Tag, e.Cause, e.Count)
	case Joined, Lost, Ended, Vanished:
		p := v.publishers.of(e.Peer)
		if e.Kind == Lost && p.State != Joined && p.State != Lost {
			break // it had acknowledged nothing, or has ended: nothing more was to come
		}
		p.State, p.Failed, p.Text = e.Kind, e.Failed, sanitize.Cut(e.Text, mostPublisherText)
		switch e.Kind {
		case Joined: // what was missed until then is recorded, as lost
			p.Vanished = 0
		case Vanished:
			p.Vanished++
		default:
		}
	case Stopped:
		stopped := *e
		stopped.Text = sanitize.Cut(e.Text, mostStoppedText)
		v.report.Stopped = &stopped
	case Stepped: // counted above
	}
}

// end completes the report.
func (v *verifier) end() *Report {
	r := &v.report
	r.Series, r.Untold = v.series.reports(v.publishers.all), v.series.untold
	slices.SortFunc(r.Series, func(a, b SeriesReport) int {
		return cmp.Or(comparePeers(a.Peer, b.Peer), cmp.Compare(a.Tag, b.Tag))
	})
	r.Publishers = v.publishers.all
	slices.SortFunc(r.Publishers, func(a, b PublisherReport) int { return comparePeers(a.Peer, b.Peer) })
	r.Reasons = r.reasons()
	return r
}

// publisherReports are the reports on publishers, each with a number.
type publisherReports struct {
	numbers map[string]uint32 // by instance
	all     []PublisherReport
	last    *bus.Peer // that was asked for, with its number
	lastAt  uint32
}

// number returns the number of a publisher, whatever its connection.
func (p *publisherReports) number(peer *bus.Peer) uint32 {
	if peer == p.last && len(p.all) > 0 {
		return p.lastAt
	}
	at, ok := p.numbers[instanceOf(peer)]
	if !ok {
		if p.numbers == nil {
			p.numbers = make(map[string]uint32)
		}
		at = uint32(len(p.all))
		p.numbers[instanceOf(peer)] = at
		p.all = append(p.all, PublisherReport{})
	}
	p.all[at].Peer = peer
	p.last, p.lastAt = peer, at
	return at
}

// of returns the report on a publisher, which is valid until the next call.
func (p *publisherReports) of(peer *bus.Peer) *PublisherReport { return &p.all[p.number(peer)] }

func instanceOf(p *bus.Peer) string {
	if p == nil {
		return ""
	}
	return p.Instance
}
