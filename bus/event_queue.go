package bus

import (
	"fmt"
	"time"

	"tagbus/bus/internal/ring"
	"tagbus/netio"
)

const (
	// eventsPerTurn and eventTime bound the events of one turn of the loop, so that
	// other posted functions need not wait for many.
	eventsPerTurn = 256
	eventTime     = time.Millisecond

	// maxWaitingEvents bounds the waiting events other than gaps, to about 2 MiB. Gaps
	// are bounded by the number of tags.
	maxWaitingEvents = 1 << 14

	// maxCaused is how many events of one connection may wait. With more the connection
	// is paused until they are reported.
	maxCaused = 64
)

// eventQueue holds the events of a publisher or a subscriber until OnEvent gets them:
// in order, on the loop, where no lock is held and no page is half delivered. One
// posted function reports a few of them and posts itself again. The queue is bounded:
//
//   - Gaps are merged by tag and cause (untold), so there are no more of them than
//     tags.
//   - A connection whose peer has caused more than maxCaused waiting events is paused
//     until they are reported. So a peer that causes events too fast is slowed by its
//     own socket.
//   - All others are at most maxWaitingEvents. Further events are dropped and counted,
//     and one Problem event with an *EventsDroppedError has their number.
//
// Loop only.
type eventQueue struct {
	loop    netio.Loop
	tell    func(Event) // calls the user
	turn    func()      // tellSome, as a value made once
	posted  bool
	waiting ring.Ring[waitingEvents]
	plain   int    // of waiting: those that maxWaitingEvents bounds
	dropped uint64 // not yet told
}

// waitingEvents is one entry of an eventQueue.
type waitingEvents struct {
	events eventSeries
	conn   pausable // whose peer has caused them; nil: none
	weight int      // how many events of conn these are
	plain  bool     // maxWaitingEvents bounds it
}

// eventSeries is one event, or several in succession.
type eventSeries interface {
	// next returns the next event, and whether there is another one. A series has at
	// least one.
	next() (e Event, more bool)
}

// pausable is a connection that can stop reading for a while. Pauses nest.
type pausable interface {
	pause()
	resume()
	caused() *causedEvents
}

// causedEvents counts the waiting events that one connection has caused.
type causedEvents struct {
	waiting int
	paused  bool // the connection is
}

// start sets the loop, and the function that reports an event. call runs callbacks of
// the user.
func (q *eventQueue) start(loop netio.Loop, call func(func()), tell func(Event)) {
	q.loop = loop
	q.turn = q.tellSome
	q.tell = func(e Event) { call(func() { tell(e) }) }
}

// add queues an event.
//
//   - conn: the connection whose peer has caused it, which is paused while many of
//     these wait; nil if there is none.
func (q *eventQueue) add(e Event, conn pausable) { q.addSeries(&oneEvent{e}, conn, 1) }

// addSeries is add for several events, weight of them, which are bounded by what the
// peer has sent. For maxWaitingEvents they count as one.
func (q *eventQueue) addSeries(s eventSeries, conn pausable, weight int) {
	if q.plain >= maxWaitingEvents {
		q.drop(uint64(weight))
		return
	}
	q.plain++
	q.push(waitingEvents{s, conn, weight, true})
	if conn == nil {
		return
	}
	c := conn.caused()
	if c.waiting += weight; c.waiting > maxCaused && !c.paused {
		c.paused = true
		conn.pause()
	}
}

// addGaps queues events of which there are never more than tags.
func (q *eventQueue) addGaps(s eventSeries) { q.push(waitingEvents{events: s}) }

func (q *eventQueue) push(w waitingEvents) {
	q.waiting.Push(w)
	if !q.posted {
		q.posted = q.loop.Post(q.turn) // false if the loop has ended: no event is told any more
	}
}

// drop counts dropped events, and queues one event for all of them.
func (q *eventQueue) drop(n uint64) {
	if q.dropped += n; q.dropped == n {
		q.push(waitingEvents{events: (*droppedEvents)(q)})
	}
}

// tellSome reports a few events, and continues in the next turn of the loop.
func (q *eventQueue) tellSome() {
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
// goOn reports the rest itself.
func (q *eventQueue) goOn() {
	q.posted = q.waiting.Len() > 0 && q.loop.Post(q.turn)
	for !q.posted && q.waiting.Len() > 0 {
		q.tellOne()
	}
	if q.waiting.Len() == 0 && q.waiting.Room() > ringRetained {
		q.waiting = ring.Ring[waitingEvents]{}
	}
}

// ringRetained is how many entries an empty queue keeps its memory for: 200 KB.
const ringRetained = 1 << 12

// tellOne reports the event that waits longest.
func (q *eventQueue) tellOne() {
	e, more := q.waiting.Front().events.next()
	if !more {
		q.end(q.waiting.Pop())
	}
	q.tell(e) // last: it may queue others, or panic
}

// end notes that all events of an entry are reported.
func (q *eventQueue) end(w waitingEvents) {
	if w.plain {
		q.plain--
	}
	if w.conn == nil {
		return
	}
	c := w.conn.caused()
	if c.waiting -= w.weight; c.waiting == 0 && c.paused {
		c.paused = false
		w.conn.resume()
	}
}

// oneEvent is a series of one.
type oneEvent struct{ Event }

func (e *oneEvent) next() (Event, bool) { return e.Event, false }

// droppedEvents is the series of the event that reports dropped ones.
type droppedEvents eventQueue

func (q *droppedEvents) next() (Event, bool) {
	e := Event{Kind: Problem, Err: &EventsDroppedError{Events: q.dropped}}
	q.dropped = 0
	return e, false
}

// EventsDroppedError is the cause of a Problem event: so many events were dropped
// because too many waited for OnEvent. Gap events are never dropped.
type EventsDroppedError struct{ Events uint64 }

// Error says how many, and what to do.
func (e *EventsDroppedError) Error() string {
	return fmt.Sprintf("%v: %d: return from OnEvent and from handlers sooner, and look for peers that connect or subscribe again and again",
		ErrEventsDropped, e.Events)
}

// Is reports whether target is ErrEventsDropped.
func (*EventsDroppedError) Is(target error) bool { return target == ErrEventsDropped }
