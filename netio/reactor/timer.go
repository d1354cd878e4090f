// SPDX-License-Identifier: Apache-2.0

//go:build linux

package reactor

import (
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Timer makes the loop call a function periodically or once. It measures
// CLOCK_MONOTONIC by a timerfd, with a resolution of a nanosecond and some 30
// microseconds of delay if the loop sleeps; changes of the wall clock do not
// matter. The data pointer of a netio_timer is what the function closes over.
//
// A loop that comes late, because a callback took long or the period is shorter
// than a turn, calls the function once for all expirations since: they are not
// caught up one by one. Missed counts them.
type Timer struct {
	loop         *EventLoop
	f            func()
	registration *Registration
	missed       atomic.Uint64

	mu   sync.Mutex // held to use the timerfd
	fd   int        // -1: closed
	read uint64     // where the expirations are read to
}

// NewTimer returns a stopped timer that calls f on the loop.
//
// Errors: ErrNoCallback, ErrClosed, and failed system calls, EMFILE for
// instance, in an *OpError. Threads: any; also before Run. Blocks: never.
//
// Source: netio_timer_init.
func (l *EventLoop) NewTimer(f func()) (*Timer, error) {
	if f == nil {
		return nil, &OpError{"create timer", -1, ErrNoCallback}
	}
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err != nil {
		return nil, &OpError{"create timer", -1, err}
	}
	t := &Timer{loop: l, f: f, fd: fd}
	t.registration = &Registration{
		loop: l, fd: fd, source: (*timerSource)(t), owned: t, name: "timer " + nameOfFunc(f),
	}
	if err := t.registration.add(Readable); err != nil {
		_ = unix.Close(fd)
		return nil, &OpError{"create timer", -1, err}
	}
	return t, nil
}

// Start calls the function every period, first one period from now. It replaces
// what was started before; an expiration that has not been served is forgotten.
//
// Errors: *ConfigError if period is not positive, and then nothing changes;
// *OpError that wraps ErrClosed. Threads: any. Blocks: never. Allocates: no.
//
// Source: netio_timer_start_s, _ms, _us, _ns.
func (t *Timer) Start(period time.Duration) error {
	return t.start(period, period)
}

// StartOnce calls the function once, after d. Otherwise it is like Start.
func (t *Timer) StartOnce(d time.Duration) error {
	return t.start(d, 0)
}

func (t *Timer) start(first, period time.Duration) error {
	if first <= 0 {
		return &ConfigError{"timer period", first, "must be at least 1ns; to end a timer call Stop"}
	}
	return t.set("start timer", first, period)
}

// Stop ends the calls until the next Start. After it returns on the loop the
// function is not called, even if the timer has expired in the meantime;
// elsewhere a call that has begun may still be running. Stopping a stopped or
// closed timer does nothing.
//
// Threads: any. Blocks: never. Allocates: no.
//
// Source: netio_timer_stop.
func (t *Timer) Stop() {
	_ = t.set("stop timer", 0, 0) // fails only if it is closed, which has stopped it
}

// set gives the kernel new times. It also discards expirations that were not
// read, so that an event that has been fetched finds nothing.
func (t *Timer) set(op string, first, period time.Duration) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.fd < 0 {
		return &OpError{op, -1, ErrClosed}
	}
	spec := unix.ItimerSpec{
		Value:    unix.NsecToTimespec(first.Nanoseconds()),
		Interval: unix.NsecToTimespec(period.Nanoseconds()),
	}
	if err := unix.TimerfdSettime(t.fd, 0, &spec, nil); err != nil {
		return &OpError{op, t.fd, err}
	}
	return nil
}

// Missed counts the expirations that had no callback of their own, because the
// loop was late. Threads: any.
func (t *Timer) Missed() uint64 { return t.missed.Load() }

// Close stops the timer and releases its descriptor. After it returns on the
// loop the function is not called; elsewhere a call that has begun may still be
// running.
//
// Errors: none; a second Close does nothing. Threads: any. Blocks: never.
func (t *Timer) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.fd < 0 {
		return nil
	}
	err := t.registration.Close()
	if closeErr := unix.Close(t.fd); err == nil && closeErr != nil {
		err = &OpError{"close timer", t.fd, closeErr}
	}
	t.fd = -1
	return err
}

// timerSource keeps OnEvent out of the methods of Timer.
type timerSource Timer

// OnEvent implements Source.
func (s *timerSource) OnEvent(Events) {
	t := (*Timer)(s)
	if n := t.take(); n > 0 {
		t.missed.Add(n - 1)
		t.f()
	}
}

// take fetches the expirations since the last time: 0 if the timer was stopped
// or started again after the event was fetched. A periodic timerfd runs on only
// when it is read.
func (t *Timer) take() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.fd < 0 || !readCounter(t.fd, &t.read) {
		return 0
	}
	return t.read
}
