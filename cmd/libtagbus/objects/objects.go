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
	"tagbus/cmd/internal/cli"
	"tagbus/node"
	"tagbus/tags"
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
	Done(fn, user uintptr)

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
func (l *Library) OpenBus(at, options string) (Handle, error) {
	const function = "tagbus_open"
	if err := CheckText(function+": bus", at); err != nil {
		return 0, err
	}
	var o busOptions
	if err := read(function, options, &o); err != nil {
		return 0, err
	}
	if err := errors.Join(o.check(), cli.CheckBus(at)); err != nil || at == "" {
		if at == "" {
			return 0, invalid("%s: bus is empty, want a folder or a URL", function)
		}
		return 0, invalid("%s: %s", function, TextOf(err))
	}
	a, err := o.open()
	if err != nil {
		return 0, err
	}
	b := &Bus{lib: l, access: a}
	if b.node, err = node.Open(o.config(at, a)); err == nil {
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
		return err
	}
	if b.node.Loop().OnAnyLoop() {
		return bus.ErrOnLoop
	}
	if !l.Table.Remove(h) {
		return &Error{Closed, "bus is closed"}
	}
	b.mu.Lock()
	b.closed = true
	owners := slices.Clone(b.owners)
	b.mu.Unlock()
	var errs []error
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

// Owner is what is opened on a bus, and has callbacks.
type Owner struct {
	lib    *Library
	bus    *Bus
	handle Handle
	kind   Kind
	onLoop bool
	call   Callbacks
	bell   uintptr // of its thread
	room   uintptr // of those that wait for room
	post   post
	ended  chan struct{} // closed when no callback is made any more, except those that post has

	pub        *bus.Publisher
	sender     *bus.Sender
	wanted     tags.Set // of sender
	subscriber *bus.Subscriber
	receiver   *bus.Receiver
	messages   *Subscription // of receiver

	mu   sync.Mutex
	subs []*Subscription
	shut bool
}

// open makes an owner.
//
//   - fill: opens what it is for, with its callback of events.
func (b *Bus) open(k Kind, onLoop bool, call Callbacks, fill func(o *Owner, onEvent func(bus.Event)) error) (*Owner, error) {
	l := b.lib
	o := &Owner{lib: l, bus: b, kind: k, onLoop: onLoop, call: call, ended: make(chan struct{})}
	o.bell, o.room = l.Program.NewBell(), l.Program.NewBell()
	o.post = post{ring: func() { l.Program.Ring(o.bell) }, fn: call.Event, user: call.User}
	if o.handle = l.Table.Put(k, o); o.handle == 0 {
		l.Program.FreeBell(o.bell)
		l.Program.FreeBell(o.room)
		return nil, tooMany
	}
	l.mu.Lock()
	if l.working == nil {
		l.working = make(map[Handle]*Owner)
	}
	l.working[o.handle] = o
	l.mu.Unlock()
	b.mu.Lock()
	closed := b.closed
	if !closed {
		b.owners = append(b.owners, o)
	}
	b.mu.Unlock()
	err := error(&Error{Closed, "bus is closed"})
	if !closed {
		err = fill(o, o.onEvent())
	}
	if err == nil {
		return o, nil
	}
	if l.Table.Remove(o.handle) {
		o.forget()
		close(o.ended)
	}
	l.mu.Lock()
	delete(l.working, o.handle) // it has no thread yet
	l.mu.Unlock()
	return nil, err
}

// onEvent returns what the bus calls for events; nil: nothing.
func (o *Owner) onEvent() func(bus.Event) {
	switch {
	case o.call.Event == 0:
		return nil
	case o.onLoop:
		return func(e bus.Event) { o.lib.Program.Event(o.call.Event, o.call.User, o.place(), e) }
	}
	return o.post.event
}

func (o *Owner) place() Place { return Place{o.handle, o.bus.handle} }

// forget takes an owner off its bus.
func (o *Owner) forget() {
	o.bus.mu.Lock()
	defer o.bus.mu.Unlock()
	o.bus.owners = slices.DeleteFunc(o.bus.owners, func(x *Owner) bool { return x == o })
	o.hasRoom()
	o.lib.Program.FreeBell(o.bell)
	o.lib.Program.FreeBell(o.room)
}

// Close closes a publisher, subscriber, sender or receiver.
func (l *Library) Close(h Handle, k Kind, argument string) error {
	o, err := Get[*Owner](&l.Table, h, k, argument)
	if err != nil {
		return err
	}
	if o.bus.node.Loop().OnAnyLoop() {
		return bus.ErrOnLoop
	}
	if !l.Table.Remove(h) {
		return &Error{Closed, argument + " is closed"}
	}
	return o.close()
}

// close ends an owner whose handle is removed. Then post has the last of its callbacks.
func (o *Owner) close() error {
	o.mu.Lock()
	o.shut = true
	subs := slices.Clone(o.subs)
	o.mu.Unlock()
	var err error
	switch {
	case o.pub != nil:
		err = o.pub.Close()
	case o.sender != nil:
		err = o.sender.Close()
	case o.subscriber != nil:
		err = o.subscriber.Close()
	case o.receiver != nil:
		err = o.receiver.Close()
	}
	for _, s := range subs {
		o.lib.Table.Remove(s.handle)
		s.finish(OK, "")
	}
	o.post.add(Work{Kind: WorkQuit})
	close(o.ended)
	o.forget()
	return err
}

// Bell returns what the thread of an owner waits for, for callbacks that are not made on the loop;
// 0: there are none.
func (l *Library) Bell(h Handle) uintptr {
	o, err := Get[*Owner](&l.Table, h, 0, "handle")
	if err != nil || o.onLoop {
		return 0
	}
	return o.bell
}

// Work moves what the thread of an owner is to do to items, and returns how much that is. The
// handle may be closed: WorkQuit is the last.
func (l *Library) Work(h Handle, items []Work) int {
	l.mu.Lock()
	o := l.working[h]
	l.mu.Unlock()
	if o == nil {
		return 0
	}
	n := o.post.take(items)
	if n > 0 && items[n-1].Kind == WorkQuit {
		l.mu.Lock()
		delete(l.working, h)
		l.mu.Unlock()
	}
	return n
}

// Fence has the thread of an owner come by: user is given back by WorkFence, behind all that it has
// to do now. It returns false if the thread ends.
func (l *Library) Fence(h Handle, user uintptr) bool {
	l.mu.Lock()
	o := l.working[h]
	l.mu.Unlock()
	return o != nil && o.post.add(Work{Kind: WorkFence, User: user})
}

// BusOf returns the bus of a handle; 0: it has none.
func (l *Library) BusOf(h Handle) Handle {
	o, err := Get[*Owner](&l.Table, h, 0, "handle")
	if err != nil {
		return 0
	}
	return o.bus.handle
}

// OwnerOf returns what a subscription belongs to; 0: it is none.
func (l *Library) OwnerOf(h Handle) Handle {
	s, err := l.Subscription(h)
	if err != nil {
		return 0
	}
	return s.owner.handle
}
