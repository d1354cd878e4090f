// SPDX-License-Identifier: Apache-2.0

//go:build linux

package file

import (
	"fmt"
	"sync"
	"time"
)

// Patience is how long a call into the file system may take before the directory says that
// the file system does not answer, and stops waiting for it.
const Patience = 2500 * time.Millisecond

// gate is what every call into the folder passes. One operation at a time is inside. A call
// into a file system whose server is gone does not return, and a thread waits in it that
// nothing can end: so there is at most one for each gate, and all others are told.
//
//	idle ─ enter ─► inside ─ leave ─► idle
//	                inside ─ no step for Patience ─► stuck ─ step or leave ─► inside or idle
//
// An operation that makes one step after the other, however slowly, is not stuck.
//
// Threads: any.
type gate struct {
	path   string          // of the folder
	faults                 // of tests
	tell   func(err error) // that it is stuck, and nil when that is over; must not block or call the gate

	turn chan struct{} // has a value while an operation is inside

	mu      sync.Mutex // held for some steps only
	inside  bool
	last    time.Time   // of the last step
	due     time.Time   // of alarm
	alarm   *time.Timer // nil: there was none yet
	isStuck bool
	stuck   chan struct{} // closed while isStuck
}

// faults are what tests do to the steps of an operation.
type faults struct {
	inject func(step string) error // fails one of writing or watching
	pause  func(step string)       // makes any take as long as it takes
}

// newGate returns an idle one.
func newGate(path string, f faults, tell func(err error)) *gate {
	return &gate{
		path: path, faults: f, tell: tell, turn: make(chan struct{}, 1), stuck: make(chan struct{}),
	}
}

// hangs says that the file system does not answer.
func hangs(path string) error {
	return &PathError{path, fmt.Errorf("%w: for %v", ErrHangs, Patience), "look after its server, or its mount; it goes on by itself"}
}

// enter waits until no other operation is inside, however long that takes: it is for the
// goroutines of the directory. leave must follow.
func (g *gate) enter() {
	g.turn <- struct{}{}
	g.begin()
}

// begin notes that an operation is inside.
func (g *gate) begin() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside, g.last = true, time.Now()
	g.arm(Patience)
}

// leave lets the next operation in.
func (g *gate) leave() {
	g.mu.Lock()
	g.inside = false
	g.alarm.Stop()
	g.answers()
	g.mu.Unlock()
	<-g.turn
}

// step is pass for a call that tests may fail.
func (g *gate) step(name string) error {
	g.pass(name)
	if g.inject == nil {
		return nil
	}
	return g.inject(name)
}

// pass notes that a call into the file system begins, and so that the last one has returned.
//
//   - name: for tests.
func (g *gate) pass(name string) {
	g.mu.Lock()
	if g.inside {
		g.last = time.Now()
		if g.answers() {
			g.arm(Patience)
		}
	}
	g.mu.Unlock()
	if g.pause != nil {
		g.pause(name)
	}
}

// answers ends that the operation is stuck, and reports whether it was. The lock is held.
func (g *gate) answers() (over bool) {
	if over = g.isStuck; over {
		g.isStuck, g.stuck = false, make(chan struct{})
		g.tell(nil)
	}
	return over
}

// arm sets the alarm. The lock is held.
func (g *gate) arm(after time.Duration) {
	g.due = time.Now().Add(after)
	if g.alarm == nil {
		g.alarm = time.AfterFunc(after, g.ring)
		return
	}
	g.alarm.Reset(after)
}

// ring looks whether the operation is stuck.
func (g *gate) ring() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.inside || g.isStuck {
		return
	}
	now := time.Now()
	if now.Sub(g.due) > Patience/2 { // the process was stopped, and the operation with it
		g.last = now
	}
	if left := Patience - now.Sub(g.last); left > 0 {
		g.arm(left)
		return
	}
	g.isStuck = true
	g.tell(hangs(g.path)) // before a caller gives up: what it returns has the problem then
	close(g.stuck)
}

// hung returns what is closed while the operation inside is stuck.
func (g *gate) hung() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.stuck
}

// do runs an operation, and waits for it unless it, or the one before it, is stuck.
//
//   - op: runs on a goroutine of its own.
//   - late: runs after op, inside too, if it was no longer waited for. nil: nothing does.
//   - Errors: *PathError with ErrHangs. If the operation before was stuck op does not run;
//     otherwise it goes on.
//   - Blocks: as long as the file system answers now and then, and Patience after that.
func (g *gate) do(op, late func()) error {
	select {
	case g.turn <- struct{}{}: // even if the last operation was stuck until now
	default:
		select {
		case g.turn <- struct{}{}:
		case <-g.hung():
			return hangs(g.path)
		}
	}
	g.begin()
	var c call
	done, hung := make(chan struct{}), g.hung()
	go func() {
		op()
		if c.end() && late != nil {
			late()
		}
		g.leave()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-hung:
	}
	if c.abandon() {
		return hangs(g.path)
	}
	<-done // it has ended at the last moment
	return nil
}

// call is an operation that may end, or be given up, first.
type call struct {
	mu           sync.Mutex
	ended, alone bool
}

// end notes that the operation has ended, and reports whether it was given up before.
func (c *call) end() (alone bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	return c.alone
}

// abandon gives the operation up, and reports whether it has not ended before.
func (c *call) abandon() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.alone = !c.ended
	return c.alone
}
