// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"math"
	"time"

	"tagbus/bus"
	"tagbus/tags"
)

// cursor reads the records of a file that a query selects.
type cursor struct {
	loader
	q      *Query
	from   int64  // in ns, included
	to     int64  // in ns, excluded unless it is the largest
	events bool   // are wanted
	event  *Event // in which each event is read; nil: each has memory of its own

	// Of the block that is being read:
	d            decoder
	time         int64 // of the last record
	seenMessages uint32
	seenEvents   uint32
	reading      bool
	lastSeries   uint32

	rec       Record // that next has read
	stamp     int64  // its time, unless that is zero
	requested bool   // it has the id of a request
}

// newCursor returns a cursor in front of the first block.
func newCursor(r *Reader, q *Query, events bool) *cursor {
	c := &cursor{loader: loader{r: r, peers: r.peers}, q: q, from: math.MinInt64, to: math.MaxInt64, events: events}
	if !q.From.IsZero() {
		c.from = nanoseconds(q.From)
	}
	if !q.To.IsZero() {
		c.to = nanoseconds(q.To)
	}
	return c
}

// nanoseconds returns a time as a file has it. One that a file cannot have becomes the
// first or the last that it can.
func nanoseconds(t time.Time) int64 {
	switch {
	case t.Before(timeOf(math.MinInt64)):
		return math.MinInt64
	case t.After(timeOf(math.MaxInt64)):
		return math.MaxInt64
	}
	return t.UnixNano()
}

// within reports whether a time is selected.
func (c *cursor) within(ns int64) bool { return ns >= c.from && (ns < c.to || c.to == math.MaxInt64) }

// skip passes over the blocks whose times are not selected. It returns false at the end.
func (c *cursor) skip() bool {
	for ; c.block < len(c.r.blocks); c.block++ {
		b := &c.r.blocks[c.block]
		wanted := b.messages > 0 && !c.q.EventsOnly || c.events && b.events > 0
		if wanted && b.last >= c.from && (b.first < c.to || c.to == math.MaxInt64) {
			return true
		}
	}
	return false
}

// next sets rec to the next record. After an error, a *DamageError, it goes on with the
// next block.
func (c *cursor) next() (ok bool, err error) {
	for {
		if !c.reading {
			if ok, err := c.open(); !ok || err != nil {
				return ok, err
			}
		}
		ok, err := c.take()
		if ok {
			return true, nil
		}
		c.reading = false
		damaged := c.block
		c.block++
		if err != nil {
			return true, c.damage(damaged, err)
		}
	}
}

// open begins the next block that may have something selected.
func (c *cursor) open() (ok bool, err error) {
	for c.skip() {
		if err := c.loadTable(); err != nil {
			c.block++
			return true, c.damage(c.block-1, err)
		}
		if !c.selectSeries() && (!c.events || c.h.events == 0) {
			c.block++
			continue
		}
		if err := c.loadBody(); err != nil {
			c.block++
			return true, c.damage(c.block-1, err)
		}
		c.d = decoder{b: c.body}
		c.time, c.seenMessages, c.seenEvents, c.reading = 0, 0, 0, true
		return true, nil
	}
	return false, nil
}

// selectSeries marks the series of the block that are selected, and reports whether there
// are any.
func (c *cursor) selectSeries() (any bool) {
	for i := range c.series {
		s := &c.series[i]
		s.selected = !c.q.EventsOnly && c.selects(s.tag, c.blockPeers[s.peer])
		any = any || s.selected
	}
	return any
}

// selects reports whether the tag of a publisher is selected.
func (c *cursor) selects(tag tags.Tag, p *bus.Peer) bool {
	return (c.q.Tags.IsEmpty() || c.q.Tags.Contains(tag)) && c.selectsPeer(p)
}

func (c *cursor) selectsPeer(p *bus.Peer) bool {
	return c.q.Publisher == "" || p != nil && (p.Instance == c.q.Publisher || p.Name == c.q.Publisher)
}

// selectsEvent reports whether an event is selected.
func (c *cursor) selectsEvent(e *Event) bool {
	if e.Peer != nil && !c.selectsPeer(e.Peer) {
		return false
	}
	switch {
	case c.q.Tags.IsEmpty():
		return true
	case e.Kind == Gap || e.Kind == Position:
		return c.q.Tags.Contains(e.Tag)
	case e.Kind == Joined:
		return c.q.Tags.Intersects(e.Tags)
	}
	return true
}

// take sets rec to the next selected record of the block; false: there is none.
//
// Errors: ErrMalformed; ErrVersion.
func (c *cursor) take() (ok bool, err error) {
	d := &c.d
	for len(d.b) > 0 {
		head := d.uvarint()
		switch {
		case head&plainBits == 0:
			ok, err = c.message(head>>plainBits, 0)
		case head&(1<<recordBits-1) == isMessage:
			flags := d.byte()
			if flags > allFlags {
				return false, ErrVersion
			}
			ok, err = c.message(head>>recordBits, flags)
		default:
			ok, err = c.takeEvent(head >> recordBits)
		}
		if ok || err != nil {
			return ok, err
		}
	}
	if d.bad {
		return false, malformed("a record ends early")
	}
	if c.seenMessages != c.h.messages || c.seenEvents != c.h.events {
		return false, malformed("got %d messages and %d events, want %d and %d", c.seenMessages, c.seenEvents, c.h.messages, c.h.events)
	}
	return false, nil
}

// message takes a message of a series, and reports whether it is selected.
func (c *cursor) message(i uint64, flags byte) (ok bool, err error) {
	d := &c.d
	if i >= uint64(len(c.series)) {
		return false, malformed("a message of series %d of %d", i, len(c.series))
	}
	s := &c.series[i]
	s.counter++
	status, id := bus.Status(0), []byte(nil)
	if flags != 0 {
		if flags&hasTime != 0 {
			c.time += d.varint()
		}
		if flags&hasCounter != 0 {
			s.counter += uint64(d.varint())
		}
		if flags&hasStatus != 0 {
			status = bus.Status(d.byte())
		}
		if flags&hasRequest != 0 {
			id = d.bytes(uint64(len(bus.RequestID{}.Bytes())))
		}
	}
	data := d.bytes(d.uvarint())
	if d.bad {
		return false, malformed("a message ends early")
	}
	c.seenMessages++
	if !s.selected || !c.within(c.time) {
		return false, nil
	}
	c.lastSeries = uint32(i)
	rec := &c.rec
	if c.requested {
		*rec, c.requested = Record{}, false
	}
	// Field by field: a literal would be made elsewhere first and then copied, for a
	// tenth of the time that a message takes.
	rec.Event = nil
	rec.Tag, rec.Status, rec.Counter, rec.Data = s.tag, status, s.counter, data
	if p := c.blockPeers[s.peer]; rec.Publisher != p {
		rec.Publisher = p
	}
	if c.time != c.stamp || rec.Time.IsZero() {
		rec.Time, c.stamp = time.Unix(0, c.time), c.time
	}
	if id != nil {
		rec.Message.Message = rec.WithRequestID(bus.RequestIDOf([16]byte(id)))
		c.requested = true
	}
	return true, nil
}

// takeEvent takes an event, and reports whether it is selected. One of an unknown kind is
// passed over.
func (c *cursor) takeEvent(kind uint64) (ok bool, err error) {
	payload := c.d.bytes(c.d.uvarint())
	if c.d.bad {
		return false, malformed("an event ends early")
	}
	c.seenEvents++
	if kind < uint64(Joined) || kind > uint64(Stepped) {
		ns := decoder{b: payload}
		c.time += ns.varint()
		return false, nil
	}
	e := c.event
	if e == nil {
		e = new(Event)
	}
	*e = Event{Kind: EventKind(kind)}
	if c.time, err = e.read(payload, c.time, c.blockPeers); err != nil {
		return false, err
	}
	if !c.events || !c.within(c.time) || !c.selectsEvent(e) {
		return false, nil
	}
	c.rec = Record{Event: e}
	return true, nil
}

// damage returns the error of a block.
func (c *cursor) damage(block int, err error) error {
	return &DamageError{File: c.r.cfg.Name, Offset: c.r.blocks[block].offset, Block: block, Err: err}
}
