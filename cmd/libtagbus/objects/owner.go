// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"context"
	"slices"
	"sync"

	"tagbus/bus"
	"tagbus/bus/state"
	"tagbus/tags"
)

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
	used bool // it has a thread, or is about to have one
}

// open makes an owner, and returns its handle.
//
//   - fill: opens what it is for, with its callback of events.
func (b *Bus) open(k Kind, onLoop bool, call Callbacks, fill func(o *Owner, onEvent func(bus.Event)) error) (Handle, error) {
	l := b.lib
	o := &Owner{lib: l, bus: b, kind: k, onLoop: onLoop, call: call, ended: make(chan struct{})}
	o.bell, o.room = l.Program.NewBell(), l.Program.NewBell()
	o.post = post{ring: func() { l.Program.Ring(o.bell) }, fn: call.Event, user: call.User}
	if o.handle = l.Table.Put(k, o); o.handle == 0 {
		l.Program.FreeBell(o.bell)
		l.Program.FreeBell(o.room)
		return 0, tooMany
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
		return o.handle, nil
	}
	if l.Table.Remove(o.handle) {
		o.forget()
		close(o.ended)
	}
	l.rest(o.handle) // it has no thread yet
	return 0, err
}

// rest notes that an owner has no thread.
func (l *Library) rest(h Handle) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.working, h)
}

// opened is what an owner has opened.
type opened interface {
	Close() error
	State(ctx context.Context, q state.Question) (state.State, error)
}

// opened returns what the owner has opened, and its counters; nil: nothing.
func (o *Owner) opened() (what opened, stats func() any) {
	switch {
	case o.pub != nil:
		return o.pub, func() any { return o.pub.Stats() }
	case o.sender != nil:
		return o.sender, func() any { return o.sender.Stats() }
	case o.subscriber != nil:
		return o.subscriber, func() any { return o.subscriber.Stats() }
	case o.receiver != nil:
		return o.receiver, func() any { return o.receiver.Stats() }
	}
	return nil, nil
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
		return l.ended(h, err)
	}
	if o.bus.node.Loop().OnAnyLoop() {
		return bus.ErrOnLoop
	}
	if !l.Table.Remove(h) {
		return l.ended(h, &Error{Closed, argument + " is closed"})
	}
	return o.close()
}

// close ends an owner whose handle is removed. Then post has the last of its callbacks.
func (o *Owner) close() error {
	o.mu.Lock()
	o.shut = true
	subs, used := slices.Clone(o.subs), o.used
	o.mu.Unlock()
	var err error
	if what, _ := o.opened(); what != nil {
		err = what.Close()
	}
	for _, s := range subs {
		o.lib.Table.Remove(s.handle)
		s.finish(OK, "")
		s.release()
	}
	o.post.add(Work{Kind: WorkQuit})
	close(o.ended)
	if !used { // no thread takes that
		o.lib.rest(o.handle)
	}
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
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.shut {
		return 0
	}
	o.used = true
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
		l.rest(h)
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

// OwnerOf returns what a subscription belongs to, also while another goroutine closes that; 0: it is none.
func (l *Library) OwnerOf(h Handle) Handle {
	s, err := l.Subscription(h)
	if err != nil {
		s = l.closing(h)
	}
	if s == nil {
		return 0
	}
	return s.owner.handle
}
