// SPDX-License-Identifier: Apache-2.0

// Package stuck answers: which files does a program wait for because their file system does
// not answer? Nothing can end a call into one whose server is gone, except the end of the
// process. So the program says what it waits for, and a signal ends it all the same.
//
// What waits for a file says so by On or Aside. Only a program that has called Say or Follow
// does more about it than that.
package stuck

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"tagbus/internal/sanitize"
)

// Patience is how long a call may take before it is said that the file system does not
// answer.
const Patience = 2500 * time.Millisecond

// Text says that a file is waited for.
func Text(path string) string {
	return fmt.Sprintf("waiting for %s: its file system does not answer", sanitize.Text(path))
}

// wait is a call that has not returned.
type wait struct {
	path  string
	aside bool // the program can end without it
	late  bool // it takes longer than Patience
	timer *time.Timer
}

// waits are those of the process.
type waits struct {
	mu     sync.Mutex
	all    map[*wait]struct{}
	say    func(path string) // nil: nothing is said
	ending bool              // a signal has come
	exit   func(path string) // ends the process
}

var process = newWaits()

func newWaits() *waits { return &waits{all: make(map[*wait]struct{})} }

// On notes that the program cannot go on before a call for a file has returned. over is to be
// called then.
//
// Threads: any.
func On(path string) (over func()) { return process.begin(path, false) }

// Aside is On for a call that the program can go on, and end, without.
func Aside(path string) (over func()) { return process.begin(path, true) }

// Say sets what is called, on a goroutine of its own, when a call for a file has not returned
// for Patience. nil: nothing is.
func Say(say func(path string)) {
	process.mu.Lock()
	defer process.mu.Unlock()
	process.say = say
}

// Follow ends the process once ctx has ended, when a call of On has not returned for Patience;
// and once hurry has ended, when a call of On has not returned.
//
//   - exit: is called with what is waited for, and must not return.
//   - Result: stop ends that. It must be called.
func Follow(ctx, hurry context.Context, exit func(path string)) (stop func()) {
	return process.follow(ctx, hurry, exit)
}

func (p *waits) begin(path string, aside bool) (over func()) {
	w := &wait{path: path, aside: aside}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all[w] = struct{}{}
	w.timer = time.AfterFunc(Patience, func() { p.late(w) })
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		w.timer.Stop()
		delete(p.all, w)
	}
}

// late says that a call takes long.
func (p *waits) late(w *wait) {
	p.mu.Lock()
	if _, still := p.all[w]; !still {
		p.mu.Unlock()
		return
	}
	w.late = true
	say, exit := p.say, p.exit
	leave := p.ending && !w.aside
	p.mu.Unlock()
	switch {
	case leave && exit != nil:
		exit(w.path)
	case say != nil:
		say(w.path)
	}
}

func (p *waits) follow(ctx, hurry context.Context, exit func(path string)) (stop func()) {
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

// leave ends the process if it waits for a file.
//
//   - hurry: however short that has taken.
func (p *waits) leave(hurry bool) {
	p.mu.Lock()
	p.ending = true
	exit, path := p.exit, ""
	for w := range p.all {
		if !w.aside && (w.late || hurry) {
			path = w.path
		}
	}
	p.mu.Unlock()
	if path != "" && exit != nil {
		exit(path)
	}
}

// Open is os.Open with On, except for a FIFO: to wait for its other end is no fault of a file
// system.
func Open(path string) (*os.File, error) { return OpenFile(path, os.O_RDONLY, 0) }

// OpenFile is os.OpenFile with On, as Open.
func OpenFile(path string, flag int, perm fs.FileMode) (*os.File, error) {
	over := On(path)
	info, err := os.Stat(path)
	over()
	if err != nil || info.Mode()&(fs.ModeNamedPipe|fs.ModeDevice|fs.ModeSocket) == 0 {
		defer On(path)()
	}
	return os.OpenFile(path, flag, perm)
}

// Using is On for the use of an open file, unless it is a FIFO or a device.
func Using(f *os.File) (over func()) {
	over = On(f.Name())
	if info, err := f.Stat(); err == nil && !info.Mode().IsRegular() {
		over()
		return func() {}
	}
	return over
}

// Await calls wait, which returns when a call for a file has returned, and returns itself after
// Patience at the latest. What waits goes on then.
func Await(wait func()) {
	done := make(chan struct{})
	go func() {
		wait()
		close(done)
	}()
	timer := time.NewTimer(Patience)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}
