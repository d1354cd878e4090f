// SPDX-License-Identifier: Apache-2.0

package workqueue

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// postbox is a loop that runs one posted function at a time.
type postbox struct {
	posts []func()
	ended bool
}

func (p *postbox) post(f func()) bool {
	if !p.ended {
		p.posts = append(p.posts, f)
	}
	return !p.ended
}

// turn runs what is posted now and reports whether that was anything.
func (p *postbox) turn() bool {
	posts := p.posts
	p.posts = nil
	for _, f := range posts {
		f()
	}
	return len(posts) > 0
}

// chew returns a job of so many steps that calls done at its end.
func chew(steps int, done func()) Job {
	return func(budget int) (int, bool) {
		n := min(steps, budget)
		if steps -= n; steps > 0 {
			return n, false
		}
		done()
		return n, true
	}
}

func TestAShortJobIsDoneAtOnce(t *testing.T) {
	var p postbox
	c := New(p.post)
	done := 0
	for range 10 {
		c.Add(chew(100, func() { done++ }))
	}
	if done != 10 || c.Waiting() > 0 || len(p.posts) != 0 {
		t.Errorf("got %d of 10 jobs done, idle %v, %d functions posted; want all, true, 0", done, c.Waiting() == 0, len(p.posts))
	}
}

func TestJobsAreDoneInTheirOrderAndInSlices(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p postbox
		c := New(p.post)
		var order []int
		next, spent, total := 0, 0, 0
		add := func(steps, more int) {
			number := next
			next++
			total += steps
			c.Add(func(budget int) (int, bool) {
				n := min(steps, budget)
				spent += n
				if steps -= n; steps > 0 {
					return n, false
				}
				order = append(order, number)
				for range more { // jobs that a job adds
					next++
					c.Add(func(int) (int, bool) { order = append(order, -1); return 1, true })
				}
				more = 0
				return n, true
			})
		}
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				add(rapid.IntRange(1, 3*SliceSteps).Draw(t, "steps"), rapid.IntRange(0, 2).Draw(t, "more"))
			},
			"turn": func(t *rapid.T) {
				spent = 0
				p.turn()
				if spent > SliceSteps {
					t.Fatalf("got %d steps in a turn, want at most %d", spent, SliceSteps)
				}
				spent = 0
			},
			"": func(t *rapid.T) {
				if spent > SliceSteps {
					t.Fatalf("got %d steps between two turns, want at most %d", spent, SliceSteps)
				}
				if len(p.posts) > 1 {
					t.Fatalf("got %d functions posted, want at most 1", len(p.posts))
				}
			},
		})
		turns := 0
		for p.turn() {
			if turns++; turns > total/SliceSteps+next+1 {
				t.Fatalf("got no end after %d turns for %d steps", turns, total)
			}
		}
		own := slices.DeleteFunc(slices.Clone(order), func(n int) bool { return n < 0 })
		if len(order) != next || !slices.IsSorted(own) {
			t.Fatalf("got %d of %d jobs done in the order %v, want all in theirs", len(order), next, own)
		}
	})
}

func TestManyShortJobsShareTheBudgetOfOneSlice(t *testing.T) {
	var p postbox
	c := New(p.post)
	done := 0
	for range 20 {
		c.Add(chew(SliceSteps/10, func() { done++ }))
	}
	if done > 11 || c.Waiting() == 0 {
		t.Errorf("got %d jobs done in one turn, idle %v; want at most 11, false", done, c.Waiting() == 0)
	}
	for p.turn() {
	}
	if done != 20 || c.Waiting() > 0 {
		t.Errorf("got %d of 20 jobs done in the end, idle %v; want all, true", done, c.Waiting() == 0)
	}
}

func TestAStopDropsTheJobs(t *testing.T) {
	for _, test := range []struct {
		name string
		stop func(*Queue, *postbox)
	}{
		{"between two slices", func(c *Queue, _ *postbox) { c.Stop() }},
		{"by the end of the loop", func(_ *Queue, p *postbox) { p.turn(); p.ended = true; p.turn() }},
		{"by a job", func(c *Queue, p *postbox) {
			c.jobs.PushFront(func(int) (int, bool) { c.Stop(); return 1, true })
			p.turn()
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var p postbox
			c := New(p.post)
			c.Add(chew(100*SliceSteps, func() { t.Error("a dropped job was done") }))
			test.stop(&c, &p)
			c.Add(func(int) (int, bool) { t.Error("a job ran after the end"); return 1, true })
			for p.turn() {
			}
			if c.Waiting() > 0 || !c.Ended() {
				t.Errorf("got %d jobs waiting, ended %v; want none, true", c.Waiting(), c.Ended())
			}
		})
	}
}
