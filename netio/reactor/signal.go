// SPDX-License-Identifier: Apache-2.0

//go:build linux

package reactor

import (
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// SignalMode says how many callbacks several fires make.
type SignalMode int

const (
	// Coalescing means that one callback answers all fires before it. A fire during the
	// callback makes another one.
	Coalescing SignalMode = iota

	// Semaphore means that each fire makes a callback, one per turn of the loop
	// (EFD_SEMAPHORE).
	Semaphore
)

// String returns the name of the mode.
func (m SignalMode) String() string {
	switch m {
	case Coalescing:
		return "coalescing"
	case Semaphore:
		return "semaphore"
	default:
		return "unknown"
	}
}

// Signal makes the loop call a function when it is fired. The data pointer
// of a netio_signal is what the function closes over: what was written before
// Fire is seen by the callback.
//
// The fires are counted in memory; the eventfd is written only when the count
// leaves zero, and never read. A signal that is fired from its own callback, to
// poll, or faster than the loop turns, makes no system calls.
type Signal struct {
	loop         *EventLoop
	mode         SignalMode
	f            func()
	registration *Registration
	fires        atomic.Int64 // without answer
	queued       bool         // is in loop.again; only on the loop

	mu sync.Mutex // held to write the eventfd and to close it
	fd int        // -1: closed
}

// NewSignal returns a signal that calls f on the loop.
//
// Errors: ErrNoCallback; ErrClosed; *ConfigError for an unknown mode; *OpError
// for a failed system call, EMFILE for instance. Threads: any; also before Run.
// Blocks: never.
//
// Source: netio_signal_init.
func (l *EventLoop) NewSignal(mode SignalMode, f func()) (*Signal, error) {
	if f == nil {
		return nil, &OpError{"create signal", -1, ErrNoCallback}
	}
	if mode != Coalescing && mode != Semaphore {
		return nil, &ConfigError{"signal mode", int(mode), "must be Coalescing or Semaphore"}
	}
	fd, err := newEventfd()
	if err != nil {
		return nil, err
	}
	s := &Signal{loop: l, mode: mode, f: f, fd: fd}
	s.registration = &Registration{
		loop: l, fd: fd, source: (*signalSource)(s), owned: s, name: "signal " + nameOfFunc(f),
	}
	if err := s.registration.add(Readable | EdgeTriggered); err != nil {
		_ = unix.Close(fd)
		return nil, &OpError{"create signal", -1, err}
	}
	return s, nil
}

// Fire makes a callback, as the mode says. After Close it does nothing.
//
// Threads: any, also the signal's own callback. Blocks: never. Allocates: no.
//
// Source: netio_signal_fire.
func (s *Signal) Fire() {
	if s.fires.Add(1) != 1 {
		return // the loop knows already
	}
	s.mu.Lock()
	if s.fd >= 0 {
		notify(s.fd)
	}
	s.mu.Unlock()
}

// Close ends the signal. Fires without answer are forgotten. After Close
// returns on the loop the callback does not run any more; elsewhere one that
// has begun may still be running.
//
// Errors: none; a second Close does nothing. Threads: any. Blocks: never.
func (s *Signal) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fd < 0 {
		return nil
	}
	err := s.registration.Close()
	if closeErr := unix.Close(s.fd); err == nil && closeErr != nil {
		err = &OpError{"close signal", s.fd, closeErr}
	}
	s.fd = -1
	return err
}

// signalSource keeps OnEvent out of the methods of Signal.
type signalSource Signal

// OnEvent implements Source.
func (s *signalSource) OnEvent(Events) {
	// An event of a signal in loop.again is late: the loop came to know of the
	// fire before Fire could write. Its turn comes in a moment.
	if !s.queued {
		(*Signal)(s).answer()
	}
}

// answer calls the function and settles the account of fires, also if the
// function panics. While fires are without answer Fire does not write the
// eventfd, so the loop remembers the signal itself.
func (s *Signal) answer() {
	fires := s.fires.Load()
	if fires == 0 {
		return
	}
	if s.mode == Semaphore {
		fires = 1
	}
	defer s.settle(fires)
	s.f()
}

func (s *Signal) settle(answered int64) {
	if s.fires.Add(-answered) > 0 {
		s.queued = true
		s.loop.again = append(s.loop.again, s)
	}
}

// serveSignals calls the signals that had fires left after their last callback.
// After a panic it goes on where it was.
func (l *EventLoop) serveSignals() {
	for l.nextAgain < len(l.answering) && !l.stopping() {
		s := l.answering[l.nextAgain]
		l.answering[l.nextAgain] = nil
		l.nextAgain++
		s.queued = false
		if s.registration.closed.Load() {
			continue
		}
		l.events++
		l.begin(s.registration.index, s.registration)
		s.answer()
	}
}

// runSignals is the step of the turn. What the callbacks add to the list is for
// the next turn.
func (l *EventLoop) runSignals() {
	if len(l.answering) == 0 {
		return
	}
	l.nextAgain = 0
	l.guard((*EventLoop).serveSignals)
	l.answering = l.answering[:0]
}
