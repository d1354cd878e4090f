package bus

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"tagbus/netio"
)

// handLoop is a loop that runs what is posted when the test calls turn.
type handLoop struct {
	netio.Loop
	posts []func()
	ended bool
}

func (l *handLoop) Post(f func()) bool {
	if !l.ended {
		l.posts = append(l.posts, f)
	}
	return !l.ended
}

// turn runs what was posted before it.
func (l *handLoop) turn() {
	posts := l.posts
	l.posts = nil
	for _, f := range posts {
		f()
	}
}

// pausedTimes is a connection that counts how often it is paused.
type pausedTimes struct {
	events          causedEvents
	paused, resumed int
}

func (p *pausedTimes) pause()                { p.paused++ }
func (p *pausedTimes) resume()               { p.resumed++ }
func (p *pausedTimes) caused() *causedEvents { return &p.events }

func newTestQueue(tell func(Event)) (*eventQueue, *handLoop) {
	q, loop := &eventQueue{}, &handLoop{}
	q.start(loop, func(f func()) { f() }, tell)
	return q, loop
}

// numbered returns an event that differs from those of other numbers.
func numbered(n int) Event { return Event{Kind: Problem, Count: uint64(n)} }

func TestEventsAreToldInOrderAFewPerTurn(t *testing.T) {
	var told []uint64
	q, loop := newTestQueue(func(e Event) { told = append(told, e.Count) })
	const n = 5*eventsPerTurn + 7
	var want []uint64
	for i := range n {
		q.add(numbered(i), nil)
		want = append(want, uint64(i))
	}
	turns := 0
	for ; len(loop.posts) > 0; turns++ {
		if len(loop.posts) != 1 {
			t.Fatalf("turn %d: got %d posted functions, want one", turns, len(loop.posts))
		}
		before := len(told)
		loop.turn()
		if got := len(told) - before; got > eventsPerTurn {
			t.Fatalf("turn %d: got %d events, want at most %d", turns, got, eventsPerTurn)
		}
	}
	if !slices.Equal(told, want) {
		t.Errorf("got %d events in %d turns, want %d in order", len(told), turns, n)
	}
	if q.waiting.Room() > ringRetained {
		t.Errorf("the empty queue keeps room for %d events", q.waiting.Room())
	}
}

func TestEventsThatFindNoRoomAreCounted(t *testing.T) {
	var told []Event
	q, loop := newTestQueue(func(e Event) { told = append(told, e) })
	const more = 1000
	for round := range 2 {
		told = nil
		for i := range maxWaitingEvents + more {
			q.add(numbered(i), nil)
		}
		if q.waiting.Len() > maxWaitingEvents+1 {
			t.Fatalf("got %d events waiting, want at most %d", q.waiting.Len(), maxWaitingEvents+1)
		}
		for len(loop.posts) > 0 {
			loop.turn()
		}
		last := told[len(told)-1]
		var dropped *EventsDroppedError
		if len(told) != maxWaitingEvents+1 || !errors.Is(last.Err, ErrEventsDropped) || !errors.As(last.Err, &dropped) || dropped.Events != more {
			t.Errorf("round %d: got %d events, the last %v, want %d and then that %d were dropped", round, len(told), last, maxWaitingEvents, more)
		}
	}
}

func TestAConnectionWhoseEventsWaitIsPaused(t *testing.T) {
	q, loop := newTestQueue(func(Event) {})
	a, b := &pausedTimes{}, &pausedTimes{}
	for i := range 10 * maxCaused {
		q.add(numbered(i), a)
		if want := min(1, (i+1)/(maxCaused+1)); a.paused != want {
			t.Fatalf("after %d events: got %d pauses, want %d", i+1, a.paused, want)
		}
	}
	for i := range maxCaused {
		q.add(numbered(i), b)
	}
	for len(loop.posts) > 0 {
		if a.resumed > 0 && a.events.waiting > 0 {
			t.Errorf("resumed while %d events wait", a.events.waiting)
		}
		loop.turn()
	}
	if a.paused != 1 || a.resumed != 1 || b.paused != 0 || b.resumed != 0 || a.events.waiting != 0 || b.events.waiting != 0 {
		t.Errorf("got %+v and %+v, want one pause that is over, and none", a, b)
	}
}

func TestAPanicOfTheUserCostsNoOtherEvent(t *testing.T) {
	var told []uint64
	q, loop := newTestQueue(func(e Event) {
		told = append(told, e.Count)
		if e.Count == 1 {
			panic("spoiled")
		}
	})
	for i := range 4 {
		q.add(numbered(i), nil)
	}
	for len(loop.posts) > 0 {
		func() {
			defer func() { _ = recover() }()
			loop.turn()
		}()
	}
	if want := []uint64{0, 1, 2, 3}; !slices.Equal(told, want) {
		t.Errorf("got %v, want %v", told, want)
	}
}

func TestALoopThatEndsTellsWhatWaits(t *testing.T) {
	told := 0
	q, loop := newTestQueue(func(Event) { told++ })
	for i := range 3 * eventsPerTurn {
		q.add(numbered(i), nil)
	}
	loop.ended = true // and runs what was accepted
	loop.turn()
	if told != 3*eventsPerTurn {
		t.Errorf("got %d events, want %d", told, 3*eventsPerTurn)
	}
	q.add(numbered(0), nil) // must not call the user from here
	if told != 3*eventsPerTurn {
		t.Errorf("got an event inside the call that has reported it")
	}
}

func TestEventsThatTheUserCausesComeLater(t *testing.T) {
	var q *eventQueue
	var told []string
	q, loop := newTestQueue(func(e Event) {
		told = append(told, fmt.Sprint("begin ", e.Count))
		if e.Count < 3 {
			q.add(numbered(int(e.Count)+1), nil)
		}
		told = append(told, fmt.Sprint("end ", e.Count))
	})
	q.add(numbered(1), nil)
	for len(loop.posts) > 0 {
		loop.turn()
	}
	if want := []string{"begin 1", "end 1", "begin 2", "end 2", "begin 3", "end 3"}; !slices.Equal(told, want) {
		t.Errorf("got %v, want %v", told, want)
	}
}
