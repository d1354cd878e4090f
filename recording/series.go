// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"cmp"
	"errors"
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
	for _, r := range rs {
		c := newCursor(r, &Query{}, false)
		for ; c.block < len(r.blocks); c.block++ {
			if err := c.loadTable(); err != nil {
				if len(errs) < mostErrors {
					errs = append(errs, c.damage(c.block, err))
				}
				continue
			}
			found.add(c)
		}
	}
	slices.SortFunc(found.all, func(a, b Series) int {
		return cmp.Or(comparePeers(a.Publisher, b.Publisher), cmp.Compare(a.Tag, b.Tag))
	})
	return found.all, errors.Join(errs...)
}

// seriesOfTables are what the tables of blocks say together.
type seriesOfTables struct {
	index map[seriesKey]uint32
	all   []Series
}

// add adds what the block of a cursor has.
func (f *seriesOfTables) add(c *cursor) {
	first, last := timeOf(c.h.first), timeOf(c.h.last)
	for i := range c.series {
		l := &c.series[i]
		if l.messages == 0 {
			continue
		}
		key := seriesKey{c.blockPeers[l.peer], l.tag}
		at, ok := f.index[key]
		if !ok {
			at = uint32(len(f.all))
			f.index[key] = at
			f.all = append(f.all, Series{Publisher: key.peer, Tag: key.tag, First: first, Last: last})
		}
		s := &f.all[at]
		s.Messages += uint64(l.messages)
		s.Bytes += l.bytes
		if first.Before(s.First) {
			s.First = first
		}
		if last.After(s.Last) {
			s.Last = last
		}
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
