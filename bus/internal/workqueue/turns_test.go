// SPDX-License-Identifier: Apache-2.0

package workqueue_test

import (
	"slices"
	"testing"

	"tagbus/bus/internal/workqueue"
)

// client is a peer with tasks.
type client struct {
	line    workqueue.Line
	paused  int
	going   bool
	aborted bool
	did     []string
}

func (c *client) Pause()     { c.paused++ }
func (c *client) Resume()    { c.paused-- }
func (c *client) Ends() bool { return c.going }
func (c *client) Aborted()   { c.aborted = true }

func newClient(t *workqueue.Turns) *client {
	c := new(client)
	c.line.Turns, c.line.Peer = t, c
	return c
}

// add adds a task of so many steps.
func (c *client) add(name string, steps int, abort func()) {
	run := chew(steps)
	c.line.Add(workqueue.Task{Run: func(budget int) (int, bool) {
		taken, done := run(budget)
		if done {
			c.did = append(c.did, name)
		}
		return taken, done
	}, Abort: abort})
}

func (c *client) abort(name string) func() {
	return func() { c.did = append(c.did, "aborted "+name) }
}

// TestTurns: the tasks of a peer keep their order, it is not read meanwhile, and a peer with a
// short one waits for no long one of another.
func TestTurns(t *testing.T) {
	var loop turns
	q := workqueue.New(loop.post)
	all := q.Turns()
	long, short := newClient(&all), newClient(&all)
	short.add("at once", 10, nil)
	if short.paused != 0 || short.line.Len() != 0 {
		t.Errorf("a task that is done at once: got %d pauses, %d tasks", short.paused, short.line.Len())
	}
	long.add("first", 20*workqueue.SliceSteps, nil)
	long.add("second", 1, nil)
	short.add("soon", 10, nil)
	if long.paused != 1 || short.paused != 1 || long.line.Len() != 2 {
		t.Errorf("tasks wait: got %d and %d pauses, %d tasks; want 1, 1, 2", long.paused, short.paused, long.line.Len())
	}
	for slice := 0; len(loop.posts) > 0; slice++ {
		loop.turn()
		if slice == 1 && (!slices.Contains(short.did, "soon") || short.paused != 0) {
			t.Errorf("after two slices: got %q and %d pauses of the peer with a short task", short.did, short.paused)
		}
	}
	if want := []string{"first", "second"}; !slices.Equal(long.did, want) || long.paused != 0 {
		t.Errorf("got %q and %d pauses, want %q", long.did, long.paused, want)
	}
}

// TestTurns_ofAPeerThatGoes aborts what can be aborted, and does the rest.
func TestTurns_ofAPeerThatGoes(t *testing.T) {
	var loop turns
	q := workqueue.New(loop.post)
	all := q.Turns()
	c := newClient(&all)
	c.add("first", 3*workqueue.SliceSteps, c.abort("first"))
	c.add("second", 1, nil)
	c.going = true
	for len(loop.posts) > 0 {
		loop.turn()
	}
	if want := []string{"aborted first", "second"}; !slices.Equal(c.did, want) || c.paused != 0 {
		t.Errorf("got %q and %d pauses, want %q", c.did, c.paused, want)
	}
}

// TestTurns_Abort gives up all tasks, and those that are added later.
func TestTurns_Abort(t *testing.T) {
	var loop turns
	q := workqueue.New(loop.post)
	all := q.Turns()
	busy, idle := newClient(&all), newClient(&all)
	busy.add("first", 3*workqueue.SliceSteps, busy.abort("first"))
	busy.add("second", 1, nil)
	all.Abort()
	idle.add("late", 1, idle.abort("late"))
	idle.add("later", 1, nil)
	for len(loop.posts) > 0 {
		loop.turn()
	}
	if want := []string{"aborted first"}; !slices.Equal(busy.did, want) || !busy.aborted {
		t.Errorf("a peer with tasks: got %q, told %v; want %q", busy.did, busy.aborted, want)
	}
	if want := []string{"aborted late"}; !slices.Equal(idle.did, want) || idle.aborted {
		t.Errorf("a peer without: got %q, told %v; want %q, and that it is not", idle.did, idle.aborted, want)
	}
}
