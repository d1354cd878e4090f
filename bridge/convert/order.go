// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"container/heap"
	"time"

	"tagbus/bridge/internal/follow"
	"tagbus/bridge/record"
	"tagbus/bus"
	"tagbus/recording"
)

// chain is what was read of a publisher and tag.
type chain = follow.Chain[state]

// state is what is kept with a chain.
type state struct {
	parts []*part // that are not written, the oldest first
	place int     // in due, if there are some
	open  bool    // it has begun, and has not ended
}

// part is a record that waits for its turn.
type part struct {
	rec     *record.Record
	first   bool   // of its chain
	from    uint64 // the first counter that is new
	hole    uint64 // counters before it that are in no record
	bytes   int
	started bool

	cursor  record.Cursor
	message recording.Message // the next, if there are some
	some    bool
	time    time.Time // of that, or of the record
}

// add adds a part. The time of a record without messages is that at which the bridge has learned of it, which may be later
// than that of the messages behind it: it does not hold them up.
func (d *due) add(c *chain, p *part) {
	s := &c.Value
	s.parts = append(s.parts, p)
	if len(s.parts) == 1 {
		heap.Push(d, c)
		return
	}
	for i := len(s.parts) - 2; i >= 0 && s.parts[i].rec.Kind != record.Messages && p.time.Before(s.parts[i].time); i-- {
		s.parts[i].time = p.time
	}
	heap.Fix(d, s.place)
}

// begin goes to what is the first of the record.
func (p *part) begin() {
	p.time = p.rec.Time
	if p.rec.Kind != record.Messages {
		return
	}
	p.cursor = p.rec.Cursor()
	for p.next() && p.message.Counter < p.from {
	}
}

// next goes to the next message, and reports whether there is one.
func (p *part) next() bool {
	if p.message, p.some = p.cursor.Next(); p.some {
		p.time = p.message.Time
	}
	return p.some
}

// due are chains with parts: the one whose first part is the earliest is the first.
type due []*chain

// latest is behind all times.
var latest = time.Unix(1<<40, 0)

// second returns the time of the second chain.
func (d due) second() time.Time {
	at := latest
	for i := 1; i < min(3, len(d)); i++ {
		if t := d.time(i); t.Before(at) {
			at = t
		}
	}
	return at
}

func (d due) time(i int) time.Time { return d[i].Value.parts[0].time }

// Len implements heap.Interface.
func (d due) Len() int { return len(d) }

// Less implements heap.Interface.
func (d due) Less(i, j int) bool { return d.time(i).Before(d.time(j)) }

// Swap implements heap.Interface.
func (d due) Swap(i, j int) {
	d[i], d[j] = d[j], d[i]
	d[i].Value.place, d[j].Value.place = i, j
}

// Push implements heap.Interface.
func (d *due) Push(x any) {
	c := x.(*chain)
	c.Value.place = len(*d)
	*d = append(*d, c)
}

// Pop implements heap.Interface.
func (d *due) Pop() any {
	last := len(*d) - 1
	c := (*d)[last]
	(*d)[last] = nil
	*d = (*d)[:last]
	return c
}

// peers makes one pointer of all equal publishers: each has its place in a block of a recording once. The zero value is ready.
type peers struct {
	known map[bus.Peer]*bus.Peer
	bytes int // of text
}

// mostPeers and mostPeerBytes bound what is remembered. Beyond them equal publishers may have several pointers.
const (
	mostPeers     = 1 << 16
	mostPeerBytes = 16 << 20
)

func (p *peers) of(peer bus.Peer) *bus.Peer {
	if known := p.known[peer]; known != nil {
		return known
	}
	size := len(peer.Instance) + len(peer.Name) + len(peer.Host) + len(peer.Addr.Addr().Zone())
	if p.known == nil || len(p.known) >= mostPeers || p.bytes+size > mostPeerBytes {
		p.known, p.bytes = make(map[bus.Peer]*bus.Peer), 0
	}
	p.bytes += size
	p.known[peer] = &peer
	return &peer
}
