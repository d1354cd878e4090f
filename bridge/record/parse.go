// SPDX-License-Identifier: Apache-2.0

package record

import (
	"encoding/binary"
	"fmt"
	"iter"
	"math"
	"net/netip"
	"time"

	"tagbus/bus"
	"tagbus/recording"
	"tagbus/tags"
)

// maxCauses is how many causes a Lost record may have: each once.
const maxCauses = 256

// Parse reads a record, all of it: what it returns has no error in it.
//
//   - b: the whole record. The data of messages stays in it.
//   - Errors: a *FormatError with ErrNotRecord, ErrVersion, ErrChecksum or ErrMalformed.
func Parse(b []byte) (*Record, error) {
	d := decoder{b: b}
	r := d.record()
	if d.err != nil {
		return nil, d.err
	}
	return r, nil
}

// Messages yields the messages of a Messages record, with their times. Their Data is that of the
// bytes which were parsed.
func (r *Record) Messages() iter.Seq[recording.Message] {
	return func(yield func(recording.Message) bool) {
		c := r.Cursor()
		for m, ok := c.Next(); ok && yield(m); m, ok = c.Next() {
		}
	}
}

// Cursor is a place among the messages of a record.
//
// Threads: one at a time.
type Cursor struct {
	r    *Record
	d    decoder
	next uint64 // message, from 0
	last int64
}

// Cursor returns the place before the first message, for a reader that goes on in several records in turn.
func (r *Record) Cursor() Cursor { return Cursor{r: r, d: decoder{b: r.body}, last: r.Time.UnixNano()} }

// Next returns the next message, as Messages yields it; false at the end, and of another kind of record.
func (c *Cursor) Next() (recording.Message, bool) {
	if c.r.Kind != Messages || c.next == c.r.Count {
		return recording.Message{}, false
	}
	c.next++
	return c.d.message(c.r, c.r.First+c.next-1, &c.last), true
}

// decoder reads the fields of a record in turn. After an error all fields are zero.
type decoder struct {
	b   []byte
	at  int
	err error
}

// fail notes the first error, at an offset.
func (d *decoder) fail(at int, err error) {
	if d.err == nil {
		d.err = &FormatError{Offset: at, Err: err}
	}
}

// malformed notes what contradicts the format at an offset.
func (d *decoder) malformed(at int, format string, args ...any) {
	d.fail(at, fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...)))
}

// take returns the next n bytes; nil after an error.
func (d *decoder) take(n uint64) []byte {
	if left := uint64(len(d.b) - d.at); n > left {
		d.malformed(d.at, "%d bytes are missing", n-left)
	}
	if d.err != nil {
		return nil
	}
	from := d.at
	d.at += int(n)
	return d.b[from:d.at:d.at]
}

func (d *decoder) byte() byte {
	if b := d.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (d *decoder) uvarint() uint64 {
	if d.err != nil {
		return 0
	}
	v, n := binary.Uvarint(d.b[d.at:])
	if n <= 0 {
		d.malformed(d.at, "a number does not end, or has more than 64 bits")
		return 0
	}
	d.at += n
	return v
}

func (d *decoder) varint() int64 {
	u := d.uvarint()
	return int64(u>>1) ^ -int64(u&1)
}

func (d *decoder) text() string { return string(d.take(d.uvarint())) }

func (d *decoder) record() *Record {
	if len(d.b) < fixedBytes || string(d.b[:len(magic)]) != magic {
		d.fail(0, ErrNotRecord)
		return nil
	}
	if v := d.b[versionAt]; v != version {
		d.fail(versionAt, fmt.Errorf("%w (version %d)", ErrVersion, v))
		return nil
	}
	if checksum(d.b) != binary.LittleEndian.Uint32(d.b[checksumAt:]) {
		d.fail(checksumAt, ErrChecksum)
		return nil
	}
	number := binary.LittleEndian.Uint64
	r := &Record{
		Kind: Kind(d.b[kindAt]), Count: uint64(binary.LittleEndian.Uint32(d.b[messagesAt:])),
		Tag: tags.Tag(number(d.b[tagAt:])), First: number(d.b[firstAt:]), Time: time.Unix(0, int64(number(d.b[timeAt:]))),
	}
	if r.First == 0 || r.First > math.MaxInt64 {
		d.malformed(firstAt, "the first counter is %d, want 1 to %d", r.First, int64(math.MaxInt64))
	}
	if (r.Kind == Messages) != (r.Count > 0) {
		d.malformed(messagesAt, "%d messages in a record of the kind %v", r.Count, r.Kind)
	}
	d.at = fixedBytes
	r.Peer = d.peer()
	d.body(r)
	if d.at != len(d.b) {
		d.malformed(d.at, "%d bytes behind the end", len(d.b)-d.at)
	}
	return r
}

// peer reads the publisher.
func (d *decoder) peer() *bus.Peer {
	at := d.at
	p := &bus.Peer{Instance: d.text(), Name: d.text(), Host: d.text()}
	if p.Instance == "" {
		d.malformed(at, "the publisher has no instance")
	}
	at = d.at
	pid := d.uvarint()
	if pid > math.MaxInt32 {
		d.malformed(at, "process %d", pid)
	}
	p.PID = int(pid)
	at = d.at
	if addr := d.take(d.uvarint()); len(addr) > 0 {
		var a netip.AddrPort
		if err := a.UnmarshalBinary(addr); err != nil || !a.IsValid() {
			d.malformed(at, "the publisher has an address of %d bytes", len(addr))
		}
		p.Addr = a
	}
	return p
}

// body reads what differs by the kind.
func (d *decoder) body(r *Record) {
	switch r.Kind {
	case Messages:
		at := d.at
		last := r.Time.UnixNano()
		for i := uint64(0); i < r.Count && d.err == nil; i++ {
			d.message(r, r.First+i, &last)
		}
		r.body = d.b[at:d.at]
	case Lost:
		d.lost(r)
	case Begin:
	case End:
		at := d.at
		r.How = How(d.byte())
		if r.How < Goodbye || r.How > Stopped {
			d.fail(at, fmt.Errorf("%w (end %d)", ErrVersion, r.How))
		}
		r.Text = d.text()
	default:
		d.fail(kindAt, fmt.Errorf("%w (kind %d)", ErrVersion, r.Kind))
	}
	if r.Count > math.MaxInt64-r.First {
		d.malformed(firstAt, "%d counters from %d on exceed %d", r.Count, r.First, int64(math.MaxInt64))
	}
}

// message reads a message.
//
//   - last: the time of the one before, which becomes that of this one.
func (d *decoder) message(r *Record, counter uint64, last *int64) recording.Message {
	at := d.at
	m := bus.Message{Tag: r.Tag, Counter: counter, Publisher: r.Peer}
	var id [16]byte
	flags := d.byte()
	if flags >= noFlag {
		d.malformed(at, "flags are %#x", flags)
	}
	if flags&hasTime != 0 {
		*last += d.varint()
	}
	if flags&hasStatus != 0 {
		m.Status = bus.Status(d.byte())
	}
	if flags&hasRequest != 0 {
		copy(id[:], d.take(uint64(len(id))))
	}
	m.Data = d.take(d.uvarint())
	return recording.Message{Message: m.WithRequestID(bus.RequestIDOf(id)), Time: time.Unix(0, *last)}
}

// lost reads the body of a Lost record.
func (d *decoder) lost(r *Record) {
	at := d.at
	r.Count = d.uvarint()
	if r.Count == 0 {
		d.malformed(at, "a loss of nothing")
	}
	at = d.at
	n := d.uvarint()
	if n > maxCauses {
		d.malformed(at, "%d causes, want at most %d", n, maxCauses)
	}
	left := r.Count
	for i := uint64(0); i < n && d.err == nil; i++ {
		at = d.at
		s := Share{Cause(d.byte()), d.uvarint()}
		if s.Count > left {
			d.malformed(at, "the causes have more counters than are lost, %d", r.Count)
		}
		left -= s.Count
		r.Causes = append(r.Causes, s)
	}
	r.Text = d.text()
}
