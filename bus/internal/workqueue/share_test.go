// SPDX-License-Identifier: Apache-2.0

package workqueue_test

import (
	"testing"

	"pgregory.net/rapid"

	"tagbus/bus/internal/workqueue"
)

// turns is a loop that runs what is posted in turns.
type turns struct{ posts []func() }

func (l *turns) post(f func()) bool {
	l.posts = append(l.posts, f)
	return true
}

func (l *turns) turn() {
	posts := l.posts
	l.posts = nil
	for _, f := range posts {
		f()
	}
}

// peer sends messages that cause work.
type peer struct {
	share  workqueue.Share
	paused int
	waits  []int // steps of the messages that are not read yet
}

// newPeer returns a peer that is read.
func newPeer(q *workqueue.Queue) *peer {
	p := new(peer)
	p.share = q.Share(func() { p.paused++ }, func() { p.paused-- })
	return p
}

func TestAPeerIsNotReadWhileItsJobGoesOn(t *testing.T) {
	var loop turns
	q := workqueue.New(loop.post)
	p, other := newPeer(&q), newPeer(&q)
	p.share.Add(chew(100))
	if p.paused != 0 {
		t.Errorf("after a short job: got %d pauses, want 0", p.paused)
	}
	p.share.Add(chew(2 * workqueue.SliceSteps))
	p.share.Add(chew(1))
	if p.paused != 2 || other.paused != 0 {
		t.Errorf("two jobs wait: got %d pauses, and %d of another peer; want 2, 0", p.paused, other.paused)
	}
	for len(loop.posts) > 0 {
		loop.turn()
	}
	if p.paused != 0 {
		t.Errorf("all is done: got %d pauses, want 0", p.paused)
	}
}

// chew returns a job of so many steps.
func chew(steps int) workqueue.Job {
	return func(budget int) (int, bool) {
		n := min(steps, budget)
		steps -= n
		return n, steps == 0
	}
}

// TestPeersShareTheBudgetOfASlice: however many messages the peers send, and whatever
// each of these causes, the work of one turn of the loop is bounded, and all is done.
func TestPeersShareTheBudgetOfASlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var loop turns
		q := workqueue.New(loop.post)
		peers := make([]*peer, rapid.IntRange(1, 5).Draw(t, "peers"))
		largest := rapid.SampledFrom([]int{10, 1000, 2 * workqueue.SliceSteps}).Draw(t, "largest")
		for i := range peers {
			peers[i] = newPeer(&q)
			peers[i].waits = rapid.SliceOfN(rapid.IntRange(1, largest), 0, 100).Draw(t, "messages")
		}
		left := true
		for n := 0; left || len(loop.posts) > 0; n++ {
			if n > 10_000 {
				t.Fatalf("got no end after %d turns", n)
			}
			loop.turn()
			left = false
			steps := 0
			for _, p := range peers {
				for len(p.waits) > 0 && p.paused == 0 {
					steps += p.waits[0]
					more := p.share.Spend(p.waits[0])
					p.waits = p.waits[1:]
					if !more {
						for _, o := range peers {
							o.share.Rest()
						}
					}
				}
				if p.paused < 0 || p.paused > 1 {
					t.Fatalf("a peer is paused %d times, want at most once", p.paused)
				}
				left = left || len(p.waits) > 0
			}
			if most := workqueue.SliceSteps + largest + q.Longest; steps > most {
				t.Fatalf("got %d steps in a turn, want at most %d", steps, most)
			}
		}
		for _, p := range peers {
			if p.paused != 0 {
				t.Errorf("in the end a peer is paused %d times", p.paused)
			}
		}
	})
}

// A peer that has caused a whole slice of work rests for one, and the others do not.
func TestAPeerPaysForItsWorkInAdvance(t *testing.T) {
	var loop turns
	q := workqueue.New(loop.post)
	loud, quiet := newPeer(&q), newPeer(&q)
	if !quiet.share.Spend(1) {
		t.Fatalf("a step uses up the slice")
	}
	if loud.share.Spend(workqueue.SliceSteps) {
		t.Fatalf("more than a slice leaves some of its budget")
	}
	for range 2 { // the second time changes nothing
		loud.share.Rest()
		quiet.share.Rest()
	}
	loop.turn()
	if loud.paused != 0 || quiet.paused != 1 {
		t.Errorf("a slice later: got %d pauses of the loud peer and %d of the quiet one, want 0 and 1", loud.paused, quiet.paused)
	}
	total := q.Total
	if loud.share.Spend(workqueue.SliceSteps - 1); q.Total != total {
		t.Errorf("what is paid for counts again: got %d more steps", q.Total-total)
	}
	loop.turn()
	if quiet.paused != 0 {
		t.Errorf("two slices later: the quiet peer is still paused")
	}
}
