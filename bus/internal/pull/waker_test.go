// SPDX-License-Identifier: Apache-2.0

package pull

import (
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus/internal/retain"
	"tagbus/netio"
)

// turns is a loop whose posts wait for the end of a turn.
type turns struct {
	netio.Loop
	posts []func()
	ended bool
}

func (l *turns) Post(f func()) bool {
	if !l.ended {
		l.posts = append(l.posts, f)
	}
	return !l.ended
}

func (l *turns) endTurn() {
	posts := l.posts
	l.posts = nil
	for _, f := range posts {
		f()
	}
}

// TestMessages_wakesItsReaderOnceInATurn pushes ten pages in a turn: each woke the reader by itself, which then
// took one page at a time.
func TestMessages_wakesItsReaderOnceInATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const pages, size = 10, 10_000
		loop := new(turns)
		q := NewMessages[key, string](Config{Loop: loop, Retainer: retain.New(0), Limit: 1 << 20})
		read := make(chan int)
		go func() {
			for q.Reader().Wait(t.Context()) == nil {
				n := 0
				for _, _, ok := q.Reader().Take(); ok; _, _, ok = q.Reader().Take() {
					n++
				}
				read <- n
			}
		}()
		synctest.Wait()
		for turn := range 3 {
			for range pages {
				q.Push(&message{Data: make([]byte, size)})
				synctest.Wait()
			}
			if len(loop.posts) != 1 {
				t.Fatalf("turn %d: got %d posts of %d pages, want 1", turn, len(loop.posts), pages)
			}
			loop.endTurn()
			if n := <-read; n != pages {
				t.Errorf("turn %d: the reader got %d pages at once, want %d", turn, n, pages)
			}
			synctest.Wait()
		}
		loop.ended = true // a reader is not left asleep
		q.Push(&message{})
		<-read
		q.Close(nil)
	})
}

func TestWaker_yieldsToGoroutinesForMuchOnly(t *testing.T) {
	for _, test := range []struct {
		name      string
		bytes     int
		goroutine bool
		yields    bool
	}{
		{"little", yieldBytes - 1, true, false},
		{"much", yieldBytes, true, true},
		{"much, for a thread of C", yieldBytes, false, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				loop, yields := new(turns), 0
				var w waker
				w.init(loop, func() bool { return test.goroutine })
				w.gosched = func() { yields++ }
				w.came(test.bytes, true)
				loop.endTurn()
				if (yields > 0) != test.yields || w.bytes != 0 {
					t.Errorf("got %d yields, %d bytes left; want yields %v", yields, w.bytes, test.yields)
				}
			})
		})
	}
}

// TestWaker_yieldsNotAgainSoonIfThatTookLong: other goroutines have the processors, and each time the loop
// would wait for all of them.
func TestWaker_yieldsNotAgainSoonIfThatTookLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		loop, yields := new(turns), 0
		took := longYield + time.Millisecond
		var w waker
		w.init(loop, func() bool { return true })
		w.gosched = func() {
			yields++
			<-time.After(took)
		}
		turn := func() {
			w.came(yieldBytes, true)
			loop.endTurn()
		}
		turn()
		<-time.After((yieldPause - 2) * took)
		turn()
		if yields != 1 {
			t.Errorf("got %d yields, want none after the first", yields)
		}
		<-time.After(took)
		took = longYield
		turn()
		turn()
		if yields != 3 {
			t.Errorf("got %d yields, want two more after the pause", yields)
		}
	})
}
