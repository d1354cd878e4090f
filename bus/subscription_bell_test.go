// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"testing"
	"testing/synctest"
	"time"

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

// TestInbox_wakesItsReaderOnceInATurn pushes ten pages in a turn: each woke the reader by itself, which then
// took one page at a time.
func TestInbox_wakesItsReaderOnceInATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const pages, size = 10, 10_000
		loop := new(turns)
		in := newInbox(&subscriberImpl{loop: loop, cfg: SubscriberConfig{Receiving: Receiving{QueueBytes: 1 << 20}}}, Block)
		read := make(chan int)
		go func() {
			for {
				if _, err := in.next(t.Context()); err != nil {
					return
				}
				n := 0
				for m := new(Message); in.take(0, m); {
					n++
				}
				read <- n
			}
		}()
		synctest.Wait()
		for turn := range 3 {
			for range pages {
				in.box.Push(queued{}, make([]byte, size))
				in.told(size)
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
		in.box.Push(queued{}, nil)
		in.told(0)
		<-read
		in.box.Close(nil)
	})
}

func TestBell_makesWayForGoroutinesAndMuchAlone(t *testing.T) {
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
				var b bell
				b.init(loop, func() bool { return test.goroutine })
				b.gosched = func() { yields++ }
				b.bytes = test.bytes
				b.ring()
				loop.endTurn()
				if (yields > 0) != test.yields || b.bytes != 0 {
					t.Errorf("got %d yields, %d bytes left; want yields %v", yields, b.bytes, test.yields)
				}
			})
		})
	}
}

// TestBell_makesNoWayAgainSoonIfThatTookLong: other goroutines have the processors, and each time the loop
// would wait for all of them.
func TestBell_makesNoWayAgainSoonIfThatTookLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		loop, yields := new(turns), 0
		took := longYield + time.Millisecond
		var b bell
		b.init(loop, func() bool { return true })
		b.gosched = func() {
			yields++
			<-time.After(took)
		}
		turn := func() {
			b.bytes = yieldBytes
			b.ring()
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
