// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"slices"
	"testing"

	"tagbus/bus/internal/workqueue"
	"tagbus/subscription"
)

// exitBed is an outbox with a subscription to many tags, whose tasks are done turn by turn.
type exitBed struct {
	*leaveBed
	work  workqueue.Queue
	turns workqueue.Turns
	line  workqueue.Line
	box   *modelBox
	exit  *Exit
	calls []string
}

func newExitBed(t *testing.T) *exitBed {
	const known = 1000
	b := &exitBed{leaveBed: newLeaveBed(t, known, 4*known)}
	b.work = workqueue.New(func(func()) bool { return true })
	b.turns = b.work.Turns()
	b.line = workqueue.Line{Turns: &b.turns, Peer: b}
	b.box = b.connect()
	served, _ := b.fan.Served()
	b.want(b.box, served, subscription.Policy{})
	b.exit = NewExit(&b.box.Outbox, &b.line)
	return b
}

func (*exitBed) Pause()     {}
func (*exitBed) Resume()    {}
func (*exitBed) Ends() bool { return true }
func (b *exitBed) Aborted() { b.exit.Abort() }

// call returns a function that notes its call.
func (b *exitBed) call(name string) func() {
	return func() { b.calls = append(b.calls, name) }
}

// busy adds a job that ends the slice: what follows it waits.
func (b *exitBed) busy() (end func()) {
	over := false
	b.work.Add(func(budget int) (int, bool) { return budget, over })
	return func() { over = true }
}

// An outbox that has left is in no route, and what waited for that is called once, in order.
func TestExitLeave(t *testing.T) {
	b := newExitBed(t)
	b.busy()
	b.exit.Leave(b.call("first"))
	b.exit.Leave(b.call("second"))
	if !b.exit.Begun() || !b.exit.Owed() || len(b.calls) > 0 {
		t.Fatalf("begun %v, owed %v, calls %q; want both, and none yet", b.exit.Begun(), b.exit.Owed(), b.calls)
	}
	b.turns.Abort()
	want := []string{"first", "second"}
	if !slices.Equal(b.calls, want) {
		t.Errorf("after the end: got %q, want %q", b.calls, want)
	}
	b.exit.Leave(b.call("third"))
	b.exit.Abort()
	if want = append(want, "third"); !slices.Equal(b.calls, want) {
		t.Errorf("once more: got %q, want %q", b.calls, want)
	}
}

// Without other work an outbox leaves at once, and what it holds is dropped after Kill.
func TestExitBury(t *testing.T) {
	b := newExitBed(t)
	b.flood()
	b.box.Kill()
	b.exit.Leave(func() { b.exit.Bury(b.call("buried")) })
	if !slices.Equal(b.calls, []string{"buried"}) {
		t.Fatalf("got %q, want that it is buried at once", b.calls)
	}
	for _, n := range b.box.Lanes {
		if n.queue.Len() > 0 || n.routes > 0 {
			t.Errorf("lane %d has %d pages and %d routes, want none", n.Number, n.queue.Len(), n.routes)
		}
	}
}

// If the queue ends between the two, what is queued is dropped all the same, and what waits for
// that is called once.
func TestExitAbort(t *testing.T) {
	b := newExitBed(t)
	b.exit.Leave(b.call("left"))
	b.flood()
	b.box.Kill()
	b.busy()
	b.box.SendBytes([]byte("x"))
	b.exit.Bury(b.call("buried"))
	b.turns.Abort()
	b.exit.Abort()
	if want := []string{"left", "buried"}; !slices.Equal(b.calls, want) {
		t.Errorf("got %q, want %q", b.calls, want)
	}
	if _, done := b.box.Bury(1); !done {
		t.Error("something is queued yet")
	}
}
