// SPDX-License-Identifier: Apache-2.0

package web

import (
	"cmp"
	"slices"
)

// kept is how many looks the ring keeps: 10 minutes of them.
const kept = 600

// point is what the charts show of one look.
type point struct {
	seq      uint64 // number of the look
	unix     int64  // milliseconds
	messages float64
	bytes    float64
	lost     float64
	stalled  int
}

// ring keeps the last points.
type ring struct{ points []point }

// A clock that was set back makes what is later than p not of this time: it is left out.
func (r *ring) add(p point) {
	if n := len(r.points); n > 0 && r.points[n-1].unix >= p.unix {
		at, _ := slices.BinarySearchFunc(r.points, p.unix, func(q point, unix int64) int { return cmp.Compare(q.unix, unix) })
		r.points = slices.Clone(r.points[:at]) // models show the others still
	}
	if len(r.points) == 2*kept { // copied once in a while, so that adding costs nothing
		r.points = append(r.points[:0:0], r.points[kept:]...)
	}
	r.points = append(r.points, p)
}

// after returns the points behind a look, the last ones at most. The caller does not change them.
func (r *ring) after(seq uint64) []point {
	points := r.points[max(0, len(r.points)-kept):]
	for i, p := range points {
		if p.seq > seq {
			return points[i:]
		}
	}
	return nil
}

// history is points as a frame has them: a column for each series, as uPlot takes them.
type history struct {
	Time     []int64   `json:"t"` // milliseconds
	Messages []float64 `json:"m"`
	Bytes    []float64 `json:"b"`
	Lost     []float64 `json:"l"`
	Stalled  []int     `json:"s"`
}

func columns(points []point) *history {
	if len(points) == 0 {
		return nil
	}
	h := &history{}
	for _, p := range points {
		h.Time = append(h.Time, p.unix)
		h.Messages = append(h.Messages, round(p.messages))
		h.Bytes = append(h.Bytes, round(p.bytes))
		h.Lost = append(h.Lost, round(p.lost))
		h.Stalled = append(h.Stalled, p.stalled)
	}
	return h
}
