// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"tagbus/tags"
)

// tallyKey names the messages of one tag and publisher over all its connections.
type tallyKey struct {
	publisher uint32 // its number
	tag       tags.Tag
}

// tally follows the counters of one tag from one publisher.
type tally struct {
	tallyKey
	known bool // position

	position uint64 // the largest counter, or that of a Position
	messages uint64
	bytes    uint64
	first    uint64
	last     uint64
	missing  uint64
	rare     *rareTally // nil: all is zero
}

// rareTally is what most series have nothing of.
type rareTally struct {
	lost               Losses
	repeated, backward uint64
}

// message follows the counter of a message.
func (t *tally) message(counter uint64, bytes int) {
	if !t.known {
		t.known, t.position = true, counter-1
	}
	if t.messages == 0 {
		t.first, t.last = counter, counter
	}
	t.messages++
	t.bytes += uint64(bytes)
	t.first, t.last = min(t.first, counter), max(t.last, counter)
	switch next := t.position + 1; {
	case counter >= next:
		t.missing += counter - next
		t.position = counter
	case counter == t.position:
		t.odd().repeated++
	default:
		t.odd().backward++
	}
}

func (t *tally) odd() *rareTally {
	if t.rare == nil {
		t.rare = new(rareTally)
	}
	return t.rare
}

// Bounds of what events alone may name, since a small file can have millions of them: what
// is told for each tag, and a part of the bytes of the files. A series of messages stands in
// a table, which is never compressed, and has no bound.
const (
	mostPositions      = 1 << 20
	bytesPerPosition   = 8
	mostLostSeries     = 1 << 18
	bytesPerLostSeries = 32
	tallyChunk         = 1 << 10
)

// MostLostSeries returns how many tags and publishers that only events name, and no table of a
// block, are worth the memory for them: 262,144, and some for the size of the files. Verify
// follows the losses of no more.
func MostLostSeries(files ...*Reader) int64 {
	return mostLostSeries + bytesOf(files)/bytesPerLostSeries
}

// bytesOf returns the size of files.
func bytesOf(files []*Reader) (n int64) {
	for _, r := range files {
		n += r.info.Bytes
	}
	return n
}

// tallies are those of a recording. One of which only a Position is known takes little.
type tallies struct {
	index     map[tallyKey]uint32
	chunks    []*[tallyChunk]tally // a slice would be copied as it grows
	count     uint32
	positions map[tallyKey]uint64

	positionsLeft, lostLeft int64
	untold                  Untold
	lostOf                  map[uint32]*tally // by publisher: losses of tags beyond the bound
}

func newTallies(positions, lost int64) tallies {
	return tallies{
		index: make(map[tallyKey]uint32), positions: make(map[tallyKey]uint64), lostOf: make(map[uint32]*tally),
		positionsLeft: positions, lostLeft: lost,
	}
}

// find returns a tally; nil: there is none.
func (s *tallies) find(key tallyKey) *tally {
	at, ok := s.index[key]
	if !ok {
		return nil
	}
	return &s.chunks[at/tallyChunk][at%tallyChunk]
}

// add makes a tally, which goes on from a Position if there was one.
func (s *tallies) add(key tallyKey) *tally {
	if s.count%tallyChunk == 0 {
		s.chunks = append(s.chunks, new([tallyChunk]tally))
	}
	t := &s.chunks[s.count/tallyChunk][s.count%tallyChunk]
	t.tallyKey = key
	s.index[key] = s.count
	s.count++
	if position, ok := s.positions[key]; ok {
		t.known, t.position = true, position
		delete(s.positions, key)
		s.positionsLeft++
	}
	return t
}

// ofMessages returns the tally of a tag that has messages.
func (s *tallies) ofMessages(publisher uint32, tag tags.Tag) *tally {
	key := tallyKey{publisher, tag}
	if t := s.find(key); t != nil {
		return t
	}
	return s.add(key)
}

// position follows where the messages of a tag begin, or go on.
func (s *tallies) position(publisher uint32, tag tags.Tag, count uint64) {
	key := tallyKey{publisher, tag}
	if t := s.find(key); t != nil {
		if !t.known || count > t.position {
			t.known, t.position = true, count
		}
		return
	}
	before, ok := s.positions[key]
	switch {
	case ok:
		s.positions[key] = max(before, count)
	case s.positionsLeft <= 0:
		s.untold.Positions++
	default:
		s.positionsLeft--
		s.positions[key] = count
	}
}

// gap follows what is lost. Beyond the bound it is told by publisher alone.
func (s *tallies) gap(publisher uint32, tag tags.Tag, cause Cause, count uint64) {
	key := tallyKey{publisher, tag}
	t := s.find(key)
	switch {
	case t != nil:
	case s.lostLeft > 0:
		s.lostLeft--
		t = s.add(key)
	default:
		s.untold.Gaps++
		if t = s.lostOf[publisher]; t == nil {
			t = &tally{tallyKey: tallyKey{publisher: publisher}}
			s.lostOf[publisher] = t
		}
	}
	t.odd().lost[min(cause, causes)%causes] += count
}

// reports returns what is to be told of each tag that has messages or losses.
//
//   - publishers: by their numbers.
func (s *tallies) reports(publishers []PublisherReport) []SeriesReport {
	all := make([]SeriesReport, 0, int(s.count)+len(s.lostOf))
	for i := range s.chunks {
		chunk := s.chunks[i]
		for j := range min(tallyChunk, int(s.count)-i*tallyChunk) {
			all = append(all, chunk[j].report(publishers))
		}
		s.chunks[i] = nil
	}
	for _, t := range s.lostOf {
		all = append(all, t.report(publishers))
	}
	return all
}

func (t *tally) report(publishers []PublisherReport) SeriesReport {
	r := SeriesReport{
		Peer: publishers[t.publisher].Peer, Tag: t.tag, Messages: t.messages, Bytes: t.bytes,
		First: t.first, Last: t.last, Missing: t.missing,
	}
	if t.rare != nil {
		r.Lost, r.Repeated, r.Backward = t.rare.lost, t.rare.repeated, t.rare.backward
	}
	explained := r.Lost.Lost() + r.Lost[CauseLeftOut]
	r.Unexplained = r.Missing - min(r.Missing, explained)
	return r
}
