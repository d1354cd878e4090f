// SPDX-License-Identifier: Apache-2.0

package check

import (
	"bytes"
	"slices"
)

// Name is the id of an instance, in a record.
type Name [32]byte

// NameOf returns the name of an instance.
func NameOf(instance string) (n Name) {
	copy(n[:], instance)
	return n
}

// String returns the id.
func (n Name) String() string { return string(bytes.TrimRight(n[:], "\x00")) }

// Sent is what a publisher writes down of one tag.
type Sent struct {
	Publisher Name
	Tag       uint64
	Tried     uint64 // begun to publish: one more than Accepted if the process was killed in between
	Accepted  uint64 // Publish has returned nil
	Waited    uint64 // nanoseconds that all calls took
	Drained   uint64 // 1: Drain has returned nil; 2: it has returned an error
}

// Cause is a reason that the bus gives for a loss.
type Cause int

// The causes.
const (
	Full       Cause = iota // bus.ErrTooSlow
	Memory                  // bus.ErrPublisherMemory
	Connection              // bus.ErrConnectionLost
	Ended                   // bus.ErrPublisherEnded
	LeftOut                 // bus.ErrLeftOut
	Queue                   // bus.ErrQueueFull: it was received
	Other
	causes
)

// Told is how many messages a side was told are lost, by Cause.
type Told [causes]uint64

// Missing returns how many messages did not come, as the bus says.
func (t Told) Missing() (n uint64) {
	for cause, messages := range t {
		if Cause(cause) != Queue {
			n += messages
		}
	}
	return n
}

// Got is what a subscriber writes down of one tag of one publisher.
type Got struct {
	Publisher Name
	Tag       uint64
	Delivered uint64 // once each, whole, of the tag
	Missing   uint64 // counters that were left out below Next, and have not come
	Next      uint64 // after the largest counter
	First     uint64 // counter of the first message

	Duplicated, Reordered, Corrupt, Foreign uint64 // messages that must not be

	Told     Told
	Goodbye  uint64 // 1: the bus says that the publisher has ended in order
	Vanished uint64 // 1: the bus says that it is gone, and what was last is not known

	LastAt   int64 // of a delivery, by record.Now
	MaxPause int64 // nanoseconds between two deliveries

	Judged uint64 // 1: a reader of the record has judged this stream, and its slot may be used again
}

// Owed is what a publisher has told of the losses of one subscriber of one tag.
type Owed struct {
	Subscriber Name
	Tag        uint64
	Told       Told
}

// Vitals is what a program writes down of itself.
type Vitals struct{ Goroutines uint64 }

// maxHoles bounds what a Judge remembers of counters that were left out: an older one that comes late
// counts as a duplicate, which fails as well. A subscriber of 500 tags would grow for hours with more.
const maxHoles = 64

// span is counters from from to before to.
type span struct{ from, to uint64 }

// Judge looks at the messages of one tag from one publisher, in the order in which they come.
type Judge struct {
	got    *Got
	stream uint64
	holes  []span
}

// NewJudge returns a judge that writes into got.
func NewJudge(got *Got, publisher string, tag uint64) *Judge {
	got.Publisher, got.Tag = NameOf(publisher), tag
	return &Judge{got: got, stream: StreamOf(publisher)}
}

// Observe looks at one message, at a time of record.Now.
func (j *Judge) Observe(payload []byte, now int64) {
	g := j.got
	m, whole := parse(payload)
	switch {
	case !whole:
		g.Corrupt++
		return
	case m.stream != j.stream || m.tag != g.Tag:
		g.Foreign++
		return
	case m.counter < g.Next && j.fill(m.counter):
		g.Reordered++
		return
	case m.counter < g.Next:
		g.Duplicated++
		return
	}
	if g.Delivered == 0 {
		g.First = m.counter
	}
	if m.counter > g.Next {
		g.Missing += m.counter - g.Next
		if j.holes = append(j.holes, span{g.Next, m.counter}); len(j.holes) > maxHoles {
			j.holes = slices.Delete(j.holes, 0, 1)
		}
	}
	g.Next = m.counter + 1
	g.Delivered++
	if g.LastAt != 0 {
		g.MaxPause = max(g.MaxPause, now-g.LastAt)
	}
	g.LastAt = now
}

// fill reports whether a counter was left out before.
func (j *Judge) fill(counter uint64) bool {
	at := slices.IndexFunc(j.holes, func(s span) bool { return s.from <= counter && counter < s.to })
	if at < 0 {
		return false
	}
	hole := j.holes[at]
	j.holes = slices.Replace(j.holes, at, at+1, span{hole.from, counter}, span{counter + 1, hole.to})
	return true
}
