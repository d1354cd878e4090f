// SPDX-License-Identifier: Apache-2.0

//go:build linux

package reactor

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Source is what the loop calls when a descriptor is ready.
type Source interface {
	// OnEvent is called on the loop with the conditions that hold. Unless the
	// registration is EdgeTriggered, it is called again in the next turn if
	// they still hold then.
	OnEvent(Events)
}

// Named may be implemented by a Source to be recognised in reports of stalls,
// panics and leaks. Name is called once, by Register. Without it a source is
// called after its type and descriptor.
type Named interface {
	Name() string
}

// PrepareWaiter is called at the end of each turn, before the loop waits: the
// place to flush what the callbacks of the turn have batched, and to ask a
// queue whether it may be waited for (libfabric's fi_trywait).
//
// A Source that implements it is called while it is registered; others use
// AddPrepare. Every one is called in every turn, so let one stand for many.
type PrepareWaiter interface {
	// PrepareWait reports whether the loop may block. False makes the loop look
	// for events without blocking and call PrepareWait again: with a source that
	// always returns false the loop polls at full speed.
	PrepareWait() (sleep bool)
}

// Watcher may be implemented by a PrepareWaiter that gets news by memory which others write, and
// by a descriptor only after it has asked for that. So news of a loop that is awake needs no
// call of the system.
type Watcher interface {
	// Watch reports whether there is news, which the turn that follows deals with. The loop calls it over
	// and over while it spins (Config.BusyPoll). It takes well below a microsecond, and does not panic.
	Watch() bool

	// Arm is called before the loop blocks. It asks for a descriptor to be ready with the next news, and
	// reports whether the loop may block: there was no news before that.
	Arm() (sleep bool)
}

// Registration connects a descriptor with its source, until it is closed.
type Registration struct {
	loop       *EventLoop
	fd         int // -1: only prepare
	index      uint32
	generation uint32
	source     Source
	prepare    PrepareWaiter // nil if the source has none
	watcher    Watcher       // nil if prepare is none
	owned      closer        // timer or signal, which a panic does not drop
	name       string        // empty: made when it is needed
	closed     atomic.Bool
}

// closer is a timer or signal, whose descriptor belongs to the reactor.
type closer interface{ Close() error }

// Register makes the loop call s.OnEvent when one of events, or Failed, or
// Hangup, holds for fd.
//
//   - fd: a pollable descriptor in non-blocking mode. It stays the caller's. Close
//     the Registration first, then fd, both on the loop.
//   - Errors: *OpError that wraps ErrRegistered (there is a registration for fd),
//     ErrNoCallback, ErrTooMany, ErrClosed, or an errno: EBADF for no
//     descriptor, EPERM for one that is always ready, such as a regular file;
//     *ConfigError for undefined bits in events.
//   - Threads: any; also before Run. Blocks: never.
//
// If fd has been closed without closing its registration, and has been opened
// again, then the old registration ends here and is counted in Stats.Abandoned.
func (l *EventLoop) Register(fd int, events Events, s Source) (*Registration, error) {
	if s == nil {
		return nil, &OpError{"register", fd, ErrNoCallback}
	}
	if err := events.validate(); err != nil {
		return nil, err
	}
	r := &Registration{loop: l, fd: fd, source: s}
	r.prepare, _ = s.(PrepareWaiter)
	r.watcher, _ = s.(Watcher)
	if n, ok := s.(Named); ok {
		r.name = n.Name()
	}
	if err := r.add(events); err != nil {
		return nil, &OpError{"register", fd, err}
	}
	return r, nil
}

// AddPrepare makes the loop call p at the end of each turn, until the Registration
// is closed. Its Modify fails, as there is no descriptor.
//
// Errors: ErrNoCallback, ErrTooMany, ErrClosed, in an *OpError. Threads: any;
// also before Run. Blocks: never.
func (l *EventLoop) AddPrepare(p PrepareWaiter) (*Registration, error) {
	if p == nil {
		return nil, &OpError{"add prepare", -1, ErrNoCallback}
	}
	r := &Registration{loop: l, fd: -1, prepare: p}
	r.watcher, _ = p.(Watcher)
	if n, ok := p.(Named); ok {
		r.name = n.Name()
	}
	if err := r.add(0); err != nil {
		return nil, &OpError{"add prepare", -1, err}
	}
	return r, nil
}

// add enters r in the table, in epoll and in the list of prepares, or nowhere.
func (r *Registration) add(events Events) error {
	t := &r.loop.table
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return ErrClosed
	}
	// The table comes first: the event may arrive before the call returns.
	if err := t.insert(r); err != nil {
		return err
	}
	if r.source != nil {
		if err := r.loop.poller.control(unix.EPOLL_CTL_ADD, r.fd, events, r.token()); err != nil {
			t.remove(r)
			if errors.Is(err, unix.EEXIST) {
				return ErrRegistered
			}
			return err
		}
		if old := t.byFD[r.fd]; old != nil && t.remove(old) {
			r.loop.removePrepare(old)
			r.loop.counters.abandoned.Add(1)
		}
		t.byFD[r.fd] = r
	}
	if r.prepare != nil {
		r.loop.addPrepare(r)
		r.loop.Post(func() {}) // a sleeping loop must ask it before it sleeps on
	}
	return nil
}

func (r *Registration) token() token { return token{r.index, r.generation} }

// Modify changes the conditions to watch for. With EdgeTriggered, conditions
// that hold at this time are reported again.
//
// Errors: *OpError that wraps ErrClosed or an errno; *ConfigError for undefined
// bits in events. Threads: any. Blocks: never.
func (r *Registration) Modify(events Events) error {
	if err := events.validate(); err != nil {
		return err
	}
	t := &r.loop.table
	t.mu.Lock()
	defer t.mu.Unlock()
	if r.closed.Load() {
		return &OpError{"modify", r.fd, ErrClosed}
	}
	if err := r.loop.poller.control(unix.EPOLL_CTL_MOD, r.fd, events, r.token()); err != nil {
		return &OpError{"modify", r.fd, err}
	}
	return nil
}

// Close ends the registration. The descriptor stays open; close it afterwards.
// After Close returns on the loop, the source is not called any more, not even
// for an event that has been fetched already. Elsewhere a call that has begun
// may still be running.
//
// Errors: *OpError with EBADF or ENOENT if the descriptor was closed before its
// registration; it ended all the same. A second Close does nothing and returns
// nil. Threads: any, but see above. Blocks: never.
func (r *Registration) Close() error {
	t := &r.loop.table
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.remove(r) {
		return nil
	}
	if r.prepare != nil {
		r.loop.removePrepare(r)
	}
	if r.source == nil {
		return nil
	}
	if err := r.loop.poller.control(unix.EPOLL_CTL_DEL, r.fd, 0, token{}); err != nil {
		return &OpError{"deregister", r.fd, err}
	}
	return nil
}

// String names the source, as in reports.
func (r *Registration) String() string {
	switch {
	case r.name != "":
		return r.name
	case r.source != nil:
		return fmt.Sprintf("%T on fd %d", r.source, r.fd)
	default:
		return fmt.Sprintf("%T", r.prepare)
	}
}

// addPrepare and removePrepare replace the list, which the loop reads without a
// lock. table.mu is held.
func (l *EventLoop) addPrepare(r *Registration) {
	l.prepares.Store(new(append(slices.Clone(*l.prepares.Load()), r)))
}

func (l *EventLoop) removePrepare(r *Registration) {
	others := slices.DeleteFunc(slices.Clone(*l.prepares.Load()), func(other *Registration) bool { return other == r })
	l.prepares.Store(&others)
}
