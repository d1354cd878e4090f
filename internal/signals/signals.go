// SPDX-License-Identifier: Apache-2.0

// Package signals ends a program in order when a person, a terminal or the system asks it to.
package signals

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// Error is the cause with which the contexts of Watch end.
type Error struct {
	Signal os.Signal

	// Why says in a few words what the signal means; "" for SIGINT and SIGTERM, which only
	// ask for the end.
	Why string
}

// Error names the signal.
func (e *Error) Error() string { return fmt.Sprintf("stopped by signal: %v", e.Signal) }

// Name returns the name of the signal, as kill takes it: SIGHUP.
func (e *Error) Name() string {
	for name, s := range names {
		if s == e.Signal {
			return name
		}
	}
	return e.Signal.String()
}

// Config says how a program takes signals. Its zero value ends at each of them.
type Config struct {
	// Rereads reports whether SIGHUP makes the program read its files again. Then it ends only
	// with its terminal. nil: SIGHUP does not. It may say so later, when the program knows.
	Rereads func() bool

	// Stacks takes the stacks of all goroutines at SIGQUIT. nil: they are not written.
	Stacks io.Writer

	// Status is that of a process that is not waited for any more.
	Status int
}

const (
	// echo is how soon after the first a signal is taken for the same wish: timeout of
	// coreutils sends two, one to the process and one to its group.
	echo = 500 * time.Millisecond

	// hurryTime is how long a program may take after the second signal.
	hurryTime = 2 * time.Second

	// quitTime is how long a program may take after SIGQUIT, which is for those that hang.
	quitTime = 5 * time.Second

	// afterHangup is how long after SIGHUP a process may still have the terminal that goes:
	// the kernel signals before it takes the terminal away.
	afterHangup = 500 * time.Millisecond

	// lookEvery is the time between two looks for the terminal. A SIGHUP that comes two of
	// them after it has gone is not about it.
	lookEvery = 5 * time.Second
)

// Watch returns two contexts, each with an Error as cause. ctx ends at the first signal that
// asks for the end: SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU or SIGPWR. The program is to end
// in order. hurry ends at the next one, unless it comes within half a second of the first,
// when it is ignored, or repeats what lasts, as SIGHUP does: nothing is to be waited for any
// more. Two seconds later, or with a third signal, the process ends. stop gives the signals
// back, except SIGHUP, which is ignored from then on.
//
// SIGHUP and SIGINT stay ignored if they are so when the program starts, as below nohup and in
// the background of a script.
func Watch(parent context.Context, c Config) (ctx, hurry context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	hurry, cancelHurry := context.WithCancelCause(context.WithoutCancel(parent))
	w := &watcher{
		Config: c, end: cancel, hurry: cancelHurry, terminal: terminal, exit: os.Exit,
	}
	if !signal.Ignored(syscall.SIGHUP) {
		w.had, _ = w.terminal()
		w.ever = w.had
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, wanted(signal.Ignored)...)
	done, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		w.run(signals, done)
	}()
	return ctx, hurry, func() {
		if !signal.Ignored(syscall.SIGHUP) {
			// A program whose terminal has gone may have noticed before the signal comes, which is not
			// to kill it while it ends.
			signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
		}
		signal.Stop(signals)
		close(done)
		<-over
		cancel(context.Canceled)
		cancelHurry(context.Canceled)
		w.awaitStacks()
	}
}

// wanted returns the signals that end a program, without those that are ignored.
func wanted(ignored func(os.Signal) bool) (all []os.Signal) {
	for _, s := range endings {
		if !ignored(s) { // Go knows it of SIGHUP and SIGINT
			all = append(all, s)
		}
	}
	return all
}

// watcher follows the signals of a process.
//
// Threads: one.
type watcher struct {
	Config
	end, hurry context.CancelCauseFunc
	exit       func(status int)

	terminal func() (there, gone bool) // whether the process has a terminal
	ever     bool                      // there was one when the program began
	had      bool                      // SIGHUP may be about a terminal: there is one, or was not long ago
	missed   bool                      // it was gone at the last look

	first  time.Time // when the program was asked to end
	again  <-chan time.Time
	bound  <-chan time.Time // of the end after SIGQUIT
	last   <-chan time.Time // of the end after the second signal
	stacks chan struct{}    // closed when they are written
}

// run follows signals until done is closed.
func (w *watcher) run(signals <-chan os.Signal, done <-chan struct{}) {
	var looks <-chan time.Time
	if w.had {
		tick := time.NewTicker(lookEvery)
		defer tick.Stop()
		looks = tick.C
	}
	for {
		select {
		case s := <-signals:
			w.take(s)
		case <-w.again:
			w.again = nil
			if w.hungUp() {
				w.ask(syscall.SIGHUP)
			}
		case <-looks:
			w.look()
		case <-w.bound:
			w.bound = nil
			w.haste(syscall.SIGQUIT)
		case <-w.last:
			w.leave()
		case <-done:
			return
		}
	}
}

// take takes a signal.
func (w *watcher) take(s os.Signal) {
	if s == syscall.SIGHUP && w.rereads() && !w.hungUp() {
		w.again = time.After(afterHangup)
		return
	}
	if s == syscall.SIGQUIT {
		w.writeStacks()
	}
	w.ask(s)
}

// ask ends the program, or makes it hurry.
func (w *watcher) ask(s os.Signal) {
	switch {
	case w.first.IsZero():
		w.first = time.Now()
		w.end(&Error{s, w.why(s)})
		if s == syscall.SIGQUIT {
			w.bound = time.After(quitTime)
		}
	case lasts(s), time.Since(w.first) <= echo:
	case w.last == nil:
		w.haste(s)
	default:
		w.leave()
	}
}

// haste makes the program wait for nothing.
func (w *watcher) haste(s os.Signal) {
	if w.last == nil {
		w.last = time.After(hurryTime)
		w.hurry(&Error{s, w.why(s)})
	}
}

// leave ends the process.
func (w *watcher) leave() {
	w.awaitStacks()
	w.exit(w.Status)
}

// lasts reports whether a signal says what goes on, and is repeated without a further wish: the
// kernel, the shell and systemd may each send a SIGHUP, and a limit of processor time is
// reached each second.
func lasts(s os.Signal) bool {
	return s != syscall.SIGINT && s != syscall.SIGTERM && s != syscall.SIGQUIT
}

// why returns what a signal means.
func (w *watcher) why(s os.Signal) string {
	if s == syscall.SIGHUP {
		if _, gone := w.terminal(); gone && w.ever {
			return "the terminal has gone"
		}
		return "the end was asked for"
	}
	return meanings[s]
}

func (w *watcher) rereads() bool { return w.Rereads != nil && w.Rereads() }

// hungUp reports whether the terminal has gone since the program began, and not long ago.
func (w *watcher) hungUp() bool {
	_, gone := w.terminal()
	return w.had && gone
}

// look notes a terminal that has gone without a SIGHUP, as from a program that its shell has
// disowned.
func (w *watcher) look() {
	_, gone := w.terminal()
	if gone && w.missed {
		w.had = false
	}
	w.missed = gone
}
