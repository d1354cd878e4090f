// SPDX-License-Identifier: Apache-2.0

// Package events tells a user what happens: in order, a few events in one turn of a
// loop, and with bounded memory however fast they come.
//
//   - A Queue holds the events that are not told yet.
//   - A Conn is paused while too many events that its peer has caused wait.
//   - Gaps merge what is lost of a tag, so that no more of them wait than there are
//     tags.
//
// Everything here runs on the loop. Nothing is locked.
package events

import (
	"time"

	"tagbus/bus/internal/ring"
)

const (
	// eventsPerTurn and eventTime bound the events of one turn of the loop, so that
	// other posted functions need not wait for many.
	eventsPerTurn = 256
	eventTime     = time.Millisecond

	// maxPlain bounds the waiting entries other than gaps, to about 2 MiB. Gaps are
	// bounded by the number of tags.
	maxPlain = 1 << 14

	// maxCaused is how many events of one connection may wait. With more the connection
	// is paused until they are told.
	maxCaused = 64

	// retained is how many entries an empty queue keeps its memory for: 160 KB.
	retained = 1 << 12
)

// Queue holds events until the user is told: in order, on the loop, where no lock is
// held and nothing is half done. One posted function tells a few of them and posts
// itself again. The queue is bounded:
//
//   - Gaps are merged, so there are no more of them than tags.
//   - A connection whose peer has caused more than 64 waiting events is paused until
//     they are told. So a peer that causes events too fast is slowed by its own socket.
//   - All other entries are at most 16,384. Further events are dropped and counted, and
//     one event has their number.
type Queue[E any] struct {
	post    func(func()) bool
	tell    func(E)
	report  func(dropped uint64) E
	turn    func() // tellSome, as a value made once
	posted  bool
	waiting ring.Ring[entry[E]]
	plain   int    // of waiting: those that maxPlain bounds
	dropped uint64 // not yet told
}

// entry is what waits in one place of a Queue.
type entry[E any] struct {
	events Series[E]
	conn   *Conn // whose peer has caused them; nil: none
	weight int   // how many events of conn these are
	plain  bool  // maxPlain bounds it
}

// Series is one event, or several in succession.
type Series[E any] interface {
	// Next returns the next event, and whether there is another one. A series has at
	// least one.
	Next() (e E, more bool)
}

// Conn is a connection whose peer causes events. It does not move once it is used.
type Conn struct {
	Pause  func() // is called when too many events wait: nothing is read from then on
	Resume func() // undoes it, when all of them are told

	waiting int
	paused  bool
}

// New returns a queue without events.
//
//   - post: runs a function on the loop later, and returns false if the loop has ended:
//     netio.Loop.Post.
//   - tell: tells the user. It may queue events, and may panic.
//   - report: returns the event that so many events were dropped.
func New[E any](post func(func()) bool, tell func(E), report func(dropped uint64) E) *Queue[E] {
	q := &Queue[E]{post: post, tell: tell, report: report}
	q.turn = q.tellSome
	return q
}

// Waiting returns how many entries wait. A series is one entry.
func (q *Queue[E]) Waiting() int { return q.waiting.Len() }

// Add queues an event.
//
//   - conn: the connection whose peer has caused it, which is paused while many of
//     these wait; nil if there is none.
func (q *Queue[E]) Add(e E, conn *Conn) { q.AddSeries(&one[E]{e}, conn, 1) }

// Each returns the series of the events of values. Each event is made when it is told.
func Each[V, E any](all []V, of func(V) E) Series[E] { return &each[V, E]{all, of} }

type each[V, E any] struct {
	left []V
	of   func(V) E
}

// Next implements Series.
func (s *each[V, E]) Next() (e E, more bool) {
	e = s.of(s.left[0])
	s.left = s.left[1:]
	return e, len(s.left) > 0
}

// AddSeries is Add for several events, weight of them, which are bounded by what the
// peer has sent. For the bound of the queue they count as one. Of none it does nothing.
func (q *Queue[E]) AddSeries(s Series[E], conn *Conn, weight int) {
	if weight == 0 {
		return
	}
	if q.plain >= maxPlain {
		q.drop(uint64(weight))
		return
	}
	q.plain++
	q.push(entry[E]{s, conn, weight, true})
	if conn == nil {
		return
	}
	if conn.waiting += weight; conn.waiting > maxCaused && !conn.paused {
		conn.paused = true
		conn.Pause()
	}
}

func (q *Queue[E]) push(w entry[E]) {
	q.waiting.Push(w)
	if !q.posted {
		q.posted = q.post(q.turn) // false if the loop has ended: no event is told any more
	}
}

// drop counts dropped events, and queues one event for all of them.
func (q *Queue[E]) drop(n uint64) {
	if q.dropped += n; q.dropped == n {
		q.push(entry[E]{events: (*dropped[E])(q)})
	}
}

// tellSome tells a few events, and continues in the next turn of the loop.
func (q *Queue[E]) tellSome() {
	defer q.goOn() // also after a panic of the user
	began := time.Now()
	for n := 0; n < eventsPerTurn && q.waiting.Len() > 0; n++ {
		q.tellOne()
		if time.Since(began) >= eventTime {
			return
		}
	}
}

// goOn schedules the rest for the next turn. A loop that ends has no next turn: then
// goOn tells the rest itself.
func (q *Queue[E]) goOn() {
	q.posted = q.waiting.Len() > 0 && q.post(q.turn)
	for !q.posted && q.waiting.Len() > 0 {
		q.tellOne()
	}
	if q.waiting.Len() == 0 && q.waiting.Room() > retained {
		q.waiting = ring.Ring[entry[E]]{}
	}
}

// tellOne tells the event that waits longest.
func (q *Queue[E]) tellOne() {
	e, more := q.waiting.Front().events.Next()
	if !more {
		q.end(q.waiting.Pop())
	}
	q.tell(e) // last: it may queue others, or panic
}

// end notes that all events of an entry are told, or as good as told.
func (q *Queue[E]) end(w entry[E]) {
	if w.plain {
		q.plain--
	}
	c := w.conn
	if c == nil {
		return
	}
	if c.waiting -= w.weight; c.waiting == 0 && c.paused {
		c.paused = false
		c.Resume()
	}
}

// one is a series of one.
type one[E any] struct{ event E }

// Next implements Series.
func (s *one[E]) Next() (E, bool) { return s.event, false }

// dropped is the series of the event that reports dropped ones.
type dropped[E any] Queue[E]

// Next implements Series.
func (q *dropped[E]) Next() (E, bool) {
	e := q.report(q.dropped)
	q.dropped = 0
	return e, false
}
