// SPDX-License-Identifier: Apache-2.0

// Package stuck knows the files that a program waits for because their file system does
// not answer. Nothing can end a call into one whose server is gone, except the end of the
// process. So the program says what it waits for, and a signal ends it all the same.
//
// What waits for a file says so by On or Aside; Open, Stat and the other functions with the names
// of package os do it by themselves. Only a program that has called Say or Follow does more about
// it than that.
package stuck

import (
	"context"
	"sync"
	"time"
)

// Patience is how long a call may take before it is said that the file system does not
// answer.
const Patience = 2500 * time.Millisecond

const (
	// again is for how long after it has answered a file system is taken for a slow one, not
	// for one that comes and goes: it may take lasting then, before it is said.
	again   = time.Minute
	lasting = 10 * Patience
)

// wait is a call that has not returned.
type wait struct {
	path  string
	since time.Time
	aside bool // the program can end without it
	pipe  bool // it is no file of a file system
	quiet bool // nothing is said of it before a signal: a person reads, or stops to
	late  bool // it takes longer than Patience
	said  bool
	timer *time.Timer
}

// waits are those of the process.
type waits struct {
	mu     sync.Mutex
	all    map[*wait]struct{}
	back   map[string]time.Time // when a file system has answered after all, by path
	flags  map[string]string    // which have named a file, by path
	say    func(Note)           // nil: nothing is said
	ending bool                 // a signal has come
	exit   func(Note)           // ends the process
}

var process = newWaits()

func newWaits() *waits {
	return &waits{all: make(map[*wait]struct{}), back: make(map[string]time.Time), flags: make(map[string]string)}
}

// On notes that the program cannot go on before a call for a file has returned. over is to be
// called then.
//
// Threads: any.
func On(path string) (over func()) { return process.begin(wait{path: path}) }

// Aside is On for a call that the program can go on, and end, without.
func Aside(path string) (over func()) { return process.begin(wait{path: path, aside: true}) }

// Say sets what is called, on a goroutine of its own, when a call for a file has not returned
// for Patience, and when it has returned after all. Of several calls for one file only one is
// said. nil: nothing is.
func Say(say func(Note)) {
	process.mu.Lock()
	defer process.mu.Unlock()
	process.say = say
}

// Late returns the call that is waited for longest, of those that have not returned for
// Patience; ok: there is one.
//
// Threads: any. Blocks: never.
func Late() (n Note, ok bool) { return process.oldest("") }

// Waiting returns the call that is waited for longest, however short that has been; ok: there is one.
//
// Threads: any. Blocks: never.
func Waiting() (n Note, ok bool) {
	process.mu.Lock()
	defer process.mu.Unlock()
	for w := range process.all {
		if !w.quiet && (!ok || w.since.Before(n.Since)) {
			n, ok = process.note(w), true
		}
	}
	return n, ok
}

// IsLate reports whether a call for a file has not returned for Patience.
func IsLate(path string) bool {
	_, late := process.oldest(path)
	return late
}

// Follow ends the process once ctx has ended, when a call of On has not returned for Patience;
// and once hurry has ended, when a call of On has not returned.
//
//   - exit: is called with what is waited for, and must not return.
//   - Result: stop ends that. It must be called.
func Follow(ctx, hurry context.Context, exit func(Note)) (stop func()) {
	return process.follow(ctx, hurry, exit)
}

func (p *waits) begin(call wait) (over func()) {
	w := &call
	p.enter(w)
	return func() { p.over(w) }
}

// enter notes that a call has begun. w is new, or was left by over.
func (p *waits) enter(w *wait) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w.since = time.Now()
	p.all[w] = struct{}{}
	if w.timer == nil {
		w.timer = time.AfterFunc(Patience, func() { p.late(w) })
	} else {
		w.timer.Reset(Patience)
	}
}

// over notes that a call has returned. idle: w may have another call, as its timer has not
// fired.
func (p *waits) over(w *wait) (idle bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, still := p.all[w]; !still {
		return false
	}
	idle = w.timer.Stop() && !w.late
	delete(p.all, w)
	if !w.said {
		return idle
	}
	for other := range p.all { // it does not answer yet
		if other.late && other.path == w.path {
			other.said, other.since = true, w.since
			return false
		}
	}
	now := time.Now()
	for path, at := range p.back { // so that it stays small
		if now.Sub(at) >= again {
			delete(p.back, path)
		}
	}
	p.back[w.path] = now
	if say := p.say; say != nil && !w.pipe { // no file system was in the way
		n := p.note(w)
		n.Took = now.Sub(w.since)
		go say(n)
	}
	return false
}

// late says that a call takes long.
func (p *waits) late(w *wait) {
	p.mu.Lock()
	if _, still := p.all[w]; !still {
		p.mu.Unlock()
		return
	}
	w.late = true
	leave, exit := p.ending && !w.aside && p.exit != nil, p.exit
	say := p.say
	switch {
	case leave || say == nil || w.quiet || p.isSaid(w.path):
		say = nil
	case p.slow(w):
		say = nil
		w.timer.Reset(lasting - time.Since(w.since))
	default:
		w.said = true
	}
	n := p.note(w)
	p.mu.Unlock()
	switch {
	case leave:
		exit(n)
	case say != nil:
		say(n)
	}
}

// isSaid reports whether it is said of a call that a file is waited for. Locked.
func (p *waits) isSaid(path string) bool {
	for w := range p.all {
		if w.said && w.path == path {
			return true
		}
	}
	return false
}

// slow reports whether a call is to be said later: its file system has only just answered.
// Locked.
func (p *waits) slow(w *wait) bool {
	at, ok := p.back[w.path]
	return ok && w.since.Sub(at) < again && time.Since(w.since) < lasting
}

// oldest returns the call that is waited for longest, of those that are late.
//
//   - path: of the file; "": of any.
func (p *waits) oldest(path string) (n Note, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for w := range p.all {
		if w.late && !w.quiet && (path == "" || w.path == path) && (!ok || w.since.Before(n.Since)) {
			n, ok = p.note(w), true
		}
	}
	return n, ok
}

func (p *waits) follow(ctx, hurry context.Context, exit func(Note)) (stop func()) {
	p.mu.Lock()
	p.exit = exit
	p.mu.Unlock()
	stopEnd := context.AfterFunc(ctx, func() { p.leave(false) })
	stopHurry := context.AfterFunc(hurry, func() { p.leave(true) })
	return func() {
		stopEnd()
		stopHurry()
		p.mu.Lock()
		defer p.mu.Unlock()
		p.exit, p.ending = nil, false
	}
}

// leave ends the process if it waits for a file, or for the other end of a pipe.
//
//   - hurry: however short that has taken.
func (p *waits) leave(hurry bool) {
	p.mu.Lock()
	p.ending = true
	exit, found := p.exit, (*Note)(nil)
	for w := range p.all {
		if !w.aside && (w.late || w.pipe || hurry && !w.quiet) {
			n := p.note(w)
			found = &n
		}
	}
	p.mu.Unlock()
	if found != nil && exit != nil {
		exit(*found)
	}
}

// Main runs the main function of a program on a goroutine of its own, and returns its exit
// code. The main goroutine, which must be locked to its thread from the init of the program
// on, then waits: the kernel hands a signal of the process to its first thread. One that is
// in a call into a file system that does not answer never takes it, and no other thread does.
func Main(main func() int) int {
	code := make(chan int, 1)
	go func() { code <- main() }()
	return <-code
}
