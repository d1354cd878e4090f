// SPDX-License-Identifier: Apache-2.0

package sendqueue_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tagbus/bus/internal/sendqueue"
)

// peer is what happens to a peer.
type peer struct {
	paused int
	queue  sendqueue.Queue
}

func newPeer() *peer {
	p := new(peer)
	p.queue = sendqueue.New(func() { p.paused++ }, func() { p.paused-- })
	return p
}

// TestAPeerThatReadsNothingIsNotRead compares a queue with a simple model: a peer is not
// read from the moment that too much waits until half of that is taken.
func TestAPeerThatReadsNothingIsNotRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newPeer()
		q := &p.queue
		var waiting []string
		given, unread := 0, false
		bytes := func() (n int) {
			for _, s := range waiting {
				n += len(s) + sendqueue.MessageBytes
			}
			return n
		}
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				s := strings.Repeat(rapid.StringN(1, 1, 1).Draw(t, "letter"), rapid.SampledFrom([]int{0, 1, sendqueue.Most / 5}).Draw(t, "bytes"))
				q.Push([]byte(s))
				waiting = append(waiting, s)
				unread = unread || bytes() > sendqueue.Most
			},
			"give": func(t *rapid.T) {
				if len(waiting) == 0 {
					t.Skip("nothing waits")
				}
				if got := string(q.Front()); got != waiting[0] {
					t.Fatalf("got %.20q, want %.20q", got, waiting[0])
				}
				q.Given()
				waiting = waiting[1:]
				given++
				unread = unread && bytes() > sendqueue.Most/2
			},
			"complete": func(t *rapid.T) {
				if given == 0 {
					t.Skip("nothing is being sent")
				}
				q.Completed()
				given--
			},
			"lose": func(*rapid.T) {
				q.Drop()
				waiting, given, unread = nil, 0, false
			},
			"": func(t *rapid.T) {
				if q.Waits() != (len(waiting) > 0) || q.Bytes() != bytes() || q.Idle() != (len(waiting)+given == 0) {
					t.Fatalf("got waits %v, %d bytes, idle %v; want %d messages of %d bytes, and %d being sent",
						q.Waits(), q.Bytes(), q.Idle(), len(waiting), bytes(), given)
				}
				paused := 0
				if unread {
					paused = 1
				}
				if q.Unread() != unread || p.paused != paused {
					t.Fatalf("got unread %v and %d pauses, want %v and %d", q.Unread(), p.paused, unread, paused)
				}
			},
		})
	})
}

func TestSentSaysWhatHappenedSinceItWasAsked(t *testing.T) {
	p := newPeer()
	p.queue.Push(nil)
	if p.queue.Sent() {
		t.Errorf("a message that waits is not sent")
	}
	p.queue.Given()
	if !p.queue.Sent() || p.queue.Sent() {
		t.Errorf("a message was sent once")
	}
}

func TestOnlyAPeerThatTakesSomethingMoves(t *testing.T) {
	p := newPeer()
	if !p.queue.Moves() {
		t.Errorf("nothing is owed to the peer")
	}
	p.queue.Push(make([]byte, sendqueue.Most))
	p.queue.Push(make([]byte, sendqueue.Most))
	if !p.queue.Moves() { // the time begins
		t.Errorf("it is not read since now only")
	}
	if p.queue.Moves() {
		t.Errorf("the peer takes nothing")
	}
	p.queue.Given() // to the transport
	if p.queue.Moves() {
		t.Errorf("the peer has taken nothing yet")
	}
	p.queue.Completed()
	if !p.queue.Moves() || p.queue.Moves() {
		t.Errorf("the peer has taken one message")
	}
	p.queue.Drop()
	if !p.queue.Moves() {
		t.Errorf("nothing is owed to the peer any more")
	}
}
