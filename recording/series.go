// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"cmp"
	"errors"
	"iter"
	"slices"
	"time"

	"tagbus/bus"
	"tagbus/tags"
)

// Series is what a recording has of one tag from one publisher.
type Series struct {
	Publisher *bus.Peer
	Tag       tags.Tag
	Messages  uint64
	Bytes     uint64 // of data
	First     time.Time
	Last      time.Time // First and Last are those of the blocks that have messages of it
}

// seriesKey names a series in all blocks and files.
type seriesKey struct {
	peer *bus.Peer
	tag  tags.Tag
}

// mostErrors is how many damaged blocks are named one by one.
const mostErrors = 100

// Series returns what there is of each tag and publisher, ordered by publisher and tag. It
// reads the tables of the blocks and no messages.
//
// Errors: a *DamageError for each of the first 100 blocks whose table cannot be read,
// joined; the rest is there.
func (r *Reader) Series() ([]Series, error) { return Readers{r}.Series() }

// Series is Reader.Series of all files together.
func (rs Readers) Series() ([]Series, error) {
	found := seriesOfTables{index: make(map[seriesKey]uint32)}
	var errs []error
	for s, err := range rs.BlockSeries() {
		if err != nil {
			errs = append(errs, err)
			continue
		}
		found.add(s)
	}
	slices.SortFunc(found.all, func(a, b Series) int {
		return cmp.Or(comparePeers(a.Publisher, b.Publisher), cmp.Compare(a.Tag, b.Tag))
	})
	return found.all, errors.Join(errs...)
}

// BlockSeries iterates over what each block has of each tag and publisher, in the order of the
// files and blocks. It takes the memory of one block, where Series takes some for each tag. Its First and Last are
// those of the block.
//
// Errors: as Series, in their places.
func (rs Readers) BlockSeries() iter.Seq2[Series, error] {
	return func(yield func(Series, error) bool) {
		damaged := 0
		for _, r := range rs {
			c := rs.cursor(r, &Query{}, false)
			for ; c.block < len(r.blocks); c.block++ {
				if err := c.loadTable(); err != nil {
					if damaged++; damaged <= mostErrors && !yield(Series{}, c.damage(c.block, err)) {
						return
					}
					continue
				}
				if !c.eachSeries(yield) {
					return
				}
			}
		}
	}
}

// eachSeries yields what the block of a cursor has.
func (c *cursor) eachSeries(yield func(Series, error) bool) bool {
	first, last := timeOf(c.h.first), timeOf(c.h.last)
	for i := range c.series {
		l := &c.series[i]
		if l.messages > 0 && !yield(Series{c.blockPeers[l.peer], l.tag, uint64(l.messages), l.bytes, first, last}, nil) {
			return false
		}
	}
	return true
}

// seriesOfTables are what the tables of blocks say together.
type seriesOfTables struct {
	index map[seriesKey]uint32
	all   []Series
}

// add adds what a block has.
func (f *seriesOfTables) add(b Series) {
	key := seriesKey{b.Publisher, b.Tag}
	at, ok := f.index[key]
	if !ok {
		f.index[key] = uint32(len(f.all))
		f.all = append(f.all, b)
		return
	}
	s := &f.all[at]
	s.Messages += b.Messages
	s.Bytes += b.Bytes
	if b.First.Before(s.First) {
		s.First = b.First
	}
	if b.Last.After(s.Last) {
		s.Last = b.Last
	}
}

// comparePeers orders publishers by name and host, and then by what tells them apart.
func comparePeers(a, b *bus.Peer) int {
	if a == nil || b == nil {
		return cmp.Compare(btoi(a != nil), btoi(b != nil))
	}
	return cmp.Or(
		cmp.Compare(a.Name, b.Name), cmp.Compare(a.Host, b.Host), cmp.Compare(a.PID, b.PID),
		cmp.Compare(a.Instance, b.Instance), a.Addr.Compare(b.Addr),
	)
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
