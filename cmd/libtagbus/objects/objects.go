// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"tagbus/access"
	"tagbus/bus"
	"tagbus/bus/directory"
	"tagbus/cmd/internal/options"
	"tagbus/node"
)

// Callbacks are functions of a program, 0: none, and the argument that each of them gets.
type Callbacks struct{ Event, Batch, End, User uintptr }

// Place says whose a callback is.
type Place struct{ Owner, Bus Handle }

// Program calls the functions of a program on the loop, and wakes threads of it.
type Program interface {
	Event(fn, user uintptr, at Place, e bus.Event)
	Batch(fn, user uintptr, at Place, b bus.Batch)
	End(fn, user uintptr, at Place, code Code, text string)
	Done(fn, user uintptr, at Place)

	// NewBell returns a bell that a thread can wait for; Ring wakes those that wait. FreeBell
	// takes it back: a thread may still look at it, and finds that it has rung.
	NewBell() uintptr
	Ring(bell uintptr)
	FreeBell(bell uintptr)
}

// Library is what a process has opened.
//
// Threads: any.
type Library struct {
	Table   Table
	Program Program

	mu      sync.Mutex
	working map[Handle]*Owner // until their threads have ended
}

// Bus is a node.
type Bus struct {
	lib    *Library
	handle Handle
	node   *node.Node
	access *access.Access

	mu     sync.Mutex
	owners []*Owner // in the order in which they were opened
	closed bool
	asking map[Handle]*bus.Requester
}

// Forever is the time of what waits without limit.
const Forever = -1

// waiting returns the context of a call that may take a number of milliseconds.
func waiting(milliseconds int64) (context.Context, context.CancelFunc) {
	if milliseconds < 0 {
		return context.Background(), func() {}
	}
	const most = int64(365 * 24 * time.Hour / time.Millisecond)
	d := max(time.Millisecond, time.Duration(min(milliseconds, most))*time.Millisecond) // what is there already is found
	return context.WithTimeout(context.Background(), d)
}

// timeless returns the error of a call in the words of its argument.
func timeless(function string, milliseconds int64, err error) error {
	if err != nil && errors.Is(err, context.DeadlineExceeded) && CodeOf(err) == Timeout {
		text := strings.ReplaceAll(TextOf(err), context.DeadlineExceeded.Error(), "timeout_ms")
		return &Error{Timeout, function + ": timeout_ms " + time.Duration(milliseconds*int64(time.Millisecond)).String() + " is over: " + text}
	}
	return err
}

// OpenBus opens a bus.
func (l *Library) OpenBus(at, given string) (Handle, error) {
	const function = "tagbus_open"
	if err := CheckText(function+": bus", at); err != nil {
		return 0, err
	}
	var o busOptions
	if err := read(function, given, &o); err != nil {
		return 0, err
	}
	if err := errors.Join(o.check(), options.CheckBus(at)); err != nil || at == "" {
		if at == "" {
			return 0, invalid("%s: bus is empty, want a folder or a URL", function)
		}
		return 0, invalid("%s: %s", function, TextOf(err))
	}
	log := o.logger()
	a, err := o.open(log)
	if err != nil {
		return 0, err
	}
	b := &Bus{lib: l, access: a}
	if b.node, err = node.Open(o.config(at, a, log)); err == nil {
		if b.handle = l.Table.Put(KindBus, b); b.handle != 0 {
			return b.handle, nil
		}
		err = errors.Join(tooMany, b.node.Close())
	}
	if a != nil {
		a.Close()
	}
	return 0, err
}

var tooMany = &Error{Limit, "too many handles are open: close some"}

// NeedsEtcd reports whether a bus is one that the core with etcd opens.
func NeedsEtcd(at string) bool { return directory.Scheme(at) == "etcd" }

// Alive looks whether the loop turns.
func (l *Library) Alive(h Handle, milliseconds int64) error {
	b, err := Get[*Bus](&l.Table, h, KindBus, "bus")
	if err != nil {
		return err
	}
	ctx, cancel := waiting(milliseconds)
	defer cancel()
	return b.node.Alive(ctx)
}

// CloseBus closes a bus and all that was opened on it.
func (l *Library) CloseBus(h Handle) error {
	b, err := Get[*Bus](&l.Table, h, KindBus, "bus")
	if err != nil {
		return l.ended(h, err)
	}
	if b.node.Loop().OnAnyLoop() {
		return bus.ErrOnLoop
	}
	if !l.Table.Remove(h) {
		return l.ended(h, &Error{Closed, "bus is closed"})
	}
	b.mu.Lock()
	b.closed = true
	owners, asking := slices.Clone(b.owners), b.asking
	b.asking = nil
	b.mu.Unlock()
	var errs []error
	for h, r := range asking {
		if l.Table.Remove(h) {
			_ = r.Close()
		}
	}
	for _, o := range slices.Backward(owners) {
		if l.Table.Remove(o.handle) {
			errs = append(errs, o.close())
		} else {
			<-o.ended // another thread closes it
		}
	}
	errs = append(errs, b.node.Close())
	if b.access != nil {
		b.access.Close()
	}
	return errors.Join(errs...)
}
