// SPDX-License-Identifier: Apache-2.0

package events

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// handLoop is a loop that runs what is posted when it is told to.
type handLoop struct {
	posts []func()
	ended bool
}

func (l *handLoop) post(f func()) bool {
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

// run runs turns until nothing is posted.
func (l *handLoop) run() {
	for len(l.posts) > 0 {
		l.turn()
	}
}

// newTestQueue returns a queue of numbers, where dropped ones are told as a negative
// number.
func newTestQueue(tell func(int)) (*Queue[int], *handLoop) {
	loop := new(handLoop)
	return New(loop.post, tell, func(dropped uint64) int { return -int(dropped) }), loop
}

// recorder notes what is told.
type recorder struct{ told []int }

func (r *recorder) tell(e int) { r.told = append(r.told, e) }

// upTo returns the numbers from 0 to n-1.
func upTo(n int) (list []int) {
	for i := range n {
		list = append(list, i)
	}
	return list
}

func series(list []int) Series[int] { return Each(list, func(n int) int { return n }) }

// pausedTimes is a connection that counts how often it is paused.
type pausedTimes struct {
	Conn
	pauses, resumes int
}

func newConn() *pausedTimes {
	p := new(pausedTimes)
	p.Pause = func() { p.pauses++ }
	p.Resume = func() { p.resumes++ }
	return p
}

func TestEventsAreToldInOrderAFewPerTurn(t *testing.T) {
	var r recorder
	q, loop := newTestQueue(r.tell)
	const n = 5*eventsPerTurn + 7
	for i := range n {
		q.Add(i, nil)
	}
	if len(r.told) > 0 || q.Waiting() != n {
		t.Errorf("at once: got %d events told and %d waiting, want none and %d", len(r.told), q.Waiting(), n)
	}
	turns := 0
	for ; len(loop.posts) > 0; turns++ {
		if len(loop.posts) != 1 {
			t.Fatalf("turn %d: got %d posted functions, want one", turns, len(loop.posts))
		}
		before := len(r.told)
		loop.turn()
		if got := len(r.told) - before; got > eventsPerTurn {
			t.Fatalf("turn %d: got %d events, want at most %d", turns, got, eventsPerTurn)
		}
	}
	if !slices.Equal(r.told, upTo(n)) || q.Waiting() != 0 {
		t.Errorf("got %d events in %d turns, want %d in order", len(r.told), turns, n)
	}
}

func TestASlowUserGetsOneEventPerTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		q, loop := newTestQueue(func(e int) {
			time.Sleep(eventTime)
			r.tell(e)
		})
		q.AddSeries(series(upTo(4)), nil, 4)
		for turns := 1; len(loop.posts) > 0; turns++ {
			if loop.turn(); len(r.told) != turns {
				t.Errorf("got %d events in %d turns, want one in each", len(r.told), turns)
			}
		}
	})
}

func TestASeriesIsOneEntryAndToldInOrder(t *testing.T) {
	var r recorder
	q, loop := newTestQueue(r.tell)
	q.Add(0, nil)
	q.AddSeries(series(upTo(2 * eventsPerTurn)[1:]), nil, 2*eventsPerTurn-1)
	q.Add(2*eventsPerTurn, nil)
	if q.Waiting() != 3 {
		t.Errorf("got %d entries, want 3", q.Waiting())
	}
	loop.turn()
	if len(r.told) > eventsPerTurn {
		t.Errorf("got %d events in one turn, want at most %d", len(r.told), eventsPerTurn)
	}
	loop.run()
	if want := upTo(2*eventsPerTurn + 1); !slices.Equal(r.told, want) {
		t.Errorf("got %d events, want %d in order", len(r.told), len(want))
	}
}

// A group of subscriptions of which Access takes all away has no answers.
func TestQueue_AddSeries_ofNone(t *testing.T) {
	var r recorder
	q, loop := newTestQueue(r.tell)
	conn := &Conn{Pause: func() { t.Error("paused for nothing") }}
	q.AddSeries(series(nil), conn, 0)
	q.Add(1, conn)
	loop.run()
	if !slices.Equal(r.told, []int{1}) || q.Waiting() != 0 {
		t.Errorf("got %v, with %d waiting, want the event behind it", r.told, q.Waiting())
	}
}

func TestEventsThatFindNoRoomAreCounted(t *testing.T) {
	var r recorder
	q, loop := newTestQueue(r.tell)
	const more = 1000
	for round := range 2 {
		r.told = nil
		for i := range maxPlain + more {
			q.Add(i, nil)
		}
		q.AddSeries(series(upTo(10)), nil, 10)
		if q.Waiting() > maxPlain+1 {
			t.Fatalf("got %d entries waiting, want at most %d", q.Waiting(), maxPlain+1)
		}
		loop.run()
		if want := append(upTo(maxPlain), -more-10); !slices.Equal(r.told, want) {
			t.Errorf("round %d: got %d events, the last %d, want %d and then %d", round, len(r.told), r.told[len(r.told)-1], len(want), want[maxPlain])
		}
		if q.waiting.Room() > retained {
			t.Errorf("the empty queue keeps room for %d entries, want at most %d", q.waiting.Room(), retained)
		}
	}
}

func TestDropsAreOneEventUntilItIsTold(t *testing.T) {
	var r recorder
	q, loop := newTestQueue(r.tell)
	for i := range maxPlain + 1 {
		q.Add(i, nil)
	}
	for q.Waiting() > 1 {
		q.tellOne()
	}
	for i := range maxPlain + 2 { // before the first drop is told
		q.Add(i, nil)
	}
	loop.run()
	var drops []int
	for _, e := range r.told {
		if e < 0 {
			drops = append(drops, e)
		}
	}
	if want := []int{-3}; !slices.Equal(drops, want) {
		t.Errorf("got %v, want %v in one event", drops, want)
	}
}

func TestAConnectionWhoseEventsWaitIsPaused(t *testing.T) {
	q, loop := newTestQueue(func(int) {})
	a, b := newConn(), newConn()
	for i := range 10 * maxCaused {
		q.Add(i, &a.Conn)
		if want := min(1, (i+1)/(maxCaused+1)); a.pauses != want {
			t.Fatalf("after %d events: got %d pauses, want %d", i+1, a.pauses, want)
		}
	}
	for i := range maxCaused {
		q.Add(i, &b.Conn)
	}
	for len(loop.posts) > 0 {
		if a.resumes > 0 && a.waiting > 0 {
			t.Errorf("resumed while %d events wait", a.waiting)
		}
		loop.turn()
	}
	if a.pauses != 1 || a.resumes != 1 || b.pauses != 0 || b.resumes != 0 || a.waiting != 0 || b.waiting != 0 {
		t.Errorf("got %d and %d pauses, %d and %d of them over, want one that is over, and none", a.pauses, b.pauses, a.resumes, b.resumes)
	}
}

func TestTheEventsOfASeriesWeigh(t *testing.T) {
	var r recorder
	q, loop := newTestQueue(r.tell)
	conn := newConn()
	for round := 1; round < 3; round++ {
		q.AddSeries(series(upTo(maxCaused)), &conn.Conn, maxCaused)
		if conn.pauses != round-1 {
			t.Errorf("%d events: got %d pauses, want %d", maxCaused, conn.pauses, round-1)
		}
		q.AddSeries(series(upTo(1)), &conn.Conn, 1)
		if conn.pauses != round || conn.resumes != round-1 {
			t.Errorf("%d events: got %d pauses and %d ends, want %d and %d", maxCaused+1, conn.pauses, conn.resumes, round, round-1)
		}
		loop.run()
		if conn.resumes != round || conn.waiting != 0 {
			t.Errorf("all told: got %d ends and %d events waiting, want %d and none", conn.resumes, conn.waiting, round)
		}
	}
}

func TestADroppedEventPausesNoConnection(t *testing.T) {
	q, loop := newTestQueue(func(int) {})
	for i := range maxPlain {
		q.Add(i, nil)
	}
	conn := newConn()
	q.AddSeries(series(upTo(2*maxCaused)), &conn.Conn, 2*maxCaused)
	loop.run()
	if conn.pauses != 0 || conn.resumes != 0 {
		t.Errorf("got %d pauses and %d ends, want none", conn.pauses, conn.resumes)
	}
}

func TestAPanicOfTheUserCostsNoOtherEvent(t *testing.T) {
	var r recorder
	q, loop := newTestQueue(func(e int) {
		r.tell(e)
		if e == 1 {
			panic("spoiled")
		}
	})
	for i := range 4 {
		q.Add(i, nil)
	}
	for len(loop.posts) > 0 {
		func() {
			defer func() { _ = recover() }()
			loop.turn()
		}()
	}
	if want := upTo(4); !slices.Equal(r.told, want) {
		t.Errorf("got %v, want %v", r.told, want)
	}
}

func TestALoopThatEndsTellsWhatWaits(t *testing.T) {
	var r recorder
	q, loop := newTestQueue(r.tell)
	for i := range 3 * eventsPerTurn {
		q.Add(i, nil)
	}
	loop.ended = true // and runs what was accepted
	loop.turn()
	if len(r.told) != 3*eventsPerTurn {
		t.Errorf("got %d events, want %d", len(r.told), 3*eventsPerTurn)
	}
	q.Add(0, nil) // must not call the user from here
	if len(r.told) != 3*eventsPerTurn {
		t.Errorf("got an event inside the call that has reported it")
	}
}

func TestEventsThatTheUserCausesComeLater(t *testing.T) {
	var q *Queue[int]
	var told []string
	q, loop := newTestQueue(func(e int) {
		told = append(told, fmt.Sprint("begin ", e))
		if e < 3 {
			q.Add(e+1, nil)
		}
		told = append(told, fmt.Sprint("end ", e))
	})
	q.Add(1, nil)
	loop.run()
	if want := []string{"begin 1", "end 1", "begin 2", "end 2", "begin 3", "end 3"}; !slices.Equal(told, want) {
		t.Errorf("got %v, want %v", told, want)
	}
}
