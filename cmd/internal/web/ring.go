// SPDX-License-Identifier: Apache-2.0

package web

import (
	"cmp"
	"slices"
)

// The history: an hour of looks, and a day of means. It is of the sums of all, so that its size does
// not depend on the bus: 7,200 + 5,760 points of 48 bytes are the most, 0.6 MB.
const (
	kept      = 3600          // looks
	keptMeans = 24 * 120      // means
	mean      = int64(30_000) // milliseconds of one

	frameLooks = 1200 // points in a frame: some 45 kB
)

// point is what the charts show of one look, or of the looks of 30 s.
type point struct {
	seq      uint64 // number of the look; of a mean, of the last one
	unix     int64  // milliseconds
	messages figure
	bytes    figure
	lost     figure
	stalled  figure
}

// ring keeps the last points.
type ring struct {
	points []point
	means  []point
	sum    summing
}

// summing is the mean that is being made.
type summing struct {
	last                           point
	messages, bytes, lost, stalled sum
}

// sum is of what is known.
type sum struct {
	of float64
	n  int
}

func (s *sum) add(f figure) {
	if f.known() {
		s.of += float64(f)
		s.n++
	}
}

func (s *sum) mean() figure {
	if s.n == 0 {
		return noFigure
	}
	return figure(s.of / float64(s.n))
}

// A clock that was set back makes what is later than p not of this time: it is left out.
func (r *ring) add(p point) {
	r.points, r.means = before(r.points, p.unix), before(r.means, p.unix)
	if s := &r.sum; s.last.unix/mean != p.unix/mean {
		if s.last.unix != 0 && s.last.unix < p.unix {
			m := s.last
			m.messages, m.bytes, m.lost, m.stalled = s.messages.mean(), s.bytes.mean(), s.lost.mean(), s.stalled.mean()
			r.means = keep(r.means, m, keptMeans)
		}
		*s = summing{}
	}
	s := &r.sum
	s.last = p
	s.messages.add(p.messages)
	s.bytes.add(p.bytes)
	s.lost.add(p.lost)
	s.stalled.add(p.stalled)
	r.points = keep(r.points, p, kept)
}

// before returns the points of a time before unix.
func before(points []point, unix int64) []point {
	if n := len(points); n == 0 || points[n-1].unix < unix {
		return points
	}
	at, _ := slices.BinarySearchFunc(points, unix, func(q point, unix int64) int { return cmp.Compare(q.unix, unix) })
	return slices.Clone(points[:at]) // models show the others still
}

// keep adds a point, and leaves the last ones.
func keep(points []point, p point, most int) []point {
	if len(points) == 2*most { // copied once in a while, so that adding costs nothing
		points = append(points[:0:0], points[most:]...)
	}
	return append(points, p)
}

// all returns the means from before the points, and the points, which the caller does not
// change.
func (r *ring) all() (means, points []point) {
	points = r.points[max(0, len(r.points)-kept):]
	means = r.means[max(0, len(r.means)-keptMeans):]
	if len(points) > 0 {
		at, _ := slices.BinarySearchFunc(means, points[0].unix, func(q point, unix int64) int { return cmp.Compare(q.unix, unix) })
		means = means[:at]
	}
	return means, points
}

// since returns the points behind a look.
func since(points []point, seq uint64) []point {
	at, _ := slices.BinarySearchFunc(points, seq+1, func(q point, seq uint64) int { return cmp.Compare(q.seq, seq) })
	return points[at:]
}

// history is points as a frame has them: a column for each series, as uPlot takes them. What is
// not known is null.
type history struct {
	Seq      uint64   `json:"seq"` // up to this look; a history that is long comes in several frames
	Time     []int64  `json:"t"`   // milliseconds
	Messages []figure `json:"m"`
	Bytes    []figure `json:"b"`
	Lost     []figure `json:"l"`
	Stalled  []figure `json:"s"`
}

func columns(parts ...[]point) *history {
	h := &history{}
	for _, points := range parts {
		for _, p := range points {
			h.Seq, h.Time = p.seq, append(h.Time, p.unix)
			h.Messages = append(h.Messages, figure(round(float64(p.messages))))
			h.Bytes = append(h.Bytes, figure(round(float64(p.bytes))))
			h.Lost = append(h.Lost, figure(round(float64(p.lost))))
			h.Stalled = append(h.Stalled, figure(round(float64(p.stalled))))
		}
	}
	if len(h.Time) == 0 {
		return nil
	}
	return h
}
