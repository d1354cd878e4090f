// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"math"
	"slices"
	"time"
)

// Hole is a time in which nothing was recorded: the recorder did not run, what it records had
// stopped, its clock was set forward, or a part of the recording is not there.
type Hole struct{ From, To time.Time }

// Length returns how long the hole is.
func (h Hole) Length() time.Duration { return h.To.Sub(h.From) }

const (
	// leastHole is the shortest time that is a hole.
	leastHole = time.Minute

	// longerThanUsual is how much longer than usual between two blocks it is. A detector that sends a
	// message each ten minutes leaves no holes.
	longerThanUsual = 10
)

// Recorded returns in how much time there was data: from the first to the last record without the
// holes, which it returns too, in their order. What several recordings have of the same time
// counts once. A clock that was set back does not make it less. Rates are over this time.
//
// A hole is a minute or more, and ten times as long as it usually is from a block to the next one.
func (rs Readers) Recorded() (d time.Duration, holes []Hole) {
	var all []piece
	groups := rs.Recordings()
	for _, parts := range groups {
		all = append(all, piecesOf(parts)...)
	}
	if len(groups) > 1 {
		all = union(all)
	}
	total := uint64(0)
	for i, p := range all {
		total += uint64(p.last) - uint64(p.first)
		if i > 0 && p.hole {
			holes = append(holes, Hole{timeOf(all[i-1].last), timeOf(p.first)})
		}
	}
	return time.Duration(min(total, math.MaxInt64)), holes
}

// piece is a time in which there was data, in ns.
type piece struct {
	first, last int64
	hole        bool // is before it
}

// pieces are those of one recording, in the order in which they were recorded.
type pieces struct {
	all   []piece
	least uint64 // that is a hole, in ns
}

// piecesOf returns the pieces of the parts of one recording.
func piecesOf(parts Readers) []piece {
	p := pieces{least: holeOf(parts)}
	for _, r := range parts {
		c := newCursor(r, &Query{}, true) // one, so that the blocks are worth the bytes of the file together
		c.event = new(Event)
		for i := range r.blocks {
			if b := &r.blocks[i]; uint64(b.last)-uint64(b.first) < p.least {
				p.add(b.first, b.last)
			} else {
				p.read(c, i)
			}
		}
	}
	return p.all
}

// add adds records from one time to another.
func (p *pieces) add(first, last int64) {
	n := len(p.all) - 1
	switch {
	case n < 0:
		p.all = append(p.all, piece{first: first, last: last})
	case first > p.all[n].last && uint64(first)-uint64(p.all[n].last) >= p.least:
		p.all = append(p.all, piece{first, last, true})
	case last < p.all[n].last && uint64(p.all[n].last)-uint64(last) > uint64(leastStep): // the clock was set back
		p.all = append(p.all, piece{first: first, last: last})
	default:
		p.all[n].last = max(p.all[n].last, last)
	}
}

// read adds the records of a block that is as long as a hole: one may be within it. One that cannot
// be read has the times of its header.
func (p *pieces) read(c *cursor, block int) {
	b := &c.r.blocks[block]
	c.block = block
	ok, err := c.open()
	if ok && err == nil && c.block == block { // it is not empty
		for ok, err = c.take(); ok; ok, err = c.take() {
			p.add(c.time, c.time)
		}
		if err == nil {
			return
		}
	}
	p.add(b.first, b.last)
}

// holeOf returns how long a hole is in a recording, in ns.
func holeOf(parts Readers) uint64 {
	var usual []uint64 // from the beginning of a block to that of the next one
	before := (*blockRef)(nil)
	for _, r := range parts {
		for i := range r.blocks {
			b := &r.blocks[i]
			if before != nil && b.first > before.first {
				usual = append(usual, uint64(b.first)-uint64(before.first))
			}
			before = b
		}
	}
	if before == nil {
		return math.MaxUint64
	}
	last := uint64(before.last) - uint64(before.first)
	if last == 0 && len(usual) < 2 { // two messages tell nothing of what is usual
		return math.MaxUint64
	}
	usual = append(usual, last)
	slices.Sort(usual)
	most := usual[(len(usual)-1)/2]
	return max(uint64(leastHole), min(most, math.MaxUint64/longerThanUsual)*longerThanUsual)
}

// union returns pieces in the order of time, of which none overlaps another.
func union(all []piece) (merged []piece) {
	slices.SortFunc(all, func(a, b piece) int {
		switch {
		case a.first < b.first:
			return -1
		case a.first > b.first:
			return 1
		}
		return 0
	})
	for _, p := range all {
		n := len(merged) - 1
		if n >= 0 && p.first <= merged[n].last {
			merged[n].last = max(merged[n].last, p.last)
			continue
		}
		p.hole = n >= 0 && uint64(p.first)-uint64(merged[n].last) >= uint64(leastHole)
		merged = append(merged, p)
	}
	return merged
}
