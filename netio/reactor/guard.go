// SPDX-License-Identifier: Apache-2.0

//go:build linux

package reactor

import (
	"fmt"
	"reflect"
	"runtime"
	"runtime/debug"

	"tagbus/internal/sanitize"
)

// Panic is a panic of a callback that the loop has recovered, or a runtime.Goexit,
// which ends the loop.
type Panic struct {
	Source  string // name of the source, timer, signal or function
	Value   any    // what panic was called with; a *GoexitError
	Stack   []byte // of the loop, from the panic down, as printed by a crash
	Dropped bool   // the source was deregistered
}

// Error names the source and the value of the panic. The stack is left out.
func (p *Panic) Error() string {
	if exit, ok := p.Value.(*GoexitError); ok {
		return exit.Error()
	}
	return sanitize.Linef("reactor: panic in %s: %v", p.Source, p.Value)
}

// Unwrap returns the value of the panic if it is an error.
func (p *Panic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// guard runs a step of the turn until it is through. The step keeps its place
// in the loop, so that after a panic of one callback it goes on with the next.
// One deferred call serves a whole step.
func (l *EventLoop) guard(step func(*EventLoop)) {
	for !l.try(step) {
	}
}

func (l *EventLoop) try(step func(*EventLoop)) (through bool) {
	defer func() {
		if through {
			return
		}
		if value := recover(); value != nil {
			l.caught(value)
			return
		}
		l.exited() // the only other way out
	}()
	step(l)
	return true
}

// caught reports a panic of the current callback, and drops its source.
func (l *EventLoop) caught(value any) {
	r := l.current
	p := &Panic{Source: l.nameOfCurrent(), Value: value, Stack: debug.Stack()}
	p.Dropped = r != nil && r.owned == nil && r.source != nil
	if p.Dropped {
		_ = r.Close() // that the descriptor is closed already is no news here
	}
	l.lastPanic = p
	l.counters.panics.Add(1)
	l.report(p)
}

// nameOfCurrent names the callback that runs. Threads: the loop.
func (l *EventLoop) nameOfCurrent() string {
	if l.current != nil {
		return l.current.String()
	}
	return l.nameOf(indexOf(l.running.Load()))
}

// nameOf names the callback behind an index. Threads: any.
func (l *EventLoop) nameOf(index uint32) string {
	switch index {
	case initIndex:
		return "init callback"
	case postIndex:
		return "posted function " + nameOfCode(l.posts.pc.Load())
	}
	if r := l.table.at(index); r != nil {
		return r.String()
	}
	return "a source that has closed itself"
}

// nameOfFunc describes a function by its name and place in the source.
func nameOfFunc(f func()) string { return nameOfCode(reflect.ValueOf(f).Pointer()) }

func nameOfCode(pc uintptr) string {
	f := runtime.FuncForPC(pc)
	if f == nil {
		return "unknown"
	}
	file, line := f.FileLine(pc)
	return fmt.Sprintf("%s (%s:%d)", f.Name(), file, line)
}
