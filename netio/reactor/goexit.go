// SPDX-License-Identifier: Apache-2.0

//go:build linux

package reactor

import (
	"runtime"
	"runtime/debug"
	"strings"

	"tagbus/internal/goroutine"
	"tagbus/internal/sanitize"
)

// GoexitError says which callback has ended the goroutine of a loop by
// runtime.Goexit.
type GoexitError struct {
	Source string // name of the source, timer, signal or function
	Caller string // function that called Goexit, or testing.T.FailNow and the like
	Stack  []byte // of the loop, from the call down
}

// Error names the callback and the function that called Goexit, and what to do instead.
func (e *GoexitError) Error() string {
	return sanitize.Linef("%v: called by %s in %s: let callbacks return; testing.T.FailNow, Fatal and Skip call Goexit: call Error there, or fail in the goroutine of the test",
		ErrGoexit, e.Caller, e.Source)
}

// Unwrap returns ErrGoexit.
func (*GoexitError) Unwrap() error { return ErrGoexit }

// exited notes that the current callback has called runtime.Goexit: its goroutine,
// which is the loop, runs the deferred functions and nothing else.
func (l *EventLoop) exited() {
	exit := l.exit(l.nameOfCurrent())
	if r := l.current; r != nil && r.owned == nil && r.source == nil {
		_ = r.Close() // a PrepareWaiter is asked again at the end, and would do it again
	}
	l.caught(exit)
}

// exit notes a call of runtime.Goexit. The first one counts.
func (l *EventLoop) exit(source string) *GoexitError {
	e := &GoexitError{Source: source, Caller: callerOfGoexit(), Stack: debug.Stack()}
	l.exits++
	if l.goexit == nil {
		l.goexit = e
	}
	l.leave.CompareAndSwap(0, byGoexit)
	return e
}

// callerOfGoexit finds in the stack of the calling goroutine, which ends, the function that
// wanted that.
func callerOfGoexit() string {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(0, pcs[:])])
	for found := false; ; {
		frame, more := frames.Next()
		switch {
		case frame.Function == "runtime.Goexit":
			found = true
		case found && !strings.HasPrefix(frame.Function, "testing."):
			return sanitize.Linef("%s (%s:%d)", frame.Function, frame.File, frame.Line)
		}
		if !more {
			return "unknown"
		}
	}
}

// report calls OnPanic, whose own panics pass, and whose runtime.Goexit is only
// logged.
func (l *EventLoop) report(p *Panic) {
	returned := false
	defer func() {
		if returned {
			return
		}
		if value := recover(); value != nil {
			panic(value)
		}
		exit := l.exit("OnPanic callback")
		l.config.Logger.Error("a callback has ended the event loop", "source", exit.Source, "err", exit, "stack", string(exit.Stack))
	}()
	l.config.OnPanic(p)
	returned = true
}

// windUp does the end of Run: it goes on where it was when a callback has ended its
// goroutine.
func (l *EventLoop) windUp() {
	l.drainPosts()
	l.runPrepares()
	l.endTurn()
	l.woundUp = true
}

// windUpExiting does the end of Run if a callback has called runtime.Goexit, while the
// goroutine of the loop waits in its last deferred functions. A callback that does so
// again ends the goroutine that has taken its place; on the one goroutine each of them
// would search a longer stack than the one before. A panic that OnPanic lets pass ends
// the program, and nothing else is called.
func (l *EventLoop) windUpExiting() {
	for exits := 0; !l.woundUp && l.exits > exits; {
		exits = l.exits
		done := make(chan struct{})
		go func() {
			defer close(done)
			defer goroutine.EnterLoop()()
			l.enter()
			defer l.self.Store(0) // another goroutine may have it next
			l.windUp()
		}()
		<-done
	}
}
